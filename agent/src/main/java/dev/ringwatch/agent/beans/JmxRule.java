package dev.ringwatch.agent.beans;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.regex.PatternSyntaxException;

/** One of a JMX exporter's rules. */
final class JmxRule {
    private static final int MAX_EXCESSES = 3;
    private static final Pattern REST = Pattern.compile("(?<!\\\\)\\((\\?<\\w+>)?\\.[*+]\\)\\$?$");

    final String source;
    private final Anywhere pattern;
    /** As much of the pattern as stands before the value, if it can be cut there. */
    private final Anywhere head;
    private final boolean looksAtValue;
    final Replacement name;
    final Replacement value;
    final double factor;
    final Replacement help;
    final boolean snakeCase;
    final boolean cache;
    final String type;
    /** There is a key for it, and nothing behind that. */
    final boolean hasNoType;
    final Replacement[] labels;
    final Replacement[] labelValues;
    private int excesses;
    /** It has been said that it gives labels that cannot be. */
    boolean complained;

    /** @throws IllegalArgumentException with what is wrong with it, where the exporter ends */
    JmxRule(Map<?, ?> yaml) {
        source = yaml.containsKey("pattern") ? String.valueOf(yaml.get("pattern")) : null;
        pattern = source == null ? null : compile(source);
        int colon = source == null ? -1 : colon(source);
        int rest = source == null ? -1 : rest(source);
        looksAtValue = colon >= 0 || rest >= 0;
        head = colon >= 0 ? cut(colon, "$") : rest >= 0 ? cut(rest, ".*$") : null;
        name = replacement(text(yaml, "name"));
        help = replacement(text(yaml, "help"));
        snakeCase = flag(yaml, "attrNameSnakeCase");
        cache = flag(yaml, "cache");
        String constant = yaml.containsKey("value") ? String.valueOf(yaml.get("value")) : "";
        value = constant.isEmpty() ? null : replacement(constant);
        factor = factor(yaml.get("valueFactor"));
        hasNoType = yaml.containsKey("type") && yaml.get("type") == null;
        type = yaml.get("type") == null ? "UNKNOWN" : text(yaml, "type");
        Map<String, Object> named = labels(yaml);
        labels = new Replacement[named.size()];
        labelValues = new Replacement[named.size()];
        int i = 0;
        for (Map.Entry<String, Object> entry : named.entrySet()) {
            Object value = entry.getValue();
            if (value != null && !(value instanceof String)) {
                throw new IllegalArgumentException("label " + entry.getKey()
                        + " must be a text: quote it");
            }
            labels[i] = new Replacement(entry.getKey(), pattern);
            labelValues[i++] = value == null ? Replacement.missing(entry.getKey())
                    : new Replacement((String) value, pattern);
        }
        if (name == null && (yaml.containsKey("labels") || help != null)) {
            throw new IllegalArgumentException("a name is needed where help or labels are given");
        }
        if (pattern == null && name != null) {
            throw new IllegalArgumentException("a pattern is needed where a name is given");
        }
    }

    private Replacement replacement(String template) {
        return template == null ? null : new Replacement(template, pattern);
    }

    /** In their order. */
    private static Map<String, Object> labels(Map<?, ?> yaml) {
        if (!yaml.containsKey("labels")) {
            return Map.of();
        }
        if (!(yaml.get("labels") instanceof Map)) {
            throw new IllegalArgumentException("labels must be a map: give it some, or take it"
                    + " out");
        }
        Map<String, Object> sorted = new TreeMap<>();
        for (Map.Entry<?, ?> entry : ((Map<?, ?>) yaml.get("labels")).entrySet()) {
            if (!(entry.getKey() instanceof String)) {
                throw new IllegalArgumentException("the label " + entry.getKey()
                        + " is no text: quote it");
            }
            sorted.put((String) entry.getKey(), entry.getValue());
        }
        return sorted;
    }

    /** What is wrong with it that the exporter sees only where it matches, or null. */
    String wrong() {
        if (value != null && pattern == null) {
            return "there is a value, and no pattern";
        }
        List<Replacement> all = new ArrayList<>(Arrays.asList(value, name, help));
        all.addAll(Arrays.asList(labels));
        all.addAll(Arrays.asList(labelValues));
        for (Replacement each : all) {
            if (each != null && each.wrong() != null) {
                return each.wrong();
            }
        }
        return null;
    }

    /**
     * Where the pattern first speaks of a colon, which stands before the value and rarely
     * elsewhere; −1 if nowhere.
     */
    private static int colon(String regex) {
        boolean inClass = false;
        for (int i = 0; i < regex.length(); i++) {
            char c = regex.charAt(i);
            if (c == '\\') {
                i++;
            } else if (c == '[' || c == ']') {
                inClass = c == '[';
            } else if (c == ':' && !inClass && !regex.startsWith("(?:", Math.max(0, i - 2))) {
                return i;
            }
        }
        return -1;
    }

    /** Where its last group begins, if that takes all that is left, the value too; −1 if none. */
    private static int rest(String regex) {
        Matcher ends = REST.matcher(regex);
        return ends.find() ? ends.start() : -1;
    }

    private Anywhere cut(int to, String end) {
        try {
            return new Anywhere(source.substring(0, to), end);
        } catch (PatternSyntaxException withinGroup) {
            return null;
        }
    }

    private static Anywhere compile(String regex) {
        try {
            return new Anywhere(regex, ".*$");
        } catch (PatternSyntaxException e) {
            throw new IllegalArgumentException("its pattern is no regular expression: "
                    + e.getDescription());
        } catch (StackOverflowError e) {
            throw new IllegalArgumentException("its pattern is nested too deeply");
        }
    }

    /** Null if it is not there or has no text. */
    private static String text(Map<?, ?> yaml, String key) {
        Object value = yaml.get(key);
        if (value != null && !(value instanceof String)) {
            throw new IllegalArgumentException(key + " must be a text: quote it");
        }
        return (String) value;
    }

    static boolean flag(Map<?, ?> yaml, String key) {
        Object value = yaml.get(key);
        if (yaml.containsKey(key) && !(value instanceof Boolean)) {
            throw new IllegalArgumentException(key + " must be true or false");
        }
        return Boolean.TRUE.equals(value);
    }

    /** What is no number counts as 1, as in the exporter. */
    private static double factor(Object yaml) {
        try {
            return yaml == null ? 1 : Double.parseDouble(String.valueOf(yaml));
        } catch (NumberFormatException e) {
            return 1;
        }
    }

    boolean matchesAll() {
        return pattern == null;
    }

    boolean isOff() {
        return excesses >= MAX_EXCESSES;
    }

    /**
     * @param text {@code domain<properties><path>attribute: value}
     * @param bean its beginning, which it shares with the texts before and behind it
     * @return null if it does not match
     * @throws BoundedText.Exceeded if that took too many steps; the third time ends the rule
     */
    Matcher match(BoundedText text, String bean) {
        try {
            return pattern.match(text, bean);
        } catch (BoundedText.Exceeded | StackOverflowError e) {
            excesses++;
            throw new BoundedText.Exceeded();
        }
    }

    /** Whether it speaks of values at all. */
    boolean looksAtValue() {
        return looksAtValue && !cache;
    }

    /** Of one that speaks of values: whether another might make it match, or match otherwise. */
    boolean mayLookAtValue(BoundedText beforeValue, String bean) {
        try {
            return head == null || head.match(beforeValue, bean) != null;
        } catch (BoundedText.Exceeded | StackOverflowError e) {
            return false;
        }
    }
}
