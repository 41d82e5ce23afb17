package dev.ringwatch.agent.delivery;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.Test;

class ClockOffsetTest {
    /** Ingest's clock. */
    private static final long THERE = 1_795_946_000_000L;

    private final ClockOffset clock = new ClockOffset();
    private long now = 5;

    /** An answer that was on its way back for half of the round trip. */
    private void answer(long ahead, long roundTrip) {
        clock.note(THERE + now, THERE + now + roundTrip / 2 + ahead, roundTrip, now);
    }

    private long offset() {
        return clock.millis(now);
    }

    @Test
    void isAheadOrBehindAndUnknownAtFirst() {
        assertEquals(ClockOffset.UNKNOWN, offset());
        answer(30_000, 10);
        assertEquals(30_000, offset());
        answer(-600_000, 10);
        assertEquals(-600_000, offset());
    }

    @Test
    void slowAnswersAndNonsenseSayNothing() {
        answer(30_000, ClockOffset.MAX_ROUND_TRIP_MS);
        answer(30_000, 60_000);
        answer(30_000, -1);
        for (long nonsense : new long[] {Long.MIN_VALUE, -1, 0, 1_795_946_000,
            17_959_460_000_000L, Long.MAX_VALUE}) {
            clock.note(nonsense, THERE, 10, now);
        }
        assertEquals(ClockOffset.UNKNOWN, offset());
        answer(30_000, ClockOffset.MAX_ROUND_TRIP_MS - 1);
        assertEquals(30_000, offset());
    }

    @Test
    void theShortestRoundTripOfAMinuteCounts() {
        answer(400, 1_000);
        answer(30, 100);
        assertEquals(30, offset());
        now += ClockOffset.BEST_FOR_MS - 1;
        answer(400, 1_000);
        assertEquals(30, offset());
        answer(31, 100);
        assertEquals(31, offset());
        now += ClockOffset.BEST_FOR_MS;
        answer(400, 1_000);
        assertEquals(400, offset());
    }

    @Test
    void aClockThatWasSetIsNoticedAtOnce() {
        answer(30_000, 2);
        answer(2, 50);
        assertEquals(2, offset());
    }

    @Test
    void isForgottenWithoutAnswers() {
        answer(30_000, 2);
        now += ClockOffset.KNOWN_FOR_MS;
        assertEquals(30_000, offset());
        now++;
        assertEquals(ClockOffset.UNKNOWN, offset());
        answer(7, 1_000);
        assertEquals(7, offset());
    }
}
