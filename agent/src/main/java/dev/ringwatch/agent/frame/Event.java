package dev.ringwatch.agent.frame;

import java.util.Map;
import java.util.TreeMap;

/**
 * Something that happened on the node, as FORMAT.md §4.0 has it. Whatever it is made of, it keeps
 * that section's bounds: what is too long is cut at a character, a label without a value is left
 * out.
 */
public final class Event {
    /** How bad it is; the order is the format's. */
    public enum Severity {
        INFO, WARNING, ERROR;

        /** As labels and users have it. */
        public final String word = name().toLowerCase(java.util.Locale.ROOT);
    }

    /** Of a text and of a label's value, in bytes of UTF-8. */
    public static final int MAX_BYTES = 1_024;
    private static final int MAX_LABELS = 16;

    /** When it happened, in milliseconds since 1970. */
    public final long at;
    public final String kind;
    public final Severity severity;
    /** By name, which are ASCII: their order as strings is that of their bytes. */
    public final TreeMap<String, String> labels = new TreeMap<>();
    public final String text;

    public Event(long at, String kind, Severity severity, Map<String, String> labels,
            String text) {
        this.at = at;
        this.kind = kind;
        this.severity = severity;
        for (Map.Entry<String, String> label : labels.entrySet()) {
            String value = bounded(label.getValue());
            if (!value.isEmpty() && this.labels.size() < MAX_LABELS) {
                this.labels.put(label.getKey(), value);
            }
        }
        this.text = bounded(text);
    }

    /**
     * At most {@value #MAX_BYTES} bytes of UTF-8, on one line: control characters become blanks,
     * half a surrogate pair a question mark.
     */
    static String bounded(String value) {
        if (value == null) {
            return "";
        }
        StringBuilder out = new StringBuilder(Math.min(value.length(), MAX_BYTES));
        int bytes = 0;
        for (int i = 0; i < value.length();) {
            int c = value.codePointAt(i);
            i += Character.charCount(c);
            if (Character.isISOControl(c)) {
                c = ' ';
            } else if (c >= Character.MIN_SURROGATE && c <= Character.MAX_SURROGATE) {
                c = '?';
            }
            bytes += c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
            if (bytes > MAX_BYTES) {
                break;
            }
            out.appendCodePoint(c);
        }
        return out.toString().trim();
    }

    /** About what it takes in a frame; never less. */
    public int bytes() {
        int bytes = 32 + kind.length() + 3 * text.length();
        for (Map.Entry<String, String> label : labels.entrySet()) {
            bytes += 6 + label.getKey().length() + 3 * label.getValue().length();
        }
        return bytes;
    }

    @Override
    public String toString() {
        return kind + " " + severity.word + " " + labels + " " + text;
    }
}
