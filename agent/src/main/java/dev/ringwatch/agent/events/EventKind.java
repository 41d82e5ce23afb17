package dev.ringwatch.agent.events;

import dev.ringwatch.agent.frame.Event.Severity;
import java.util.Locale;

/** What can happen, and how bad it usually is. */
public enum EventKind {
    START(Severity.INFO),
    STOP(Severity.INFO),
    SETTINGS(Severity.INFO),
    SCHEMA(Severity.INFO),
    NODE_UP(Severity.INFO),
    NODE_DOWN(Severity.WARNING),
    NODE_JOINED(Severity.INFO),
    NODE_LEFT(Severity.INFO),
    NODE_MOVED(Severity.INFO),
    REPAIR(Severity.INFO, Severity.ERROR),
    GC_PAUSE(true, Severity.INFO, Severity.WARNING),
    DROPPED(true, Severity.WARNING),
    SLOW_QUERY(true, Severity.WARNING),
    LARGE_PARTITION(true, Severity.WARNING),
    TOMBSTONES(true, Severity.WARNING, Severity.ERROR),
    BATCH(true, Severity.WARNING, Severity.ERROR),
    WARNING(true, Severity.WARNING),
    ERROR(true, Severity.ERROR);

    public final String word = name().toLowerCase(Locale.ROOT);
    /** Whether what is the same within a minute is told once, with how often it happened. */
    final boolean repeats;
    /** So that its counters are there, and zero, before it happens for the first time. */
    final Severity[] usual;

    EventKind(Severity... usual) {
        this(false, usual);
    }

    EventKind(boolean repeats, Severity... usual) {
        this.repeats = repeats;
        this.usual = usual;
    }
}
