package dev.ringwatch.agent.delivery;

import java.net.URL;
import java.nio.file.Path;
import java.util.List;
import java.util.Random;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;

/**
 * The one thread between the queue and ingest. Each step, in this order:
 *
 * <ol>
 * <li>{@link Overflow#step}: what memory should not hold any longer goes to disk.
 * <li>After a failure: wait.
 * <li>{@link FrameQueue#begin}: a fresh frame is posted.
 * <li>Else, if it is its turn, one of the backlog: the spool's oldest, then memory's.
 * </ol>
 *
 * <p>One request at a time, so a frame of the backlog delays a fresh one by one request at most.
 */
public final class Sender implements Runnable {
    /** What {@link #clockOffset} says as long as it is not known. */
    public static final long NO_OFFSET = ClockOffset.UNKNOWN;

    private static final int IDLE_WAIT_MS = 60_000;
    private static final int TOO_MANY_REQUESTS = 429;
    private static final int SERVICE_UNAVAILABLE = 503;
    private static final String USUAL_REMEDY = "check ingest.urls and the network to it";

    private final FrameQueue queue;
    private final Addresses addresses;
    private final HttpPost http;
    private final Overflow overflow;
    private final KeyLog keys = new KeyLog();
    private final Pace pace;
    private final Random random;
    private final AtomicLong errors = new AtomicLong();
    private volatile String problem = "no attempt has ended yet; " + USUAL_REMEDY;
    private volatile boolean stopped;

    private volatile int failures; // only this thread writes it
    private long failingSince;
    private long resumeAt = now();
    private long backlogAt = now();
    private long gapMs;

    /**
     * @param spool null for memory only
     * @param say takes one line about the spool, seldom; what becomes of frames is told by
     *     {@link #problem} and {@link #lastStatus}
     */
    public Sender(FrameQueue queue, List<URL> urls, ApiKey key, Tls tls, Path spool,
            long spoolBytes, String version, Consumer<String> say) {
        this(queue, urls, key, tls, spool, spoolBytes, Spool.MIN_FREE, version, say, new Pace(),
                new Random());
    }

    Sender(FrameQueue queue, List<URL> urls, ApiKey key, Tls tls, Path spool, long spoolBytes,
            long minFree, String version, Consumer<String> say, Pace pace, Random random) {
        this.queue = queue;
        this.pace = pace;
        this.random = random;
        this.addresses = new Addresses(urls, pace.awayMs, random);
        this.http = new HttpPost(key, tls, version);
        this.overflow = new Overflow(queue, spool == null
                ? null : new Spool(spool, spoolBytes, minFree, queue, keys), spool, pace, say);
        this.gapMs = 4 * pace.minGapMs;
    }

    /** Attempts that failed and were or will be made again. */
    public long errors() {
        return errors.get();
    }

    /** The last answer's status; 0 if there was none. */
    public int lastStatus() {
        return http.status;
    }

    /** What the last answer said was wrong, or null. */
    public String lastReason() {
        return http.reason;
    }

    /** Whether the last attempt that ended went well, or none has ended yet. */
    public boolean isWell() {
        return failures == 0;
    }

    /** The address, what was wrong there the last time something was, and what helps. */
    public String problem() {
        return problem;
    }

    /**
     * How far this machine's clock is ahead of ingest's, in milliseconds: negative if it is behind.
     */
    public long clockOffset() {
        return http.clock.millis(now());
    }

    public long spoolBytes() {
        return overflow.bytes();
    }

    /** True while there should be a spool and it cannot be written. */
    public boolean spoolIsOff() {
        return overflow.isOff();
    }

    public long spoolDamagedBytes() {
        return overflow.damagedBytes();
    }

    /** From any thread, now and then: ends a request that hangs. */
    public void endSlowPost() {
        http.endIfSlow();
    }

    /** From any thread: {@link #run} puts what is in memory on disk and returns soon. */
    public void stop() {
        stopped = true;
        http.end();
        queue.close();
    }

