package dev.ringwatch.agent.filter;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * Rules in the order of the file; the last one that matches a metric of an entity decides, and what
 * none matches is sent.
 *
 * <pre>
 * filters:
 *   - exclude: {keyspace: "system*"}
 *   - include: {keyspace: system, table: local}
 *   - exclude: {type: table, metric: "cassandra_table_*_snapshots*"}
 * </pre>
 *
 * <p>A rule matches if all of its patterns do: {@code type} is the entity type and {@code metric}
 * the name as in METRICS.md, {@code keyspace} and {@code table} are labels, which an entity without
 * them never matches. In patterns {@code *} is any text and {@code ?} any one character. What the
 * agent says of itself and of the node's state is always sent: without it nobody could tell a
 * filter from a fault.
 */
public final class Filters {
    public static final Filters NONE = new Filters(new ArrayList<>());
    private static final int MAX_RULES = 1000;

    private static final class Rule {
        final boolean include;
        String type;
        String keyspace;
        String table;
        String metric;

        Rule(boolean include) {
            this.include = include;
        }

        boolean matches(String ofType, String ofKeyspace, String ofTable, String ofMetric) {
            return (type == null || Glob.matches(type, ofType))
                    && (keyspace == null
                            || ofKeyspace != null && Glob.matches(keyspace, ofKeyspace))
                    && (table == null || ofTable != null && Glob.matches(table, ofTable))
                    && (metric == null || Glob.matches(metric, ofMetric));
        }
    }

    private final List<Rule> rules;

    private Filters(List<Rule> rules) {
        this.rules = rules;
    }

    public boolean isEmpty() {
        return rules.isEmpty();
    }

    /** Keyspace and table are null where the entity has no such label. */
    public boolean accepts(String type, String keyspace, String table, String metric) {
        if (rules.isEmpty() || type.equals("agent") || type.startsWith("agent_")
                || type.equals("node")) {
            return true;
        }
        for (int i = rules.size() - 1; i >= 0; i--) {
            if (rules.get(i).matches(type, keyspace, table, metric)) {
                return rules.get(i).include;
            }
        }
        return true;
    }

    /** The same of an entity by its labels. */
    public boolean acceptsCell(String type, String[] labels, String[] values, String metric) {
        return rules.isEmpty() || accepts(type, value("keyspace", labels, values),
                value("table", labels, values), metric);
    }

    private static String value(String label, String[] labels, String[] values) {
        for (int i = 0; i < labels.length; i++) {
            if (labels[i].equals(label)) {
                return values[i];
            }
        }
        return null;
    }

    /** From parsed YAML; what is wrong with it is added to the errors, rule by rule. */
    public static Filters parse(Object yaml, List<String> errors) {
        List<Rule> rules = new ArrayList<>();
        if (!(yaml instanceof List)) {
            errors.add("filters must be a list of lines like \"- exclude: {keyspace: system}\"");
            return NONE;
        }
        int number = 0;
        for (Object item : (List<?>) yaml) {
            number++;
            Rule rule = rule("filters: rule " + number, item, errors);
            if (rule != null) {
                rules.add(rule);
            }
        }
        if (rules.size() > MAX_RULES) {
            errors.add("filters has more than " + MAX_RULES + " rules");
        }
        return new Filters(rules);
    }

    private static Rule rule(String name, Object item, List<String> errors) {
        Map<?, ?> map = item instanceof Map ? (Map<?, ?>) item : null;
        String verb = map != null && map.size() == 1 ? (String) map.keySet().iterator().next() : "";
        if (!verb.equals("include") && !verb.equals("exclude")) {
            errors.add(name + " must begin with include: or exclude:");
            return null;
        }
        Object conditions = map.get(verb);
        if (!(conditions instanceof Map) || ((Map<?, ?>) conditions).isEmpty()) {
            errors.add(name
                    + " needs one of type, keyspace, table, metric, like {keyspace: system}");
            return null;
        }
        Rule rule = new Rule(verb.equals("include"));
        for (Map.Entry<?, ?> entry : ((Map<?, ?>) conditions).entrySet()) {
            String pattern = entry.getValue() instanceof String ? (String) entry.getValue() : "";
            if (pattern.isEmpty()) {
                errors.add(name + ": " + entry.getKey() + " must be text: put it in quotes");
            }
            switch ((String) entry.getKey()) {
                case "type":
                    rule.type = pattern;
                    break;
                case "keyspace":
                    rule.keyspace = pattern;
                    break;
                case "table":
                    rule.table = pattern;
                    break;
                case "metric":
                    rule.metric = pattern;
                    break;
                default:
                    errors.add(name + ": unknown \"" + entry.getKey() + "\": use type, keyspace, "
                            + "table or metric");
            }
        }
        return rule;
    }

    @Override
    public String toString() {
        return rules.size() + " rules";
    }
}
