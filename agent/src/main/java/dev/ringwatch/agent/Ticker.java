package dev.ringwatch.agent;

import java.util.UUID;
import java.util.function.LongSupplier;

/**
 * When passes happen: at k · interval + offset, where the offset is a hash of the host id, so that
 * a fleet's frames do not come at once. Says nothing of threads; the clock is handed in.
 *
 * <p>A pass that comes late by more than a tenth of the interval (a long collection, a suspended
 * machine) is skipped and the next one waited for, so passes never burst and {@code at} is always
 * close to when the values were read.
 */
final class Ticker {
    /** A clock set back by less is waited out; by more, the agent begins anew. */
    private static final long MAX_WAIT_BACK_MS = 60_000;

    private final long intervalMs;
    private final long offsetMs;
    private final LongSupplier clock;
    private long last;
    /** The last pass before {@link #restart()}: it is over, even if it was due just now. */
    private long before;
    private long skipped;

    Ticker(long intervalMs, UUID hostId, LongSupplier clock) {
        this.intervalMs = intervalMs;
        long hash = hostId.getMostSignificantBits() ^ hostId.getLeastSignificantBits();
        hash *= 0x9E3779B97F4A7C15L; // Fibonacci hashing: version-1 UUIDs differ in few bits
        this.offsetMs = Math.floorMod(hash ^ (hash >>> 32), intervalMs);
        this.clock = clock;
    }

    /** Milliseconds until the next pass is due; 0 if {@link #begin()} may be tried. */
    long waitMs() {
        long now = clock.getAsLong();
        return Math.max(0, (last > 0 ? Math.max(last + intervalMs, due(now)) : first(now)) - now);
    }

    /** The instant of the pass that is due now, or −1 if it is too late for it (or too early). */
    long begin() {
        long now = clock.getAsLong();
        long due = due(now);
        if (due <= last) {
            return -1;
        }
        if (late(now, due)) {
            if (last > 0) {
                skipped += (due - last) / intervalMs;
                last = due;
            }
            return -1;
        }
        if (last > 0) {
            skipped += (due - last) / intervalMs - 1;
        }
        last = due;
        return due;
    }

    /**
     * True if the clock stands so far before the last pass that waiting for it would be a long
     * silence.
     */
    boolean clockWentBack() {
        return last - clock.getAsLong() > MAX_WAIT_BACK_MS;
    }

    /** Forgets the last pass. */
    void restart() {
        before = last;
        last = 0;
    }

    /** Passes that did not take place. */
    long skipped() {
        return skipped;
    }

    private long due(long now) {
        return Math.floorDiv(now - offsetMs, intervalMs) * intervalMs + offsetMs;
    }

    /**
     * Who sleeps until a pass is due wakes a little later, on a busy machine always: the first pass
     * may be late, too, or it would never come.
     */
    private long first(long now) {
        long due = due(now);
        return due == before || late(now, due) ? due + intervalMs : due;
    }

    private boolean late(long now, long due) {
        return now - due > Math.max(100, intervalMs / 10);
    }
}
