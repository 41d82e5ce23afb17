package dev.ringwatch.agent.delivery;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.TreeSet;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.RepetitionInfo;
import org.junit.jupiter.api.io.TempDir;

/**
 * Several lives on one spool with small bounds and servers of every mood: the ledger holds at the
 * end of each, what the servers have taken is what was sent, and where nothing was dropped nothing
 * is missing.
 */
class RandomDeliveryTest {
    @TempDir
    Path directory;

    @RepeatedTest(20)
    void theLedgerHolds(RepetitionInfo repetition) throws Exception {
        long seed = Long.getLong("seed", System.nanoTime() + repetition.getCurrentRepetition());
        System.out.println("RandomDeliveryTest: -Dseed=" + seed);
        Random random = new Random(seed);
        boolean small = random.nextBoolean();
        boolean refuses = random.nextInt(3) == 0;
        List<byte[]> taken = new ArrayList<>();
        long dropped = 0;
        long made = 0;
        int perWindow = 2 + random.nextInt(40);
        for (int life = 0; life < 4; life++) {
            List<String> script = new ArrayList<>();
            for (int i = random.nextInt(400); i > 0; i--) {
                script.add(mood(random, refuses));
            }
            try (HostileServer one = new HostileServer(script.toArray(new String[0]));
                    HostileServer two = new HostileServer();
                    Delivery delivery = new Delivery(small ? 6_000 : 1 << 20)) {
                delivery.spool = directory;
                delivery.spoolBytes = small ? 10_000 : 1 << 20;
                delivery.pace.outageMs = random.nextInt(3) * 20;
                delivery.pace.maxGapMs = 5;
                delivery.random = new Random(seed);
                delivery.start(random.nextBoolean() ? new java.net.URL[] {one.url()}
                        : new java.net.URL[] {one.url(), two.url()});
                TestFrames frames = new TestFrames(perWindow, random.nextInt(200),
                        TestFrames.BEGIN + life * TestFrames.LIFE_MS);
                // once the last life has sent one it has seen the spool, too
                int count = random.nextInt(300) + (life == 3 ? 1 : 0);
                for (int i = count; i > 0; i--) {
                    frames.add(delivery.queue, 1);
                    if (random.nextInt(20) == 0) {
                        // gives the sender a turn; nothing is asserted of it
                        Thread.sleep(random.nextInt(5));
                    }
                }
                made += frames.made();
                if (life == 3) {
                    delivery.awaitEmpty();
                }
                delivery.close();
                dropped += delivery.ledger().dropped;
                List<byte[]> accepted = new ArrayList<>(one.accepted());
                accepted.addAll(two.accepted());
                // an answer on its way when this life was ended
                long unheard = accepted.size() - delivery.ledger().sent;
                assertTrue(unheard == 0 || unheard == 1, accepted.size() + " taken by the servers, "
                        + delivery.ledger().sent + " sent");
                taken.addAll(accepted);
            }
        }
        TreeSet<Long> distinct = new TreeSet<>();
        for (byte[] frame : taken) {
            distinct.add(TestFrames.number(frame));
        }
        assertTrue(distinct.size() + dropped >= made,
                made + " made, " + distinct.size() + " arrived, " + dropped + " dropped");
        if (dropped == 0) {
            assertEquals(made, distinct.size());
            assertEquals(TestFrames.ranges(distinct),
                    TestFrames.ranges(TestFrames.readableInTheEnd(taken)));
        }
    }

    private static String mood(Random random, boolean refuses) {
        switch (random.nextInt(refuses ? 8 : 7)) {
            case 0:
                return HostileServer.answer("503 Down", "Retry-After: 0\r\n");
            case 1:
                return HostileServer.answer("429 Slow");
            case 2:
                return HostileServer.CLOSE;
            case 3:
                return HostileServer.answer("401 Who");
            case 4:
                return "garbage\r\n";
            case 7:
                return HostileServer.answer("400 Bad");
            default:
                return "HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n";
        }
    }
}
