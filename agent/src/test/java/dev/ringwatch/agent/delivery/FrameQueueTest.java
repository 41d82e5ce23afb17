package dev.ringwatch.agent.delivery;

import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.HashSet;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** The queue alone, its two threads' turns in every order: one thread here takes them at random. */
class FrameQueueTest {
    private static final int ORDERS = 2_000;

    @Test
    void aKeyFrameIsSpooledBeforeItsDeltaFrames() {
        for (int seed = 0; seed < ORDERS; seed++) {
            spoolInRandomOrder(seed);
        }
    }

    private static void spoolInRandomOrder(int seed) {
        Random random = new Random(seed);
        FrameQueue queue = new FrameQueue(1 << 20);
        int perWindow = 2 + random.nextInt(20);
        Set<Long> keys = new HashSet<>();
        int made = 0;
        for (int turn = 0; turn < 60; turn++) {
            FrameQueue.Queued posted = random.nextInt(3) == 0 ? null : queue.begin();
            for (int i = random.nextInt(12); i > 0; i--) { // while it is posted
                queue.add(new byte[10], made++ % perWindow == 0);
            }
            if (posted != null) {
                queue.failed();
            }
            if (random.nextInt(3) == 0) {
                continue;
            }
            for (FrameQueue.Queued frame : queue.beginSpooling(random.nextBoolean()
                    ? 1 : FrameQueue.FRESH)) {
                if (frame.isKey) {
                    keys.add(frame.key);
                }
                assertTrue(keys.contains(frame.key), "seed " + seed + ", turn " + turn
                        + ": a delta frame of key frame " + frame.key + " goes first");
                queue.spooled();
            }
        }
        Delivery.assertLedger(queue);
    }
}
