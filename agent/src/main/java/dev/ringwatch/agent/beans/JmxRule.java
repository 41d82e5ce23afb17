package dev.ringwatch.agent.beans;

import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.PatternSyntaxException;

/** One of a JMX exporter's rules. */
final class JmxRule {
    private static final int MAX_EXCESSES = 3;

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
    final Replacement[] labels;
    final Replacement[] labelValues;
    private int excesses;

    /** @throws IllegalArgumentException with what is wrong with it */
    JmxRule(Map<?, ?> yaml) {
        Object text = yaml.get("pattern");
        source = text == null ? null : String.valueOf(text);
        pattern = source == null ? null : compile(source);
        int groups = pattern == null ? 0 : pattern.groups();
        int colon = source == null ? -1 : colon(source);
        looksAtValue = colon >= 0;
        Anywhere cut = null;
        if (looksAtValue) {
            try {
                cut = new Anywhere(source.substring(0, colon), "$");
            } catch (PatternSyntaxException withinGroup) {
                cut = null;
            }
        }
        head = cut;
        name = replacement(yaml, "name", groups);
        help = replacement(yaml, "help", groups);
        snakeCase = flag(yaml, "attrNameSnakeCase");
        cache = flag(yaml, "cache");
        Object constant = yaml.get("value");
        value = constant == null || String.valueOf(constant).isEmpty() ? null
                : new Replacement(String.valueOf(constant), groups);
        factor = factor(yaml.get("valueFactor"));
        type = yaml.containsKey("type") ? text(yaml, "type") : "UNKNOWN";
        Object named = yaml.get("labels");
        if (named != null && !(named instanceof Map)) {
            throw new IllegalArgumentException("labels must be a map");
        }
        Map<String, Object> sorted = new TreeMap<>();
        for (Map.Entry<?, ?> entry : (named == null ? Map.of() : (Map<?, ?>) named).entrySet()) {
            sorted.put((String) entry.getKey(), entry.getValue());
        }
        labels = new Replacement[sorted.size()];
        labelValues = new Replacement[sorted.size()];
        int i = 0;
        for (Map.Entry<String, Object> entry : sorted.entrySet()) {
            if (!(entry.getValue() instanceof String)) {
                throw new IllegalArgumentException("label " + entry.getKey()
                        + " must be a text: quote it");
            }
            labels[i] = new Replacement(entry.getKey(), groups);
            labelValues[i++] = new Replacement((String) entry.getValue(), groups);
        }
        if (name == null && (named != null || help != null)) {
            throw new IllegalArgumentException("a name is needed where help or labels are given");
        }
        if (pattern == null && (name != null || value != null)) {
            throw new IllegalArgumentException(
                    "a pattern is needed where a name or a value is given");
        }
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

    private static Replacement replacement(Map<?, ?> yaml, String key, int groups) {
        return yaml.containsKey(key) ? new Replacement(text(yaml, key), groups) : null;
    }

    private static String text(Map<?, ?> yaml, String key) {
        if (!(yaml.get(key) instanceof String)) {
            throw new IllegalArgumentException(key + " must be a text: quote it");
        }
        return (String) yaml.get(key);
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
