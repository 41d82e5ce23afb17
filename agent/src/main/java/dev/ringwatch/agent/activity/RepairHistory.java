package dev.ringwatch.agent.activity;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * What the repairs of a cluster have reached, table by table and range by range, from the rows of
 * {@code system_distributed.parent_repair_history}. The other table of that keyspace, {@code
 * repair_history}, keeps one range of each session only, however many it had.
 *
 * <p>A range counts from when its repair began: what was deleted later may have been missed.
 */
final class RepairHistory {
    /** Of all tables: with twelve bytes for each that is 24 MiB, and for most clusters some KiB. */
    private static final int MAX_PARTS = 2 * 1024 * 1024;
    private static final int PARTS_OF_ALL = 262_144;
    /** That long Cassandra keeps what this is made of. */
    static final int KEPT_SECONDS = 30 * 86_400;

    private static final class Table {
        Replicated is;
        final Coverage full;
        final Coverage incremental;
        /** It was there when the reading that goes on began; and when one that has ended did. */
        boolean beingRead;
        boolean read;

        Table(Replicated is, int parts) {
            this.is = is;
            full = new Coverage(parts);
            incremental = new Coverage(parts);
        }

        int parts() {
            return full.size() + incremental.size();
        }
    }

    /** What is known of a table. Times are seconds since 1970; 0: not known, or never. */
    static final class Known {
        final Replicated table;
        final int full;
        final int incremental;
        final int due;

        Known(Replicated table, int full, int incremental, int due) {
            this.table = table;
            this.full = full;
            this.incremental = incremental;
            this.due = due;
        }
    }

    private final Map<String, Table> tables = new HashMap<>();
    private long parts;

    /** Takes in which tables there are; what is known of those that stay, stays. */
    void tables(List<Replicated> now) {
        Map<String, Table> before = new HashMap<>(tables);
        tables.clear();
        parts = 0;
        int each = Math.max(256, PARTS_OF_ALL / Math.max(1, now.size()));
        for (Replicated table : now) {
            String key = Replicated.key(table.keyspace, table.table);
            Table known = before.get(key);
            if (known == null || known.is.created != table.created) {
                known = new Table(table, each);
            }
            known.is = table;
            tables.put(key, known);
            parts += known.parts();
        }
    }

    boolean isEmpty() {
        return tables.isEmpty();
    }

    /** The rows are read from the first one on. */
    void begins() {
        for (Table table : tables.values()) {
            table.beingRead = true;
        }
    }

    /** All rows have been read: what is not there never was. */
    void ends() {
        for (Table table : tables.values()) {
            table.read |= table.beingRead;
        }
    }

    /** @param ranges as Cassandra writes them: "(-3,17]" */
    void repaired(String keyspace, Set<String> names, long startedMs, Set<String> ranges,
            Map<String, String> options) {
        int seconds = (int) (startedMs / 1000);
        for (String name : names) {
            Table table = tables.get(Replicated.key(keyspace, name));
            if (table == null || seconds < table.is.created || !reachesAll(table.is, options)) {
                continue;
            }
            Coverage into = "true".equals(options.get("incremental"))
                    ? table.incremental : table.full;
            parts -= table.parts();
            for (String range : ranges) {
                lay(into, range, seconds);
            }
            if (parts + table.parts() > MAX_PARTS) {
                into.giveUp();
            }
            parts += table.parts();
        }
    }

    private static void lay(Coverage into, String range, int seconds) {
        int comma = range.indexOf(',');
        if (comma < 2 || range.charAt(0) != '(' || !range.endsWith("]")) {
            return; // a repair that has reached nothing has an empty text here
        }
        try {
            into.repaired(Long.parseLong(range.substring(1, comma).trim()),
                    Long.parseLong(range.substring(comma + 1, range.length() - 1).trim()),
                    seconds);
        } catch (NumberFormatException otherPartitioner) {
            return;
        }
    }

    /**
     * One of some hosts leaves replicas out, and so does one of some datacenters where others have
     * replicas, too.
     */
    private static boolean reachesAll(Replicated table, Map<String, String> options) {
        String hosts = options.getOrDefault("hosts", "");
        String datacenters = options.getOrDefault("dataCenters", "");
        return hosts.isEmpty() && (datacenters.isEmpty() || !table.datacenters.isEmpty()
                && new HashSet<>(Arrays.asList(datacenters.split("\\s*,\\s*")))
                        .containsAll(table.datacenters));
    }

    /** @param now seconds since 1970 */
    List<Known> known(long now) {
        List<Known> all = new ArrayList<>();
        for (Table table : tables.values()) {
            boolean clear = table.read && !table.full.hasTooMany()
                    && !table.incremental.hasTooMany();
            all.add(new Known(table.is, clear ? table.full.oldest() : 0,
                    clear ? table.incremental.oldest() : 0, clear ? due(table, now) : 0));
        }
        return all;
    }

    /**
     * When a range has waited for gc_grace_seconds. Both kinds of repair bring deletions to all
     * replicas. What was never repaired waits since the table is there; but the history is kept
     * for thirty days, so of a longer gc_grace_seconds it does not tell.
     */
    private static int due(Table table, long now) {
        int grace = table.is.gcGraceSeconds;
        if (grace <= 0) {
            return 0;
        }
        int last = Coverage.oldest(table.full, table.incremental);
        if (last == 0 && table.is.created != 0
                && (grace <= KEPT_SECONDS || table.is.created > now - KEPT_SECONDS)) {
            last = table.is.created;
        }
        return last == 0 ? 0 : (int) Math.min(Integer.MAX_VALUE, (long) last + grace);
    }
}
