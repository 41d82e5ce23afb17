package dev.ringwatch.agent.delivery;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.net.URL;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.BooleanSupplier;

/**
 * The real delivery, in a hurry: a queue, its sender, and what it has said. Closing it asserts the
 * ledger.
 */
final class Delivery implements AutoCloseable {
    final FrameQueue queue;
    final Pace pace = new Pace();
    final List<String> said = new CopyOnWriteArrayList<>();
    Path spool;
    long spoolBytes = 64 << 20;
    long minFree = 1;
    ApiKey key = ApiKey.fixed("rw_key");
    Tls tls = new Tls(null, null, null);
    Random random = new Random(1);
    Sender sender;
    private Thread thread;

    Delivery(long queueBytes) {
        queue = new FrameQueue(queueBytes);
        pace.firstPauseMs = 2;
        pace.maxPauseMs = 20;
        pace.switchMs = 1;
        pace.outageMs = 0;
        pace.minGapMs = 0;
        pace.maxGapMs = 20;
        pace.spoolAgainMs = 50;
    }

    Delivery start(URL... urls) {
        sender = new Sender(queue, Arrays.asList(urls), key, tls, spool, spoolBytes, minFree,
                "test", said::add, pace, random);
        thread = new Thread(sender, "sender-under-test");
        thread.setDaemon(true);
        thread.start();
        return this;
    }

    FrameQueue.Ledger ledger() {
        FrameQueue.Ledger ledger = new FrameQueue.Ledger();
        queue.read(ledger);
        return ledger;
    }

    @Override
    public void close() throws Exception {
        sender.stop();
        thread.join(60_000);
        assertTrue(!thread.isAlive(), "the sender has ended");
        assertLedger(queue);
    }

    static void assertLedger(FrameQueue queue) {
        FrameQueue.Ledger l = new FrameQueue.Ledger();
        queue.read(l);
        assertEquals(l.made + l.recovered, l.sent + l.dropped + l.queued + l.spooled,
                "made " + l.made + " + recovered " + l.recovered
                + " = sent " + l.sent + " + dropped " + queue.dropped() + " + queued " + l.queued
                + " + spooled " + l.spooled);
        assertEquals(l.dropped, queue.dropped().values().stream().mapToLong(Long::longValue).sum());
        assertTrue(l.queued >= 0 && l.spooled >= 0 && l.queuedBytes >= 0
                && (l.queued > 0 || l.queuedBytes == 0), "nothing is negative");
    }

    /** Nothing waits any more, in memory or on disk. */
    void awaitEmpty() throws Exception {
        try {
            await(() -> ledger().queued + ledger().spooled + sender.spoolBytes() == 0);
        } catch (AssertionError e) {
            throw new AssertionError("queued " + ledger().queued + ", spooled "
                    + ledger().spooled + ", " + sender.spoolBytes() + " bytes in the spool, errors "
                    + sender.errors() + ", dropped " + queue.dropped() + ", said " + said, e);
        }
    }

    static void await(BooleanSupplier condition) throws Exception {
        long deadline = System.nanoTime() + Long.getLong("patience", 120) * 1_000_000_000L;
        while (!condition.getAsBoolean()) {
            assertTrue(System.nanoTime() < deadline, "took too long");
            Thread.sleep(5);
        }
    }
}
