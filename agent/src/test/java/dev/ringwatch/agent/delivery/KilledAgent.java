package dev.ringwatch.agent.delivery;

import java.net.URL;
import java.nio.file.Path;
import java.util.Collections;
import java.util.Random;

/**
 * Run by {@link KilledTest} in a JVM of its own: makes frames and delivers them until it is killed.
 */
final class KilledAgent {
    private KilledAgent() {}

    /** Arguments: address, spool, number of this life, frames to make. */
    public static void main(String[] arguments) throws Exception {
        FrameQueue queue = new FrameQueue(1 << 20);
        Pace pace = new Pace();
        pace.firstPauseMs = 2;
        pace.maxPauseMs = 20;
        pace.outageMs = 0;
        pace.minGapMs = 0;
        Sender sender = new Sender(queue, Collections.singletonList(new URL(arguments[0])),
                ApiKey.fixed("rw_key"), new Tls(null, null, null),
                Path.of(arguments[1]), 64 << 20, 1, "test", line -> { }, pace, new Random());
        Thread thread = new Thread(sender);
        thread.setDaemon(true);
        thread.start();
        long life = Long.parseLong(arguments[2]);
        TestFrames frames = new TestFrames(60, 300, TestFrames.BEGIN + life * TestFrames.LIFE_MS);
        FrameQueue.Ledger ledger = new FrameQueue.Ledger();
        for (int i = 0; i < Integer.parseInt(arguments[3]); i++) {
            frames.add(queue, 1);
            queue.read(ledger);
            System.out.println("spooled " + ledger.spooled);
            Thread.sleep(1);
        }
        for (;;) {
            queue.read(ledger);
            System.out.println("left " + (ledger.queued + ledger.spooled + sender.spoolBytes())
                    + " recovered " + ledger.recovered);
            Thread.sleep(20);
        }
    }
}