    @Override
    public void run() {
        try {
            while (!stopped) {
                try {
                    step();
                } catch (RuntimeException | Error unexpected) {
                    // never the host's problem; and never a busy loop
                    queue.failed();
                    errors.incrementAndGet();
                    resumeAt = now() + pace.maxPauseMs;
                }
            }
        } catch (InterruptedException stop) {
            stopped = true;
        } finally {
            overflow.finish();
        }
    }

    private void step() throws InterruptedException {
        long seen = queue.version();
        overflow.step(isOutage());
        long wait = resumeAt - now();
        if (wait > 0) {
            queue.await(seen, wait);
            return;
        }
        FrameQueue.Queued fresh = queue.begin();
        if (fresh != null) {
            post(fresh, false);
            return;
        }
        if (!overflow.hasBacklog() && !queue.hasOld()) {
            queue.await(seen, IDLE_WAIT_MS);
            return;
        }
        wait = backlogAt - now();
        if (wait > 0) {
            queue.await(seen, wait);
            return;
        }
        backlog();
    }

    private void backlog() {
        byte[] spooled = overflow.next();
        if (spooled != null) {
            switch (attempt(spooled, true)) {
                case HttpPost.OK:
                    overflow.taken();
                    return;
                case HttpPost.REJECTED:
                    overflow.rejected("http_" + http.status);
                    return;
                default:
                    return;
            }
        }
        FrameQueue.Queued old = queue.beginOld();
        if (old != null) {
            post(old, true);
        }
    }

    private void post(FrameQueue.Queued frame, boolean isBacklog) {
        int verdict = attempt(frame.frame, isBacklog);
        if (verdict == HttpPost.RETRY) {
            queue.failed();
            return;
        }
        boolean copied = verdict == HttpPost.OK
                ? queue.succeeded() : queue.rejected("http_" + http.status);
        if (frame.isKey) {
            keys.note(FrameHead.u32(frame.frame, 4),
                    verdict == HttpPost.OK ? KeyLog.SENT : KeyLog.LOST);
        }
        if (copied) {
            overflow.forgetCopy();
        }
    }

    private int attempt(byte[] frame, boolean isBacklog) {
        URL url = addresses.current(now());
        int verdict = http.post(url, frame);
        if (verdict == HttpPost.RETRY) {
            failed(url, isBacklog);
            return verdict;
        }
        addresses.succeeded();
        failures = 0;
        if (isBacklog) {
            gapMs = Math.max(pace.minGapMs, gapMs - gapMs / 4);
            backlogAt = now() + gapMs;
        }
        return verdict;
    }

    private void failed(URL url, boolean isBacklog) {
        errors.incrementAndGet();
        if (isBacklog) {
            gapMs = Math.min(pace.maxGapMs, 2 * gapMs);
            backlogAt = now() + http.retryAfterSeconds * 1000L + jitter(gapMs);
            if (http.status == TOO_MANY_REQUESTS) {
                return; // there may be room for what is fresh
            }
        }
        if (failures++ == 0) {
            failingSince = now();
        }
        int rounds = (failures - 1) / addresses.count();
        boolean another = failures % addresses.count() != 0;
        if (http.status == TOO_MANY_REQUESTS) {
            another = false; // all addresses share what they count
        } else {
            addresses.failed(now());
        }
        long pause = another ? jitter(pace.switchMs)
                : (http.status == SERVICE_UNAVAILABLE || http.status == TOO_MANY_REQUESTS
                        ? http.retryAfterSeconds * 1000L : 0)
                + jitter(Math.min(pace.maxPauseMs, pace.firstPauseMs << Math.min(20, rounds)));
        resumeAt = now() + pause;
        problem = Addresses.shown(url) + ": " + http.problem + "; "
                + (http.remedy == null ? USUAL_REMEDY : http.remedy);
    }

    private boolean isOutage() {
        return failures > 0 && now() - failingSince >= pace.outageMs;
    }

    /** Full jitter: anything up to the bound, so that a fleet does not come back at once. */
    private long jitter(long bound) {
        return (long) (random.nextDouble() * (bound + 1));
    }

    private static long now() {
        return System.nanoTime() / 1_000_000;
    }
}
