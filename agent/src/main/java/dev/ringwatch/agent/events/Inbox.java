package dev.ringwatch.agent.events;

import dev.ringwatch.agent.frame.Event.Severity;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;
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

    /**
     * Whether it is worth making a text for {@link #add}. If not, it has been counted and that was
     * all.
     */
    boolean hasRoom(EventKind kind, Severity severity) {
        if (count.get() < MAX && chars.get() < MAX_CHARS) {
            return true;
        }
        refused.incrementAndGet(index(kind, severity));
        return false;
    }

    void add(Seen seen) {
        if (hasRoom(seen.kind, seen.severity)) {
            count.incrementAndGet();
            chars.addAndGet(seen.chars());
            waiting.add(seen);
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

    private static int index(EventKind kind, Severity severity) {
        return 3 * kind.ordinal() + severity.ordinal();
    }
}
