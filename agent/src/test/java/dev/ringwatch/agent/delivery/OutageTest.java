package dev.ringwatch.agent.delivery;

import static dev.ringwatch.agent.delivery.Delivery.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Outages: what waits where, what goes first afterwards, and what is lost when there is too much of
 * it.
 */
class OutageTest {
    private static final String DOWN = HostileServer.answer("503 Down");

    private final TestFrames frames = new TestFrames(60);

    @TempDir
    Path directory;

    @Test
    void freshFramesGoOutBesideTheBacklog() throws Exception {
        outage(directory.resolve("spool"), 1 << 20);
    }

    @Test
    void andWithoutADiskToo() throws Exception {
        outage(null, 1 << 20);
    }

    private void outage(Path spool, long queueBytes) throws Exception {
        try (HostileServer server = new HostileServer();
                Delivery delivery = new Delivery(queueBytes)) {
            delivery.spool = spool;
            // so that much of the backlog is left when the next frame is made
            delivery.pace.minGapMs = 200;
            server.always = DOWN;
            delivery.start(server.url());
            frames.add(delivery.queue, 630);
            if (spool != null) {
                await(() -> delivery.ledger().spooled == 629); // the newest stays, ready to be sent
                assertEquals(delivery.sender.spoolBytes(), bytesIn(spool));
                assertTrue(delivery.ledger().queued == 1);
                assertTrue(delivery.sender.problem().contains("HTTP status 503"),
                        delivery.sender.problem());
            }
            int before = server.requests();
            server.always = null;
            await(() -> delivery.ledger().sent >= 12);
            frames.add(delivery.queue, 1);
            int made = server.requests() - before;
            await(() -> inOrder(server, before).contains(631L));
            List<Long> order = inOrder(server, before);
            assertTrue(order.indexOf(601L) <= 1,
                    "the newest key frame first, but for what was on its way: " + order);
            assertTrue(order.indexOf(630L) <= FrameQueue.FRESH + 1,
                    "the newest frame is among the first: " + order);
            assertTrue(order.indexOf(631L) <= made + 1,
                    "what is made meanwhile does not wait for the backlog: " + order);
            delivery.pace.minGapMs = 0;
            await(() -> delivery.ledger().sent == 631);
            assertEquals("1-631", readable(server, before));
            assertEquals(0, delivery.ledger().dropped);
            if (spool != null) {
                // a file goes when its end is read, after its last frame was sent
                await(() -> delivery.sender.spoolBytes() == 0);
                assertEquals(0, bytesIn(spool));
            }
            assertEquals(List.of(), delivery.said, "the spool was well all the time");
        }
    }

    @Test
    void whatIsTooMuchForTheDiskGoesWindowByWindow() throws Exception {
        TestFrames large = new TestFrames(10, 500, TestFrames.BEGIN);
        try (HostileServer server = new HostileServer();
                Delivery delivery = new Delivery(1 << 20)) {
            delivery.spool = directory;
            delivery.spoolBytes = 40_000;
            server.always = DOWN;
            delivery.start(server.url());
            for (int i = 0; i < 100; i++) {
                large.add(delivery.queue, 10);
                await(() -> delivery.ledger().queued <= 1);
                assertTrue(delivery.sender.spoolBytes() <= 40_000, "the cap holds");
                assertTrue(bytesIn(directory) <= 40_000, "on disk");
            }
            int before = server.requests();
            server.always = null;
            await(() -> delivery.ledger().spooled + delivery.ledger().queued == 0);
            long lost = delivery.queue.dropped().get(FrameQueue.SPOOL_FULL);
            assertEquals(Map.of(FrameQueue.SPOOL_FULL, lost), delivery.queue.dropped());
            assertTrue(lost >= 500 && lost % 10 == 0, lost + " lost, whole windows");
            assertEquals(lost + 1 + "-1000", readable(server, before));
        }
    }

    @Test
    void whatARefusedKeyFrameLeavesOnDiskIsNotSent() throws Exception {
        try (HostileServer server = new HostileServer();
                Delivery delivery = new Delivery(1 << 20)) {
            delivery.spool = directory;
            server.always = DOWN;
            delivery.start(server.url());
            frames.add(delivery.queue, 20);
            await(() -> delivery.ledger().spooled == 19);
            // the key frame, which is tried again and again
            server.then(HostileServer.answer("400 Bad"));
            await(() -> delivery.queue.dropped().containsKey("http_400"));
            server.always = null;
            await(() -> delivery.ledger().spooled + delivery.ledger().queued == 0);
            assertEquals(Map.of("http_400", 1L, FrameQueue.KEY_LOST, 19L),
                    delivery.queue.dropped());
            assertEquals(0, server.accepted().size());
            assertTrue(delivery.queue.needsKeyFrame());
        }
    }

    @Test
    void memoryThatIsHalfFullGoesToDiskWithoutAnOutage() throws Exception {
        try (HostileServer server = new HostileServer(); Delivery delivery = new Delivery(20_000)) {
            delivery.spool = directory;
            delivery.pace.outageMs = Long.MAX_VALUE;
            server.always = DOWN;
            delivery.start(server.url());
            for (int i = 0; i < 2000; i++) {
                frames.add(delivery.queue, 1);
                await(() -> delivery.ledger().queuedBytes < 15_000);
            }
            assertTrue(delivery.ledger().spooled > 1500, "spooled " + delivery.ledger().spooled);
            server.always = null;
            await(() -> delivery.ledger().sent == 2000);
            assertEquals("1-2000", readable(server, 0));
            assertEquals(Map.of(), delivery.queue.dropped());
        }
    }

