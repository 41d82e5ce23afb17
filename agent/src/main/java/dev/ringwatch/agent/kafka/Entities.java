package dev.ringwatch.agent.kafka;

import dev.ringwatch.agent.frame.Kind;
import dev.ringwatch.agent.frame.Metric;
import dev.ringwatch.agent.frame.Model;
import dev.ringwatch.agent.frame.Template;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.function.Consumer;

/**
 * The entity types of a broker, made as its metrics come: each metric's name is of one type, and
 * there are so many entities and no more.
 */
final class Entities {
    /** What could be metrics has no end where somebody makes names: so many columns. */
    private static final int MAX_METRICS = 3_000;
    private static final int MAX_REMEMBERED = 10_000;

    /** All entities of one type. */
    static final class Type {
        final Template template;
        final Map<String, Metric> metrics = new HashMap<>();
        private final Map<List<String>, Row> rows = new HashMap<>();

        Type(Template template) {
            this.template = template;
        }
    }

    /** One entity; it goes when nothing of it is read any more. */
    static final class Row extends Template.Entity {
        final Type type;
        private final List<String> key;
        private int uses;

        Row(Type type, List<String> key) {
            this.type = type;
            this.key = key;
        }
    }

    private final Model model;
    private final int max;
    private final Consumer<String> say;
    private final Map<String, Type> types = new HashMap<>();
    /** Which type has the name. */
    private final Map<String, Type> named = new HashMap<>();
    private int count;
    /** Those that were not let in, so that each counts once. */
    private final Set<String> cut = new HashSet<>();
    private long refused;

    Entities(Model model, int max, Consumer<String> say) {
        this.model = model;
        this.max = max;
        this.say = say;
    }

    /**
     * The type's metric of that name, which gets an addition where another type has it; null if
     * there is no place for it.
     */
    Metric metric(Type type, String name, Kind kind, String unit, int exponent) {
        Metric known = type.metrics.get(name);
        if (known != null) {
            return known.kind == kind || known.kind == Kind.GAUGE_DOUBLE && kind == Kind.GAUGE
                    || known.kind == Kind.GAUGE && kind == Kind.GAUGE_DOUBLE
                    ? known : refuse();
        }
        String free = name;
        if (named.containsKey(name) && type.template.labelCount() > 0) {
            StringBuilder by = new StringBuilder(name).append("_by");
            for (int l = 0; l < type.template.labelCount(); l++) {
                by.append('_').append(type.template.label(l).toLowerCase(Locale.ROOT));
            }
            free = by.toString();
        }
        if (named.containsKey(free) || named.size() >= MAX_METRICS) {
            return refuse();
        }
        Metric added = type.template.add(Metric.scalar(free, kind, unit, exponent));
        named.put(free, type);
        type.metrics.put(name, added);
        return added;
    }

    private Metric refuse() {
        refused++;
        return null;
    }

    Type type(String name, String... labels) {
        return types.computeIfAbsent(name,
                added -> new Type(model.add(new Template(added, labels))));
    }

    /** Null if there are too many. One more thing of it is read now. */
    Row use(Type type, String... values) {
        List<String> key = Arrays.asList(values);
        Row row = type.rows.get(key);
        if (row == null) {
            if (count >= max) {
                if (cut.size() < MAX_REMEMBERED && cut.add(type.template.type + key)
                        && cut.size() == 1) {
                    say.accept("there are more than max_entities " + max
                            + " partitions and other entities: " + type.template.type + " of "
                            + key + " and all after it are not sent; raise max_entities");
                }
                return null;
            }
            count++;
            row = new Row(type, key);
            type.rows.put(key, row);
            type.template.addEntity(row, values);
        }
        row.uses++;
        return row;
    }

    /** The other way round. */
    void leave(Row row) {
        if (--row.uses == 0) {
            count--;
            row.type.rows.remove(row.key);
            row.type.template.removeEntity(row.slot());
        }
    }

    int count() {
        return count;
    }

    boolean isFull() {
        return count >= max;
    }

    /** Entities that were not let in, so far. */
    long cut() {
        return cut.size();
    }

    long refused() {
        return refused;
    }
}
