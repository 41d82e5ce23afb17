package dev.ringwatch.agent.pull;

import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;

/** Reads text 0.0.4 or OpenMetrics 1.0 as their documents have it and refuses everything else. */
public final class StrictText {
    static final class Family {
        String type;
        String help;
        String unit;
    }

    /** By name as the header has it. */
    final Map<String, Family> families = new HashMap<>();
    /**
     * Name and sorted labels → value: infinities are text, the rest numbers without trailing zeros.
     */
    public final Map<String, Object> samples = new HashMap<>();

    private final boolean open;
    private String family;
    private final Set<String> done = new HashSet<>();
    private final Map<String, List<BigDecimal[]>> buckets = new HashMap<>();

    private StrictText(boolean open) {
        this.open = open;
    }

    public static StrictText parse(String text, boolean open) {
        StrictText parsed = new StrictText(open);
        check(text.isEmpty() || text.endsWith("\n"), "the last line does not end");
        String[] lines = text.split("\n", -1);
        int count = lines.length - 1;
        if (open) {
            check(lines[count - 1].equals("# EOF"), "no EOF");
            count--;
        }
        for (int i = 0; i < count; i++) {
            try {
                parsed.line(lines[i]);
            } catch (RuntimeException e) {
                throw new AssertionError("line " + (i + 1) + ": " + lines[i] + ": "
                        + e.getMessage(), e);
            }
        }
        parsed.checkBuckets();
        return parsed;
    }

    static Object number(BigDecimal value) {
        return value.signum() == 0 ? BigDecimal.ZERO : value.stripTrailingZeros();
    }

    static String key(String name, Map<String, String> labels) {
        return name + new TreeMap<>(labels);
    }

    private void line(String line) {
        if (line.startsWith("# ")) {
            String[] parts = line.split(" ", 4);
            check(parts.length == 4 && !parts[3].isEmpty(), "header");
            header(parts[1], parts[2], parts[3]);
            return;
        }
        check(!line.startsWith("#") && !line.isEmpty(), "comment");
        int end = 0;
        while (end < line.length()
                && (Character.isLetterOrDigit(line.charAt(end)) && line.charAt(end) < 128
                || "_:".indexOf(line.charAt(end)) >= 0)) {
            end++;
        }
        String name = line.substring(0, end);
        check(name.matches("[a-zA-Z_:][a-zA-Z0-9_:]*"), "name");
        Map<String, String> labels = new HashMap<>();
        int at = end;
        if (line.charAt(at) == '{') {
            at = labels(line, at + 1, labels);
        }
        check(line.charAt(at) == ' ', "a blank before the value");
        sample(name, labels, line.substring(at + 1));
    }

    private void header(String what, String name, String text) {
        if (!name.equals(family)) {
            check(done.add(name), "family twice");
            check(what.equals("HELP"), "HELP is first");
            family = name;
            families.put(name, new Family());
            families.get(name).help = text;
            return;
        }
        Family of = families.get(name);
        if (what.equals("TYPE")) {
            check(of.type == null, "TYPE twice");
            check((open ? "counter gauge histogram gaugehistogram summary unknown"
                    : "counter gauge histogram summary untyped").contains(text), "type");
            of.type = text;
        } else {
            check(what.equals("UNIT") && open && of.type != null && of.unit == null
                    && name.endsWith("_" + text), "unit");
            of.unit = text;
        }
    }

    private static int labels(String line, int at, Map<String, String> labels) {
        for (;;) {
            int equals = line.indexOf('=', at);
            String name = line.substring(at, equals);
            check(name.matches("[a-zA-Z_][a-zA-Z0-9_]*"), "label name " + name);
            check(line.charAt(equals + 1) == '"', "quote");
            StringBuilder value = new StringBuilder();
            int i = equals + 2;
            for (; line.charAt(i) != '"'; i++) {
                char c = line.charAt(i);
                if (c == '\\') {
                    c = line.charAt(++i);
                    check(c == 'n' || c == '"' || c == '\\', "escape");
                    c = c == 'n' ? '\n' : c;
                }
                value.append(c);
            }
            check(labels.put(name, value.toString()) == null, "label twice");
            if (line.charAt(i + 1) == '}') {
                return i + 2;
            }
            check(line.charAt(i + 1) == ',', "comma");
            at = i + 2;
        }
    }

    private void sample(String name, Map<String, String> labels, String text) {
        Family of = families.get(family);
        check(of != null && of.type != null, "no header");
        String suffix = name.startsWith(family) ? name.substring(family.length()) : "?";
        check(suffixes(of.type).contains(suffix), "not of family " + family + ", a " + of.type);
        check(text.matches("-?[0-9]+(\\.[0-9]+)?([eE]-?[0-9]+)?|[+-]Inf|NaN"), "value");
        Object value = text.endsWith("Inf") || text.equals("NaN")
                ? text : number(new BigDecimal(text));
        check(!of.type.equals("counter") || ((BigDecimal) value).signum() >= 0, "negative counter");
        // MCAC's histograms are parts of no type
        boolean part = of.type.equals(open ? "unknown" : "untyped") && family.endsWith("_bucket");
        check(part || labels.containsKey("le") == suffix.equals("_bucket"), "le");
        // the JMX exporter shows the quantiles that beans have as gauges
        check(!labels.containsKey("quantile")
                || (of.type.equals("summary") || of.type.equals("gauge")) && suffix.isEmpty(),
                "quantile");
        check(samples.put(key(name, labels), value) == null, "sample twice");
        if (labels.containsKey("le") && !part
                || suffix.equals("_count") || suffix.equals("_gcount")) {
            String bound = labels.remove("le");
            check(bound == null || bound.equals("+Inf") || bound.contains("."),
                    "a bound without a point");
            BigDecimal le = bound == null ? null
                    : bound.equals("+Inf") ? BigDecimal.TEN.pow(99) : new BigDecimal(bound);
            if (!of.type.equals("summary")) {
                buckets.computeIfAbsent(key(family, labels), k -> new ArrayList<>())
                        .add(new BigDecimal[] {le, (BigDecimal) value});
            }
        }
    }

    private List<String> suffixes(String type) {
        switch (type) {
            case "counter": return List.of(open ? "_total" : "");
            case "histogram": return List.of("_bucket", "_sum", "_count");
            case "gaugehistogram": return List.of("_bucket", "_gsum", "_gcount");
            case "summary": return List.of("", "_sum", "_count");
            default: return List.of("");
        }
    }

    /** Bounds and counts rise; +Inf is there and is the count. */
    private void checkBuckets() {
        for (Map.Entry<String, List<BigDecimal[]>> entry : buckets.entrySet()) {
            List<BigDecimal[]> list = entry.getValue();
            for (int i = 1; i < list.size(); i++) {
                boolean isCount = list.get(i)[0] == null;
                check(isCount == (i == list.size() - 1), entry.getKey() + ": the count is last");
                check(isCount || list.get(i)[0].compareTo(list.get(i - 1)[0]) > 0,
                        entry.getKey() + ": bounds fall");
                int rise = list.get(i)[1].compareTo(list.get(i - 1)[1]);
                check(isCount ? rise == 0 : rise >= 0, entry.getKey() + ": counts fall");
            }
            check(list.size() > 1 && list.get(list.size() - 2)[0].equals(BigDecimal.TEN.pow(99)),
                    entry.getKey() + ": no +Inf");
        }
    }

    private static void check(boolean right, String what) {
        if (!right) {
            throw new IllegalArgumentException(what);
        }
    }
}
