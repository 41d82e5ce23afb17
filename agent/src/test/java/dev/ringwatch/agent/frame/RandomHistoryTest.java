package dev.ringwatch.agent.frame;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/**
 * Random node histories through the real columns and encoder, read back by the reference decoder.
 */
class RandomHistoryTest {
    @Test
    void whatIsWrittenIsRead() {
        long seed = Long.getLong("seed", System.nanoTime());
        System.out.println("RandomHistoryTest: -Dseed=" + seed);
        int frames = 0;
        for (int node = 0; node < 150; node++) {
            Compressor compressor = node % 3 == 0 ? null : node % 3 == 1 ? Compressor.deflate()
                    : Compressor.best();
            RandomNode history = new RandomNode(seed + node, compressor);
            ReferenceDecoder.State key = null;
            for (int i = 0; i < 40; i++) {
                byte[] frame = history.next().copy();
                ReferenceDecoder.State state = ReferenceDecoder.decode(frame, key);
                key = state.isKey() ? state : key;
                same(history.expected, RandomNode.seen(state),
                        "seed " + seed + " node " + node + " frame " + i);
                assertEquals(history.at, state.at);
                assertEquals(history.sequence, state.sequence);
                assertEquals(told(history.happened), told(state.events));
                frames++;
            }
        }
        System.out.println("RandomHistoryTest: " + frames + " frames");
    }

    private static List<String> told(List<Event> events) {
        List<String> told = new ArrayList<>();
        for (Event event : events) {
            told.add(event.at + " " + event);
        }
        return told;
    }

    @Test
    void zstdIsUsedWhereItIsThere() {
        assertEquals(2, Compressor.best().id(), "zstd-jni is on Cassandra's class path");
    }

    @Test
    void anIdlePassAllocatesNothing() {
        RandomNode history = new RandomNode(1, Compressor.best());
        for (int i = 0; i < 20; i++) {
            history.next();
        }
        Model model = history.model;
        FrameEncoder encoder = history.encoder;
        long at = (history.at / FrameEncoder.WINDOW_MS + 1) * FrameEncoder.WINDOW_MS;
        encoder.key(model, 1, 0, at, 0);
        com.sun.management.ThreadMXBean threads = (com.sun.management.ThreadMXBean)
                java.lang.management.ManagementFactory.getThreadMXBean();
        long id = Thread.currentThread().getId();
        long least = Long.MAX_VALUE;
        for (int i = 1; i < 200; i++) {
            long before = threads.getThreadAllocatedBytes(id);
            encoder.delta(model, 1, i, at + i, 0);
            least = Math.min(least, threads.getThreadAllocatedBytes(id) - before);
        }
        assertTrue(least == 0, least + " bytes");
    }

    private static void same(Map<String, Object> expected, Map<String, Object> seen, String where) {
        for (Map.Entry<String, Object> entry : expected.entrySet()) {
            assertEquals(entry.getValue(), seen.get(entry.getKey()), where + ": " + entry.getKey());
        }
        assertEquals(expected.keySet(), seen.keySet(), where);
    }
}
