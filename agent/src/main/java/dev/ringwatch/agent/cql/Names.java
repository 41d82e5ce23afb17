package dev.ringwatch.agent.cql;

import com.codahale.metrics.Metric;
import com.codahale.metrics.MetricRegistry;
import dev.ringwatch.agent.cassandra.RegistryWatch;
import java.util.Arrays;
import java.util.Map;

/**
 * The names of all metrics in order, for range reads. The strings are the registry's own; the order
 * is Java's, which is that of their bytes but for characters beyond U+D7FF, which no metric has.
 *
 * <p>The first read sorts (0.2 s for the 200,000 names of 1,000 tables); later ones merge what has
 * come and gone since, in one pass over the array. Who is reading keeps the array it began with.
 */
final class Names {
    /** Of 100 tables: when more has changed between two range reads, sorting anew is no worse. */
    private static final int MAX_CHANGES = 20_000;

    /** Never changed once made. */
    static final class Sorted {
        final String[] names;
        /**
         * {@link Kind#ordinal()} of each, so that a type's table passes over the others without
         * looking them up.
         */
        final byte[] kinds;

        Sorted(String[] names, byte[] kinds) {
            this.names = names;
            this.kinds = kinds;
        }

        /** The first position whose name is not before {@code name}. */
        int from(String name) {
            int at = Arrays.binarySearch(names, name);
            return at < 0 ? -at - 1 : at;
        }
    }

    private final MetricRegistry registry;
    private final Map<String, Metric> metrics;
    private final RegistryWatch watch;
    private volatile Sorted sorted;

    Names(MetricRegistry registry) {
        this.registry = registry;
        this.metrics = registry.getMetrics();
        this.watch = new RegistryWatch(registry, MAX_CHANGES);
    }

    /** What is registered under this name now, or null. */
    Metric metric(String name) {
        return metrics.get(name);
    }

    Sorted sorted() {
        Sorted now = sorted;
        return now != null && !watch.moved() ? now : update();
    }

    private synchronized Sorted update() {
        boolean anew = watch.missedSome() || sorted == null;
        String[] changed = new String[64];
        int changes = 0;
        for (String name = watch.poll(); name != null; name = watch.poll()) {
            if (changes == changed.length) {
                changed = Arrays.copyOf(changed, 2 * changes);
            }
            changed[changes++] = name;
        }
        if (anew) {
            sorted = all();
        } else if (changes > 0) {
            changed = Arrays.copyOf(changed, changes);
            Arrays.sort(changed);
            sorted = merge(sorted, changed);
        }
        return sorted;
    }

    private Sorted all() {
        String[] names = metrics.keySet().toArray(new String[0]);
        Arrays.sort(names);
        return merge(new Sorted(new String[0], new byte[0]), names);
    }

    /** @param changed sorted; each is in the result if it is registered, and once */
    private Sorted merge(Sorted old, String[] changed) {
        String[] names = new String[old.names.length + changed.length];
        byte[] kinds = new byte[names.length];
        int to = 0;
        int from = 0;
        for (int i = 0; i < changed.length; i++) {
            String name = changed[i];
            if (i > 0 && name.equals(changed[i - 1])) {
                continue;
            }
            int end = old.from(name);
            System.arraycopy(old.names, from, names, to, end - from);
            System.arraycopy(old.kinds, from, kinds, to, end - from);
            to += end - from;
            from = end < old.names.length && old.names[end].equals(name) ? end + 1 : end;
            Kind kind = Kind.of(metrics.get(name));
            if (kind != null) {
                names[to] = name;
                kinds[to++] = (byte) kind.ordinal();
            }
        }
        int rest = old.names.length - from;
        System.arraycopy(old.names, from, names, to, rest);
        System.arraycopy(old.kinds, from, kinds, to, rest);
        to += rest;
        return new Sorted(Arrays.copyOf(names, to), Arrays.copyOf(kinds, to));
    }
}
