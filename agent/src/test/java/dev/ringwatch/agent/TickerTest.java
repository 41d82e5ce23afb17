package dev.ringwatch.agent;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.UUID;
import org.junit.jupiter.api.Test;

class TickerTest {
    private long now = 1_767_225_600_000L;
    private final Ticker ticker = new Ticker(5_000,
            UUID.fromString("6f9619ff-8b86-d011-b42d-00c04fc964ff"), () -> now);

    private long tick() {
        now += ticker.waitMs();
        return ticker.begin();
    }

    @Test
    void ticksAreAnIntervalApartAndSpread() {
        long first = tick();
        assertEquals(first + 5_000, tick());
        assertEquals(first + 10_000, tick());
        assertEquals(0, ticker.skipped());
        boolean[] used = new boolean[5];
        for (int i = 0; i < 64; i++) {
            long[] clock = {1_767_225_600_000L};
            Ticker other = new Ticker(5_000, new UUID(0x1000L, i), () -> clock[0]);
            clock[0] += other.waitMs();
            used[(int) (other.begin() % 5_000 / 1_000)] = true;
        }
        for (boolean second : used) {
            assertTrue(second, "ticks of a fleet fall into every second");
        }
    }

    @Test
    void aLongPauseSkipsAndNeverBursts() {
        long first = tick();
        now += 17_300; // a collection: 10 s and 15 s have passed, the latter is 2.3 s ago
        assertEquals(-1, ticker.begin());
        assertEquals(first + 20_000, tick());
        assertEquals(3, ticker.skipped());
        assertEquals(first + 25_000, tick());
    }

    @Test
    void theFirstPassMayBeLateToo() {
        now += ticker.waitMs() + 3; // who sleeps on a busy machine wakes late
        assertEquals(0, ticker.waitMs());
        long first = ticker.begin();
        assertEquals(now - 3, first);
        now += 5;
        ticker.restart();
        assertTrue(ticker.waitMs() > 4_900, "that pass is over");
        assertEquals(first + 5_000, tick());
        ticker.restart();
        now += ticker.waitMs() + 501; // later than a tenth: at would be far from the values
        assertTrue(ticker.waitMs() > 4_400);
        assertEquals(first + 15_000, tick());
        assertEquals(0, ticker.skipped());
    }

    @Test
    void timeNeverFallsWithinALife() {
        long first = tick();
        now -= 20_000; // a small correction is waited out
        assertFalse(ticker.clockWentBack());
        assertEquals(-1, ticker.begin());
        assertEquals(first + 5_000, tick());
        now -= 3_600_000; // a large one begins anew
        assertTrue(ticker.clockWentBack());
        ticker.restart();
        assertTrue(tick() < first);
    }
}
