package dev.ringwatch.agent.delivery;

import java.net.URL;
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Supplier;

/** Posts the head of the queue until it is answered for, in order, waiting longer after each failure. */
public final class Sender implements Runnable {
    private static final long FIRST_PAUSE_MS = 500;
    private static final long MAX_PAUSE_MS = 60_000;

    private final FrameQueue queue;
    private final List<URL> urls;
    private final HttpPost http;
    private final AtomicLong errors = new AtomicLong();
    private final long firstPauseMs;
    private int next;
    private volatile boolean stopped;

    public Sender(FrameQueue queue, List<URL> urls, Supplier<String> key) {
        this(queue, urls, key, FIRST_PAUSE_MS);
    }

    Sender(FrameQueue queue, List<URL> urls, Supplier<String> key, long firstPauseMs) {
        this.queue = queue;
        this.urls = urls;
        this.http = new HttpPost(key);
        this.firstPauseMs = firstPauseMs;
    }

    /** Attempts that failed and were or will be made again. */
    public long errors() {
        return errors.get();
    }

    /** The last answer's status; 0 if there was none. */
    public int lastStatus() {
        return http.status;
    }

    public void stop() {
        stopped = true;
    }

    @Override
    public void run() {
        int failures = 0;
        while (!stopped) {
            try {
                failures = step() ? 0 : failures + 1;
                if (failures > 0) {
                    Thread.sleep(pause(failures));
                }
            } catch (InterruptedException stop) {
                return;
            } catch (Throwable unexpected) { // never the host's problem; and never a busy loop
                queue.failed();
                errors.incrementAndGet();
                failures++;
                try {
                    Thread.sleep(MAX_PAUSE_MS);
                } catch (InterruptedException stop) {
                    return;
                }
            }
        }
    }

    /** One attempt; false if it is to be made again. */
    private boolean step() throws InterruptedException {
        FrameQueue.Queued frame = queue.begin();
        switch (http.post(urls.get(next % urls.size()), frame.frame)) {
            case HttpPost.OK:
                queue.succeeded();
                return true;
            case HttpPost.REJECTED:
                queue.rejected("http_" + http.status);
                return true;
            default:
                queue.failed();
                errors.incrementAndGet();
                next++;
                return false;
        }
    }

    /** Full jitter: anything up to a bound that doubles, so that a fleet does not come back at once. */
    private long pause(int failures) {
        long bound = Math.min(MAX_PAUSE_MS, firstPauseMs << Math.min(20, failures - 1));
        return http.retryAfterSeconds * 1000L + ThreadLocalRandom.current().nextLong(bound + 1);
    }
}
