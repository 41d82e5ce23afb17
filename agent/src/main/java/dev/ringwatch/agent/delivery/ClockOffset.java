package dev.ringwatch.agent.delivery;

/**
 * How far this machine's clock is ahead of ingest's. Ingest reads its own when it answers, so the
 * middle between a request and its answer is wrong by half of the round trip at most. As with NTP,
 * the shortest round trip of a minute counts.
 */
final class ClockOffset {
    static final long UNKNOWN = Long.MIN_VALUE;
    /** A longer round trip says nothing that an alert could use: it may be wrong by a second. */
    static final long MAX_ROUND_TRIP_MS = 2_000;
    /** So long no longer round trip takes its place. */
    static final long BEST_FOR_MS = 60_000;
    /** The longest interval is 5 minutes; without an answer for longer nothing is known. */
    static final long KNOWN_FOR_MS = 900_000;
    /** Milliseconds since 1970 have 13 digits from 2001 to 2286. */
    private static final long LEAST_MS = 1_000_000_000_000L;

    private static final class Reading {
        final long offset;
        final long roundTrip;
        final long at;

        Reading(long offset, long roundTrip, long at) {
            this.offset = offset;
            this.roundTrip = roundTrip;
            this.at = at;
        }

        /** Whether both can be true, which they cannot where a clock was set in between. */
        boolean agrees(Reading other) {
            return Math.abs(offset - other.offset) <= (roundTrip + other.roundTrip) / 2 + 1;
        }
    }

    private volatile Reading best;

    /**
     * One thread takes answers.
     *
     * @param theirs ingest's clock, in milliseconds since 1970; what cannot be one is passed over
     * @param ours this machine's, between the answer's headers and the end of the round trip
     * @param roundTrip in milliseconds
     * @param now milliseconds of a clock that nobody sets
     */
    void note(long theirs, long ours, long roundTrip, long now) {
        if (theirs < LEAST_MS || theirs >= 10 * LEAST_MS || roundTrip < 0
                || roundTrip >= MAX_ROUND_TRIP_MS) {
            return;
        }
        Reading had = best;
        Reading next = new Reading(ours - roundTrip / 2 - theirs, roundTrip, now);
        if (had == null || roundTrip <= had.roundTrip || now - had.at >= BEST_FOR_MS
                || !next.agrees(had)) {
            best = next;
        }
    }

    /** From any thread: milliseconds, negative if this clock is behind, or {@link #UNKNOWN}. */
    long millis(long now) {
        Reading known = best;
        return known == null || now - known.at > KNOWN_FOR_MS ? UNKNOWN : known.offset;
    }
}
