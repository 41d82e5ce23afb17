package dev.ringwatch.agent.events;

import dev.ringwatch.agent.frame.Event.Severity;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.function.Consumer;

/**
 * Between Cassandra's threads and the agent's: takes what was seen, without a lock, up to a number
 * and a size; the rest it counts.
 */
public final class Inbox {
    static final int MAX = 256;
    static final int MAX_CHARS = 512 << 10;

    private final ConcurrentLinkedQueue<Seen> waiting = new ConcurrentLinkedQueue<>();
    private final AtomicInteger count = new AtomicInteger();
    private final AtomicInteger chars = new AtomicInteger();
    /** By kind and severity: what found no room. */
    private final AtomicLongArray refused = new AtomicLongArray(3 * EventKind.values().length);

    /** Lines that found no room, of which only a text tells whether they are events. */
    private final AtomicLong unread = new AtomicLong();

    /**
     * Whether it is worth making a text of a line for {@link #add}. If not, it has been counted and
     * that was all.
     */
    boolean hasRoomForLine(EventKind kind, Severity severity) {
        if (hasRoom()) {
            return true;
        }
        if (severity != Severity.INFO) {
            refused.incrementAndGet(index(kind == EventKind.STOP ? severity == Severity.ERROR
                    ? EventKind.ERROR : EventKind.WARNING : kind, severity));
        } else if (kind == EventKind.SLOW_QUERY) {
            refused.incrementAndGet(index(kind, Severity.WARNING));
        } else {
            unread.incrementAndGet();
        }
        return false;
    }

    private boolean hasRoom() {
        return count.get() < MAX && chars.get() < MAX_CHARS;
    }

    void add(Seen seen) {
        if (seen.isLogLine ? hasRoomForLine(seen.kind, seen.severity) : hasRoom()) {
            count.incrementAndGet();
            chars.addAndGet(seen.chars());
            waiting.add(seen);
        } else if (!seen.isLogLine) {
            refused.incrementAndGet(index(seen.kind, seen.severity));
        }
    }

    /** The agent's thread: all that there is now, in the order it came. */
    void drain(Consumer<Seen> to) {
        for (int i = 0; i < 2 * MAX; i++) { // who adds meanwhile is next time's
            Seen seen = waiting.poll();
            if (seen == null) {
                return;
            }
            count.decrementAndGet();
            chars.addAndGet(-seen.chars());
            to.accept(seen);
        }
    }

    /** How many have found no room since it was asked last. */
    long takeRefused(EventKind kind, Severity severity) {
        int index = index(kind, severity);
        return refused.get(index) == 0 ? 0 : refused.getAndSet(index, 0);
    }

    /** How many lines that may be no events have found no room since it was asked last. */
    long takeUnread() {
        return unread.get() == 0 ? 0 : unread.getAndSet(0);
    }

    private static int index(EventKind kind, Severity severity) {
        return 3 * kind.ordinal() + severity.ordinal();
    }
}
