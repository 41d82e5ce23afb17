package dev.ringwatch.agent.activity;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Arrays;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** What is repaired, against a model that holds every token of a small ring. */
class CoverageTest {
    private static final int TOKENS = 64;
    private static final long STEP = Long.MAX_VALUE / TOKENS * 2;

    /** Token i of the small ring; the first is the least there is. */
    private static long token(int i) {
        return i == 0 ? Long.MIN_VALUE : Long.MIN_VALUE + i * STEP;
    }

    /** times[i] is of the tokens after i, up to and with i + 1. */
    private static void repaired(int[] times, int left, int right, int at) {
        int i = left;
        do {
            times[i] = Math.max(times[i], at);
            i = (i + 1) % TOKENS;
        } while (i != right);
    }

    private static int least(int[] times) {
        return Arrays.stream(times).min().getAsInt();
    }

    @Test
    void saysWhatTheModelSays() {
        for (long seed = 1; seed <= 300; seed++) {
            Random random = new Random(seed);
            Coverage[] kept = {new Coverage(1000), new Coverage(1000)};
            int[][] model = new int[2][TOKENS];
            for (int step = 0; step < 200; step++) {
                int which = random.nextInt(2);
                int left = random.nextInt(TOKENS);
                int right = random.nextInt(20) == 0 ? left // the whole ring
                        : (left + 1 + random.nextInt(random.nextBoolean() ? 3 : TOKENS - 1))
                                % TOKENS;
                int at = 1 + random.nextInt(50); // also before what is there
                kept[which].repaired(token(left), token(right), at);
                repaired(model[which], left, right, at);
                assertEquals(least(model[which]), kept[which].oldest(), "seed " + seed);
                int[] either = new int[TOKENS];
                Arrays.setAll(either, i -> Math.max(model[0][i], model[1][i]));
                assertEquals(least(either), Coverage.oldest(kept[0], kept[1]), "seed " + seed);
            }
        }
    }

    @Test
    void isNeverTooGoodWhereItIsCoarse() {
        for (long seed = 1; seed <= 300; seed++) {
            Random random = new Random(seed);
            Coverage kept = new Coverage(8);
            int[] model = new int[TOKENS];
            for (int step = 0; step < 300; step++) {
                int left = random.nextInt(TOKENS);
                int right = (left + 1 + random.nextInt(5)) % TOKENS;
                int at = 1000 + step;
                kept.repaired(token(left), token(right), at);
                repaired(model, left, right, at);
                assertTrue(kept.oldest() <= least(model),
                        "seed " + seed + ": " + kept.oldest() + " of " + least(model));
                assertEquals(least(model) == 0, kept.oldest() == 0, "a hole, seed " + seed);
            }
            assertTrue(kept.size() <= 8, "seed " + seed + ": " + kept.size() + " parts");
        }
    }

    @Test
    void aNextRoundIsTold() {
        Coverage kept = new Coverage(8);
        for (int round = 1; round <= 3; round++) {
            for (int i = 0; i < TOKENS; i++) {
                kept.repaired(token(i), token((i + 1) % TOKENS), round * 1000 + i);
            }
            assertTrue(kept.oldest() >= round * 1000 - TOKENS, "round " + round);
        }
    }

    @Test
    void holdsRangesOfVirtualNodesInAnyOrder() {
        Random random = new Random(7);
        int nodes = 1600;
        long[] tokens = random.longs(nodes).sorted().toArray();
        Integer[] order = new Integer[nodes];
        Arrays.setAll(order, i -> i);
        java.util.Collections.shuffle(Arrays.asList(order), random);
        Coverage kept = new Coverage(256);
        for (int n = 0; n < nodes; n++) {
            assertEquals(0, kept.oldest());
            int i = order[n];
            kept.repaired(tokens[(i + nodes - 1) % nodes], tokens[i], 5000 + n);
        }
        assertTrue(kept.oldest() >= 5000 && !kept.hasTooMany());
        assertTrue(kept.size() <= 256, kept.size() + " parts");
    }

    @Test
    void saysNothingWhereThereAreTooManyHoles() {
        Coverage kept = new Coverage(256);
        long step = Long.MAX_VALUE / Coverage.MAX_PARTS;
        for (long i = 0; i < Coverage.MAX_PARTS && !kept.hasTooMany(); i++) {
            long at = Long.MIN_VALUE + 1 + i * 2 * step;
            kept.repaired(at, at + step / 2, 1 + (int) i % 2);
        }
        assertTrue(kept.hasTooMany() && kept.size() == 1);
        kept.repaired(0, 0, 9);
        assertEquals(0, kept.oldest());
    }
}
