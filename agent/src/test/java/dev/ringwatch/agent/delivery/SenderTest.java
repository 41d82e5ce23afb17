package dev.ringwatch.agent.delivery;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.net.URL;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Delivery against a server that behaves as badly as it can. After every test the ledger must hold. */
class SenderTest {
    private final FrameQueue queue = new FrameQueue(1 << 20);
    private final List<Thread> threads = new ArrayList<>();
    private Sender sender;

    @AfterEach
    void ledgerHolds() throws Exception {
        for (Thread thread : threads) {
            thread.interrupt();
            thread.join(30_000);
        }
        assertEquals(queue.made(), queue.sent() + queue.droppedTotal() + queue.frames(), "made = sent + dropped + queued");
    }

    @Test
    void framesArriveInOrderWithTheirHeaders() throws Exception {
        try (HostileServer server = new HostileServer()) {
            start(server.url());
            for (int i = 0; i < 20; i++) {
                queue.add(frame(i), i == 0);
            }
            await(() -> queue.sent() == 20);
            for (int i = 0; i < 20; i++) {
                assertArrayEquals(frame(i), server.bodies.get(i));
            }
            String head = server.heads.get(0);
            assertTrue(head.startsWith("POST /v1/frames HTTP/1.1\r\n"), head);
            assertTrue(head.contains("Authorization: Bearer rw_key\r\n"), head);
            assertTrue(head.contains("Content-Type: application/vnd.ringwatch.frame\r\n"), head);
        }
    }

    @Test
    void whatMayPassIsTriedAgainInOrder() throws Exception {
        try (HostileServer server = new HostileServer(
                HostileServer.answer("500 Oops"), HostileServer.answer("503 Later"), HostileServer.CLOSE,
                "garbage\r\n\r\n", HostileServer.answer("429 Slow", "Retry-After: 1\r\n"))) {
            start(server.url());
            queue.add(frame(1), true);
            queue.add(frame(2), false);
            await(() -> queue.sent() == 2);
            assertEquals(7, server.requests());
            for (int i = 0; i < 6; i++) {
                assertArrayEquals(frame(1), server.bodies.get(i), "attempt " + i);
            }
            assertArrayEquals(frame(2), server.bodies.get(6));
            assertTrue(server.times.get(5) - server.times.get(4) >= 1_000_000_000L, "Retry-After was kept");
            assertEquals(5, sender.errors());
            assertEquals(0, queue.droppedTotal());
        }
    }

    @Test
    void whatIsRefusedIsDroppedAndCounted() throws Exception {
        try (HostileServer server = new HostileServer(HostileServer.answer("400 Bad"), HostileServer.answer("302 Found", "Location: /x\r\n"))) {
            queue.add(frame(1), true);
            queue.add(frame(2), false);
            queue.add(frame(3), false);
            start(server.url());
            await(() -> queue.frames() == 0);
            assertEquals(Map.of("http_400", 1L, FrameQueue.KEY_LOST, 2L), queue.dropped());
            assertTrue(queue.needsKeyFrame());
            queue.add(frame(4), false); // nobody could read it
            assertEquals(3L, queue.dropped().get(FrameQueue.KEY_LOST));
            queue.add(frame(5), true); // a redirect is no place for a key
            await(() -> queue.dropped().containsKey("http_302"));
            assertEquals(2, server.requests());
            queue.add(frame(6), true);
            queue.add(frame(7), false);
            await(() -> queue.sent() == 2);
        }
    }

    @Test
    void aHangingServerHoldsNothingUp() throws Exception {
        try (HostileServer server = new HostileServer(HostileServer.HANG)) {
            start(server.url());
            queue.add(frame(1), true);
            await(() -> server.requests() == 1);
            for (int i = 2; i < 100; i++) {
                queue.add(frame(i), false); // returns at once although the head is being posted
            }
            server.close();
            await(() -> sender.errors() > 0);
            assertEquals(0, queue.sent());
        }
    }

    @Test
    void theSecondAddressIsTriedWhenTheFirstFails() throws Exception {
        try (HostileServer dead = new HostileServer(); HostileServer server = new HostileServer()) {
            URL gone = dead.url();
            dead.close();
            start(gone, server.url());
            queue.add(frame(1), true);
            await(() -> queue.sent() == 1);
        }
    }

    @Test
    void aFullQueueDropsItsOldestWindowFirst() throws Exception {
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
        assertEquals(4, small.frames());
        assertEquals(300 + 100 + 200 + 200, small.bytes());
        assertEquals(small.made(), small.sent() + small.droppedTotal() + small.frames());
        small.add(new byte[1001], true); // larger than the queue
        assertTrue(small.needsKeyFrame());
        assertEquals(small.made(), small.sent() + small.droppedTotal() + small.frames());
    }

    private void start(URL... urls) {
        sender = new Sender(queue, Arrays.asList(urls), () -> "rw_key", 10);
        Thread thread = new Thread(sender, "sender-under-test");
        thread.setDaemon(true);
        thread.start();
        threads.add(thread);
    }

    private static byte[] frame(int number) {
        byte[] frame = new byte[100];
        frame[0] = (byte) number;
        return frame;
    }

    private static void await(BooleanSupplier condition) throws Exception {
        long deadline = System.nanoTime() + 60_000_000_000L;
        while (!condition.getAsBoolean()) {
            assertTrue(System.nanoTime() < deadline, "took too long");
            Thread.sleep(5);
        }
    }
}
