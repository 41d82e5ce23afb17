package dev.ringwatch.agent.delivery;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * Frames that wait to be sent, bounded in number and bytes, and the ledger of all frames there ever
 * were.
 *
 * <p>The newest {@value #FRESH} frames are <i>fresh</i> and are sent in order; what is pushed out
 * of their lane is <i>old</i>, the backlog. So however much waits, the newest state is at most
 * {@value #FRESH} frames away. A delta frame is never fresh without its key frame: both are in the
 * lane, or the key frame was delivered.
 *
 * <p>Overload rule: the oldest goes first, and with a key frame go the delta frames that cannot be
 * read without it.
 *
 * <p>The sampler's thread adds; the sender's thread takes frames out, has them in its hand while it
 * posts or spools them, and says what became of them.
 */
public final class FrameQueue {
    public static final String FULL = "queue_full";
    public static final String KEY_LOST = "key_lost";
    public static final String SPOOL_FULL = "spool_full";
    public static final String SPOOL_DAMAGED = "spool_damaged";
    /** At the shortest interval, 1 s, that is more than two hours. */
    static final int MAX_FRAMES = 10_000;
    static final int FRESH = 8;

    /** A frame as it goes over the wire. */
    static final class Queued {
        final byte[] frame;
        /** Which key frame it is or refers to, counted from the first. */
        final long key;
        final boolean isKey;

        Queued(byte[] frame, long key, boolean isKey) {
            this.frame = frame;
            this.key = key;
            this.isKey = isKey;
        }
    }

    /** All counts at one instant: made + recovered = sent + dropped + queued + spooled. */
    public static final class Ledger {
        public long made;
        /** Taken from a spool that an earlier life of this agent left. */
        public long recovered;
        public long sent;
        public long sentBytes;
        public long dropped;
        public long queued;
        public long queuedBytes;
        /** Of this life; how many an earlier one left is known when they are read. */
        public long spooled;
    }

    private final long maxBytes;
    private final ArrayDeque<Queued> fresh = new ArrayDeque<>();
    private final ArrayDeque<Queued> old = new ArrayDeque<>();
    /** In the sender's hand, oldest first. */
    private final ArrayDeque<Queued> held = new ArrayDeque<>();
    private boolean heldIsFresh;
    /**
     * The newest key frame, if it has gone to the spool unsent: what is made now is of use only
     * after it, so it is kept to be sent ahead of the backlog. It counts as spooled.
     */
    private Queued probe;
    /**
     * The last key frame that became the probe, until it is answered for; its copy is in the spool.
     */
    private long spooledKey = -1;
    private final Map<String, Long> dropped = new TreeMap<>();
    private final Ledger now = new Ledger();
    private long lastKey;
    private long lostKey;
    private long version;
    private boolean closed;

    public FrameQueue(long maxBytes) {
        this.maxBytes = maxBytes;
    }

    long maxBytes() {
        return maxBytes;
    }

    /**
     * Takes in a frame that was just made. Waits for neither network nor disk.
     *
     * @return false if it was dropped at once
     */
    public synchronized boolean add(byte[] frame, boolean isKey) {
        now.made++;
        if (isKey) {
            lastKey++;
            probe = null;
        } else if (lostKey == lastKey) {
            count(KEY_LOST, 1);
            return false;
        }
        while (now.queuedBytes + frame.length > maxBytes || now.queued >= MAX_FRAMES) {
            if (!dropOldest()) {
                break;
            }
        }
        if (!isKey && lostKey == lastKey) { // its key frame has just been the oldest
            count(KEY_LOST, 1);
        } else if (now.queuedBytes + frame.length > maxBytes || now.queued >= MAX_FRAMES) {
            count(FULL, 1);
            lostKey = isKey ? lastKey : lostKey;
        } else {
            fresh.addLast(new Queued(frame, lastKey, isKey));
            now.queued++;
            now.queuedBytes += frame.length;
            settle();
            version++;
            notifyAll();
            return true;
        }
        return false;
    }

    /** True if delta frames of this window are useless from here on. */
    public synchronized boolean needsKeyFrame() {
        return lostKey == lastKey;
    }

    /**
     * Pushes what is too much out of the fresh lane, a key frame together with its delta frames.
     */
    private void settle() {
        while (fresh.size() > FRESH) {
            Queued first = fresh.pollFirst();
            if (first.isKey && first.key == lastKey) { // what comes next needs it first
                old.addLast(fresh.pollFirst());
                fresh.addFirst(first);
                continue;
            }
            toOld(first);
            while (first.isKey && !fresh.isEmpty() && fresh.peekFirst().key == first.key) {
                old.addLast(fresh.pollFirst());
            }
        }
    }

    /**
     * Appends to the backlog. What belongs after the frame may be there already: a key frame's
     * delta frames, and those of the next key frame, which left the fresh lane while this one was
     * in the sender's hand.
     */
    private void toOld(Queued frame) {
        ArrayDeque<Queued> after = new ArrayDeque<>(0);
        while (!old.isEmpty() && old.peekLast().key >= frame.key + (frame.isKey ? 0 : 1)) {
            after.addFirst(old.pollLast());
        }
        old.addLast(frame);
        old.addAll(after);
    }

    // For the sender's thread: take a frame into the hand, then give exactly one of the answers.

    /** The frame to send now, or null if there is only backlog. */
    synchronized Queued begin() {
        Queued next = probe != null ? probe : fresh.pollFirst();
        if (next != null) {
            held.addLast(next);
            heldIsFresh = true;
        }
        return next;
    }

    /** The oldest of the backlog in memory, or null. */
    synchronized Queued beginOld() {
        Queued next = old.pollFirst();
        if (next != null) {
            held.addLast(next);
            heldIsFresh = false;
        }
        return next;
    }

    /** @return true if this frame has a copy in the spool, which is to be forgotten */
    synchronized boolean succeeded() {
        now.sent++;
        now.sentBytes += held.peekFirst().frame.length;
        return release();
    }

    /** Never to be sent again. */
    synchronized boolean rejected(String reason) {
        Queued refused = held.peekFirst();
        boolean copied = release();
        count(reason, 1);
        if (refused.isKey) {
            dropDeltas(refused.key);
        }
        return copied;
    }

    /** What is in the hand is to be tried again; until then it may be dropped like any other. */
    synchronized void failed() {
        while (!held.isEmpty()) {
            Queued back = held.pollLast();
            if (!back.isKey || back.key != spooledKey) { // the probe has stayed where it is
                (heldIsFresh || back.key == lastKey && spooledKey != lastKey ? fresh : old)
                        .addFirst(back);
            }
        }
        settle();
    }

    private boolean release() {
        Queued done = held.pollFirst();
        if (done.isKey && done.key == spooledKey) {
            probe = probe == done ? null : probe;
            now.spooled--;
            spooledKey = -1;
            return true;
        }
        now.queued--;
        now.queuedBytes -= done.frame.length;
        return false;
    }

    // From memory to the spool and out of it.

    /**
     * Takes frames to be spooled into the hand, oldest first, a key frame before its delta frames.
     *
     * @param keep how many of the newest stay
     */
    synchronized List<Queued> beginSpooling(int keep) {
        while (fresh.size() > keep || !fresh.isEmpty() && fresh.peekFirst().isKey && !old.isEmpty()
                && old.peekLast().key >= fresh.peekFirst().key) {
            toOld(fresh.pollFirst());
        }
        heldIsFresh = false;
        held.addAll(old);
        old.clear();
        return new ArrayList<>(held);
    }

    /**
     * The first frame in the hand is in the spool.
     *
     * @return true if memory keeps it too
     */
    synchronized boolean spooled() {
        Queued done = held.pollFirst();
        now.queued--;
        now.queuedBytes -= done.frame.length;
        now.spooled++;
        if (done.isKey && done.key == lastKey) {
            probe = done;
            spooledKey = done.key;
            return true;
        }
        return false;
    }

    /** The first frame in the hand cannot be spooled for its size. */
    synchronized void unspoolable() {
        Queued done = held.pollFirst();
        now.queued--;
        now.queuedBytes -= done.frame.length;
        count(SPOOL_FULL, 1);
        if (done.isKey) {
            dropDeltas(done.key);
        }
    }

    /** A frame from the spool was delivered. */
    synchronized void spoolSent(int bytes, boolean own) {
        now.sent++;
        now.sentBytes += bytes;
        leaveSpool(1, own);
    }

    /** Frames in the spool were given up. */
    synchronized void spoolDropped(String reason, long frames, boolean own) {
        if (frames > 0) {
            count(reason, frames);
            leaveSpool(frames, own);
        }
    }

    /**
     * The spool has lost its copy of the newest key frame, which has just been counted as dropped.
     */
    synchronized void copyLost() {
        if (spooledKey >= 0) {
            probe = null;
            dropDeltas(spooledKey);
            spooledKey = -1;
        }
    }

    private void leaveSpool(long frames, boolean own) {
        if (own) {
            now.spooled -= frames;
        } else {
            now.recovered += frames;
        }
    }

    /** False if nothing is left to drop but what is in the sender's hand. */
    private boolean dropOldest() {
        Queued drop = old.isEmpty() ? fresh.pollFirst() : old.pollFirst();
        if (drop == null) {
            return false;
        }
        now.queued--;
        now.queuedBytes -= drop.frame.length;
        count(FULL, 1);
        if (drop.isKey) {
            dropDeltas(drop.key);
        }
        return true;
    }

    private void dropDeltas(long key) {
        if (key == lastKey) {
            lostKey = key;
        }
        dropDeltas(key, old);
        dropDeltas(key, fresh);
    }

    private void dropDeltas(long key, ArrayDeque<Queued> lane) {
        for (Iterator<Queued> all = lane.iterator(); all.hasNext();) {
            Queued delta = all.next();
            if (delta.key == key && !delta.isKey) {
                all.remove();
                now.queued--;
                now.queuedBytes -= delta.frame.length;
                count(KEY_LOST, 1);
            }
        }
    }

    private void count(String reason, long frames) {
        dropped.merge(reason, frames, Long::sum);
        now.dropped += frames;
    }

    /** Waits until there is something that was not there at {@code seen}, at most that long. */
    synchronized long await(long seen, long ms) throws InterruptedException {
        long deadline = System.nanoTime() + ms * 1_000_000;
        for (long left = ms; version == seen && !closed && left > 0;
                left = (deadline - System.nanoTime()) / 1_000_000) {
            wait(left);
        }
        return version;
    }

    /** Waits until all is sent, at most that long. */
    public void awaitEmpty(long ms) throws InterruptedException {
        Ledger ledger = new Ledger();
        for (long until = System.nanoTime() + ms * 1_000_000; System.nanoTime() < until;) {
            read(ledger);
            if (ledger.queued == 0) {
                return;
            }
            Thread.sleep(10);
        }
    }

    synchronized long version() {
        return version;
    }

    /** Nobody waits any more. */
    synchronized void close() {
        closed = true;
        notifyAll();
    }

    synchronized boolean hasOld() {
        return !old.isEmpty();
    }

    /**
     * True if memory is filling up: half of it is left for what comes while the disk is written.
     */
    synchronized boolean isHalfFull() {
        return now.queuedBytes > maxBytes / 2 || now.queued > MAX_FRAMES / 2;
    }

    /** Copies all counts; allocates nothing. */
    public synchronized void read(Ledger into) {
        into.made = now.made;
        into.recovered = now.recovered;
        into.sent = now.sent;
        into.sentBytes = now.sentBytes;
        into.dropped = now.dropped;
        into.queued = now.queued;
        into.queuedBytes = now.queuedBytes;
        into.spooled = now.spooled;
    }

    public synchronized Map<String, Long> dropped() {
        return new TreeMap<>(dropped);
    }
}
