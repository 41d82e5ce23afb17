package dev.ringwatch.agent.activity;

import java.util.UUID;

/**
 * How fast something goes and so when it ends. Its speed is taken over about the last minute: a
 * throttle that is turned moves the end soon, and a pause of a second does not.
 */
final class Pace {
    private static final double MEMORY_NS = 60e9;
    /** Whoever asks is not helped by an end that is further away. */
    private static final double LONGEST_SECONDS = 365 * 86_400.0;
    /** Between the UUIDs' epoch, 15 October 1582, and Java's. */
    private static final long UUID_EPOCH_MS = 12_219_292_800_000L;
    private static final long LONGEST_AGO_MS = 90 * 86_400_000L;

    private final long startedMs;
    private double perNs = Double.NaN;
    private long lastNs;
    private long lastDone;
    private long size;

    /** @param done so much of it was done in the time from its start to now */
    Pace(long startedMs, long nowMs, long nanos, long done) {
        this.startedMs = startedMs;
        lastNs = nanos;
        lastDone = done;
        if (nowMs > startedMs && done > 0) {
            perNs = done / ((nowMs - startedMs) * 1e6);
        }
    }

    /** The clock's time, as far as it has not been set meanwhile. */
    long startedMs() {
        return startedMs;
    }

    void moved(long nanos, long done, long ofSize) {
        size = ofSize;
        long ns = nanos - lastNs;
        if (ns <= 0) {
            return;
        }
        double now = Math.max(0, done - lastDone) / (double) ns;
        double weight = 1 - Math.exp(-ns / MEMORY_NS);
        perNs = !Double.isNaN(perNs) ? perNs + weight * (now - perNs) : now > 0 ? now : perNs;
        lastNs = nanos;
        lastDone = done;
    }

    double ratio() {
        return size <= 0 ? Double.NaN : Math.min(1, Math.max(0, lastDone / (double) size));
    }

    /** NaN while it is not known. */
    double remainingSeconds() {
        double left = Math.max(0, size - lastDone) / perNs / 1e9;
        return size > 0 && left <= LONGEST_SECONDS ? left : Double.NaN;
    }

    /** When a time-based UUID was made. */
    static long madeMs(UUID uuid) {
        return uuid.timestamp() / 10_000 - UUID_EPOCH_MS;
    }

    /**
     * When something began that has a time-based UUID, else now. A clock that was set since makes
     * it now, too.
     */
    static long started(String id, long nowMs) {
        try {
            UUID uuid = UUID.fromString(id);
            if (uuid.version() == 1) {
                long ms = madeMs(uuid);
                return ms <= nowMs && ms >= nowMs - LONGEST_AGO_MS ? ms : nowMs;
            }
        } catch (IllegalArgumentException noUuid) {
            return nowMs;
        }
        return nowMs;
    }
}
