package dev.ringwatch.agent.delivery;

import java.util.ArrayDeque;
import java.util.Iterator;
import java.util.Map;
import java.util.TreeMap;

/**
 * Frames that wait to be sent, oldest first, bounded in number and bytes. The head stays in the queue until it was
 * answered for. Overload rule: the oldest that is not being posted right now goes first, and with a key frame go the
 * delta frames that cannot be read without it.
 */
public final class FrameQueue {
    public static final String FULL = "queue_full";
    public static final String KEY_LOST = "key_lost";
    /** At the shortest interval, 1 s, that is more than two hours. */
    static final int MAX_FRAMES = 10_000;

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

    private final long maxBytes;
    private final ArrayDeque<Queued> frames = new ArrayDeque<>();
    private final Map<String, Long> dropped = new TreeMap<>();
    private long bytes;
    private long lastKey;
    private long lostKey;
    private boolean posting;
    private long made;
    private long sent;
    private long sentBytes;

    public FrameQueue(long maxBytes) {
        this.maxBytes = maxBytes;
    }

    /** Takes in a frame that was just made. Never blocks on the network. */
    public synchronized void add(byte[] frame, boolean isKey) {
        made++;
        if (isKey) {
            lastKey++;
        } else if (lostKey == lastKey) {
            count(KEY_LOST);
            return;
        }
        while (!frames.isEmpty() && (bytes + frame.length > maxBytes || frames.size() >= MAX_FRAMES)) {
            if (!dropOldest()) {
                break;
            }
        }
        if (!isKey && lostKey == lastKey) { // its key frame has just been the oldest
            count(KEY_LOST);
        } else if (bytes + frame.length > maxBytes) {
            count(FULL);
            lostKey = isKey ? lastKey : lostKey;
        } else {
            frames.addLast(new Queued(frame, lastKey, isKey));
            bytes += frame.length;
            notifyAll();
        }
    }

    /** True if delta frames of this window are useless from here on. */
    public synchronized boolean needsKeyFrame() {
        return lostKey == lastKey;
    }

    /** Waits for a frame and marks it as being posted; one of the three answers below must follow. */
    synchronized Queued begin() throws InterruptedException {
        while (frames.isEmpty()) {
            wait();
        }
        posting = true;
        return frames.peekFirst();
    }

    synchronized void succeeded() {
        sent++;
        sentBytes += removeHead().frame.length;
    }

    /** To be tried again; until then it may be dropped like any other. */
    synchronized void failed() {
        posting = false;
    }

    /** Never to be sent again. */
    synchronized void rejected(String reason) {
        Queued head = removeHead();
        count(reason);
        if (head.isKey) {
            dropDeltas(head.key);
        }
    }

    private Queued removeHead() {
        posting = false;
        Queued head = frames.pollFirst();
        bytes -= head.frame.length;
        return head;
    }

    /** False if there is only the frame that is being posted. */
    private boolean dropOldest() {
        Iterator<Queued> oldest = frames.iterator();
        if (posting) {
            oldest.next();
        }
        if (!oldest.hasNext()) {
            return false;
        }
        Queued drop = oldest.next();
        oldest.remove();
        bytes -= drop.frame.length;
        count(FULL);
        if (drop.isKey) {
            dropDeltas(drop.key);
        }
        return true;
    }

    private void dropDeltas(long key) {
        if (key == lastKey) {
            lostKey = key;
        }
        boolean head = posting;
        for (Iterator<Queued> all = frames.iterator(); all.hasNext();) {
            Queued delta = all.next();
            if (delta.key == key && !head) {
                all.remove();
                bytes -= delta.frame.length;
                count(KEY_LOST);
            }
            head = false;
        }
    }

    private void count(String reason) {
        dropped.merge(reason, 1L, Long::sum);
    }

    public synchronized long made() {
        return made;
    }

    public synchronized long sent() {
        return sent;
    }

    public synchronized long sentBytes() {
        return sentBytes;
    }

    public synchronized int frames() {
        return frames.size();
    }

    public synchronized long bytes() {
        return bytes;
    }

    public synchronized int reasons() {
        return dropped.size();
    }

    public synchronized Map<String, Long> dropped() {
        return new TreeMap<>(dropped);
    }

    public synchronized long droppedTotal() {
        long total = 0;
        for (long count : dropped.values()) {
            total += count;
        }
        return total;
    }
}
