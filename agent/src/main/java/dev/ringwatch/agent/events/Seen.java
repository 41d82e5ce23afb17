package dev.ringwatch.agent.events;

import dev.ringwatch.agent.frame.Event.Severity;
import java.util.Map;

/** What a source has noticed, as it stands: not yet read, and nothing taken out of it. */
final class Seen {
    /** Of a text; a line of the slow-query monitor has fifty statements. */
    static final int MAX_CHARS = 64 << 10;

    final long at;
    /** For a line of the log, what it most likely is. */
    final EventKind kind;
    final Severity severity;
    final Map<String, String> labels;
    final String text;
    /** A line of the log, of which {@link LogReader} makes events. */
    final boolean isLogLine;
    /** The exception's class and message that came with it, or empty. */
    final String thrown;

    private Seen(long at, EventKind kind, Severity severity, Map<String, String> labels,
            String text, boolean isLogLine, String thrown) {
        this.at = at;
        this.kind = kind;
        this.severity = severity;
        this.labels = labels;
        this.text = text;
        this.isLogLine = isLogLine;
        this.thrown = thrown;
    }

    static Seen event(EventKind kind, Severity severity, Map<String, String> labels, String text) {
        return event(System.currentTimeMillis(), kind, severity, labels, text);
    }

    static Seen event(long at, EventKind kind, Severity severity, Map<String, String> labels,
            String text) {
        return new Seen(at, kind, severity, labels, cut(text), false, "");
    }

    static Seen logLine(long at, EventKind kind, Severity severity, String text, String thrown) {
        return new Seen(at, kind, severity, Map.of(), cut(text), true, cut(thrown));
    }

    private static String cut(String text) {
        return text == null ? "" : text.length() <= MAX_CHARS ? text : text.substring(0, MAX_CHARS);
    }

    int chars() {
        return text.length() + thrown.length();
    }
}