    @Test
    void theNextLifeSendsWhatTheLastOneLeft() throws Exception {
        try (HostileServer server = new HostileServer()) {
            server.always = DOWN;
            try (Delivery first = new Delivery(1 << 20)) {
                first.spool = directory;
                first.pace.outageMs = Long.MAX_VALUE; // nothing is spooled until the end
                first.start(server.url());
                frames.add(first.queue, 130);
                await(() -> first.sender.errors() > 0);
                assertEquals(0, first.ledger().spooled);
                first.close();
                assertEquals(130, first.ledger().spooled);
            }
            server.always = null;
            int before = server.requests();
            try (Delivery second = new Delivery(1 << 20)) {
                second.spool = directory;
                second.start(server.url());
                TestFrames next = new TestFrames(60, 0, TestFrames.BEGIN + TestFrames.LIFE_MS);
                next.add(second.queue, 5);
                await(() -> second.ledger().recovered == 130 && second.ledger().sent == 135
                        && second.sender.spoolBytes() == 0);
                assertEquals(0, second.ledger().spooled);
            }
            assertEquals("1-130 1000001-1000005", readable(server, before));
            assertEquals(0, bytesIn(directory));
        }
    }

    @Test
    void twoAgentsDoNotShareASpool() throws Exception {
        try (HostileServer server = new HostileServer(); Delivery second = new Delivery(1 << 20)) {
            server.always = DOWN;
            try (Delivery first = new Delivery(1 << 20)) {
                first.spool = directory;
                first.start(server.url());
                frames.add(first.queue, 10);
                await(() -> first.ledger().spooled == 9);
                second.spool = directory;
                second.start(server.url());
                new TestFrames(60, 0, TestFrames.BEGIN + TestFrames.LIFE_MS).add(second.queue, 10);
                await(() -> second.sender.spoolIsOff() && second.sender.errors() > 20);
                assertEquals(10, second.ledger().queued, "memory goes on");
                assertEquals(1, second.said.stream()
                        .filter(line -> line.contains("another agent uses it: give each")).count(),
                        second.said.toString());
            }
            await(() -> !second.sender.spoolIsOff()); // its turn
            server.always = null;
            await(() -> second.ledger().sent == 20);
            assertEquals(10, second.ledger().recovered);
        }
    }

    @Test
    void aDiskThatFailsIsSaidOnceAndMemoryGoesOn() throws Exception {
        Path file = Files.writeString(directory.resolve("file"), "mine");
        for (int i = 0; i < 3; i++) {
            try (HostileServer server = new HostileServer();
                    Delivery delivery = new Delivery(1 << 20)) {
                delivery.spool = i == 0 ? directory.resolve("full")
                        : i == 1 ? file : file.resolve("below");
                delivery.minFree = i == 0 ? Long.MAX_VALUE / 2 : 1;
                server.always = DOWN;
                delivery.start(server.url());
                new TestFrames(60).add(delivery.queue, 100);
                await(() -> delivery.sender.spoolIsOff() && delivery.sender.errors() > 50);
                assertEquals(100, delivery.ledger().queued);
                assertEquals(1, delivery.said.stream()
                        .filter(line -> line.contains("is off, frames wait in memory only: "))
                        .count(), delivery.said.toString());
                server.always = null;
                await(() -> delivery.ledger().sent == 100);
            }
        }
        assertEquals("mine", Files.readString(file));
    }

    @Test
    void aFullQueueDropsItsOldestWindowFirst() {
        FrameQueue small = new FrameQueue(1000);
        small.add(new byte[300], true); // window 1
        small.add(new byte[100], false);
        small.add(new byte[100], false);
        small.add(new byte[300], true); // window 2
        small.add(new byte[100], false);
        small.begin(); // window 1's key frame is being posted: it stays
        small.add(new byte[200], false);
        assertEquals(Map.of(FrameQueue.FULL, 1L), small.dropped());
        small.failed();
        small.add(new byte[200], false); // now it goes, and its delta frames with it
        assertEquals(Map.of(FrameQueue.FULL, 2L, FrameQueue.KEY_LOST, 1L), small.dropped());
        FrameQueue.Ledger ledger = new FrameQueue.Ledger();
        small.read(ledger);
        assertEquals(4, ledger.queued);
        assertEquals(300 + 100 + 200 + 200, ledger.queuedBytes);
        Delivery.assertLedger(small);
        small.add(new byte[1001], true); // larger than the queue
        assertTrue(small.needsKeyFrame());
        Delivery.assertLedger(small);
        small.add(new byte[10], true);
        assertFalse(small.needsKeyFrame());
    }

    private static List<Long> inOrder(HostileServer server, int from) {
        List<byte[]> bodies = server.bodies();
        return TestFrames.inOrder(bodies.subList(from, bodies.size()));
    }

    /** As ranges, which a failed assertion prints shortly. */
    private static String readable(HostileServer server, int from) {
        List<byte[]> bodies = server.bodies();
        return TestFrames.ranges(TestFrames.readable(bodies.subList(from, bodies.size())));
    }

    private static long bytesIn(Path directory) throws java.io.IOException {
        long bytes = 0;
        for (Segment segment : SpoolFiles.list(directory)) {
            bytes += segment.bytes;
        }
        return bytes;
    }
}
