package dev.ringwatch.agent.events;

import java.util.Arrays;

/** So many within any minute. */
final class Rate {
    static final long MINUTE_MS = 60_000;

    private final long[] taken;
    private int next;

    Rate(int perMinute) {
        taken = new long[perMinute];
        Arrays.fill(taken, Long.MIN_VALUE);
    }

    boolean allows(long now) {
        return taken[next] == Long.MIN_VALUE || now - taken[next] >= MINUTE_MS;
    }

    void take(long now) {
        taken[next] = now;
        next = (next + 1) % taken.length;
    }
}
