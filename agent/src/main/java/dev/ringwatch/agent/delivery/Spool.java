package dev.ringwatch.agent.delivery;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayDeque;

/**
 * The frames on disk: numbered files of concatenated frames, appended to at one end, read and
 * deleted at the other.
 *
 * <pre>
 *   ringwatch-00000000000000a1.spool   the oldest: the reader is in it, it goes when it was read
 *   ringwatch-00000000000000a2.spool
 *   ringwatch-00000000000000a3.spool   the active one, until it is large enough or the reader
 *                                      comes to it
 *   ringwatch.lock                     held while an agent uses the directory
 * </pre>
 *
 * <p>Within a file a key frame comes before its delta frames; delta frames at a file's beginning
 * belong to a key frame that was delivered or is in the file before. Beyond its cap the spool gives
 * up its oldest file, as a rule whole windows. Nothing is synced to disk: a process that is killed
 * loses nothing that was written, a machine that loses power may damage the end, and the reader
 * steps over damage. Files of other names are never touched.
 *
 * <p>What bites: all of it belongs to the sender's thread, but for the figures at the end. Every
 * error that makes the spool unusable is an {@link IOException}; who gets one closes the spool and
 * goes on without.
 */
final class Spool {
    /** Small enough that giving one up, or reading one again after a crash, is little. */
    private static final long SEGMENT = 1 << 20;
    /** Left to the host: a full disk is worse for it than lost metrics. */
    static final long MIN_FREE = 256L << 20;

    private final Path directory;
    private final long cap;
    private final int maxFrame;
    private final long minFree;
    private final FrameQueue queue;
    private final KeyLog keys;
    private final ArrayDeque<Segment> segments = new ArrayDeque<>();
    private SpoolLock lock;
    private long nextNumber;

    private FileChannel writing;
    private Segment active;
    /** Where the copy of the key frame is that is kept in memory too. */
    private Segment copyIn;
    private int copyKey;

    private FileChannel readingFile;
    private SegmentReader reading;
    private long stepped;
    private byte[] frame;
    private FrameHead head;
    private int seenKey;
    private boolean sawKey;

    private volatile long bytes;
    private volatile long damagedBytes;

    /**
     * @param cap bytes on disk
     * @param minFree bytes that the disk must have left after a write
     */
    Spool(Path directory, long cap, long minFree, FrameQueue queue, KeyLog keys) {
        this.directory = directory;
        this.cap = cap;
        this.minFree = minFree;
        this.maxFrame = (int) Math.min(16 << 20, queue.maxBytes());
        this.queue = queue;
        this.keys = keys;
    }

    boolean isOpen() {
        return lock != null;
    }

    /** Takes the directory, or says in one sentence why that cannot be. */
    void open() throws IOException {
        SpoolLock taken = SpoolLock.take(directory);
        try {
            long total = 0;
            for (Segment found : SpoolFiles.list(directory)) {
                segments.addLast(found);
                total += found.bytes;
                nextNumber = found.number + 1;
            }
            bytes = total;
            lock = taken;
            makeRoom(0);
        } catch (IOException | RuntimeException e) {
            lock = null;
            taken.release();
            segments.clear();
            throw e;
        }
    }

    /** After an error while writing: what is there can still be read. */
    void stopWriting() {
        closeActive();
    }

    /** For good: what was not read stays for the next life. */
    void close() {
        closeActive();
        closeReading();
        if (lock != null) {
            lock.release();
            lock = null;
        }
    }

    // In.

    boolean fits(byte[] added) {
        return added.length <= cap && added.length <= maxFrame;
    }

    /** Appends one frame; the ledger is the caller's. */
    void write(FrameQueue.Queued added) throws IOException {
        makeRoom(added.frame.length);
        if (directory.toFile().getUsableSpace() < minFree + added.frame.length) {
            throw new IOException("the disk has less than " + (minFree >> 20) + " MiB left");
        }
        if (active != null && added.isKey && active.bytes >= Math.min(SEGMENT, cap / 4)) {
            closeActive();
        }
        if (active == null) {
            Segment begun = new Segment(nextNumber,
                    SpoolFiles.name(directory, nextNumber), true, 0);
            writing = SpoolFiles.create(begun.file);
            nextNumber++;
            active = begun;
            segments.addLast(active);
        }
        append(added.frame);
        active.frames++;
        FrameHead of = FrameHead.of(added.frame);
        active.lastKey = of == null ? 0 : of.key;
    }

    private void append(byte[] added) throws IOException {
        ByteBuffer from = ByteBuffer.wrap(added);
        try {
            while (from.hasRemaining()) {
                writing.write(from);
            }
        } catch (IOException full) {
            cutBack();
            throw full;
        }
        active.bytes += added.length;
        bytes += added.length;
    }

    /**
     * The frame is still in memory, so half of it should not be on disk; if that fails the reader
     * steps over it.
     */
    private void cutBack() {
        try {
            writing.truncate(active.bytes);
        } catch (IOException stays) {
            closeActive();
        }
    }

    /** The key frame that was written last is kept in memory too and may be sent from there. */
    void noteCopy() {
        copyIn = active;
        copyKey = active.lastKey;
    }

    /** It was answered for. */
    void forgetCopy() {
        if (copyIn != null) {
            copyIn.answered(copyKey);
            copyIn = null;
        }
    }

    private void makeRoom(long more) throws IOException {
        while (bytes + more > cap && !segments.isEmpty()) {
            giveUp(segments.peekFirst());
        }
    }

    private void giveUp(Segment oldest) throws IOException {
        long frames = oldest.own ? oldest.frames : countFrames(oldest);
        if (oldest == active) {
            closeActive();
        }
        queue.spoolDropped(FrameQueue.SPOOL_FULL, frames, oldest.own);
        if (oldest == copyIn) {
            copyIn = null;
            keys.note(copyKey, KeyLog.LOST);
            queue.copyLost();
        } else if (oldest.own && keys.fate(oldest.lastKey) == KeyLog.UNKNOWN) {
            keys.note(oldest.lastKey, KeyLog.LOST);
        }
        closeReading();
        remove(oldest);
    }

    /** Frames of an earlier life that go unread are counted all the same. */
    private long countFrames(Segment oldest) {
        long frames = frame == null ? 0 : 1;
        try {
            if (reading == null) {
                reading = open(oldest);
            }
            while (reading.next() != null) {
                frames++;
            }
        } catch (IOException unreadable) {
            damagedBytes += oldest.bytes;
        }
        return frames;
    }

    private void closeActive() {
        SpoolFiles.close(writing);
        writing = null;
        active = null;
    }

    // Out.

    boolean isEmpty() {
        return segments.isEmpty();
    }

    /**
     * The oldest frame worth sending, or null; the same one until {@link #taken} or {@link
     * #rejected}.
     */
    byte[] next() throws IOException {
        while (frame == null && !segments.isEmpty()) {
            Segment oldest = segments.peekFirst();
            if (oldest == active) {
                closeActive();
            }
            try {
                read(oldest);
            } catch (IOException unreadable) {
                damagedBytes += oldest.bytes;
                finish(oldest);
            }
        }
        return frame;
    }

    private void read(Segment from) throws IOException {
        if (reading == null) {
            reading = open(from);
            stepped = 0;
            sawKey = false;
        }
        byte[] candidate = reading.next();
        damagedBytes += reading.skipped() - stepped;
        stepped = reading.skipped();
        if (candidate == null) {
            finish(from);
            return;
        }
        FrameHead of = FrameHead.of(candidate);
        if (of == null) {
            leave(from, FrameQueue.SPOOL_DAMAGED);
        } else if (of.isKey && from.isAnswered(of.key)) {
            seenKey = of.key;
            sawKey = true;
        } else if (!of.isKey && isUseless(of)) {
            leave(from, FrameQueue.KEY_LOST);
        } else {
            frame = candidate;
            head = of;
        }
    }

    /**
     * A delta frame without its key frame: that one is known to be lost, or the damage before this
     * frame has taken it.
     */
    private boolean isUseless(FrameHead delta) {
        byte fate = keys.fate(delta.key);
        boolean here = sawKey && seenKey == delta.key;
        return fate == KeyLog.LOST || fate == KeyLog.UNKNOWN && !here && reading.skipped() > 0;
    }

    private void leave(Segment segment, String reason) {
        queue.spoolDropped(reason, 1, segment.own);
        segment.frames -= segment.own ? 1 : 0;
    }

    /** The frame of {@link #next} was delivered. */
    void taken() {
        Segment from = segments.peekFirst();
        queue.spoolSent(frame.length, from.own);
        done(from, KeyLog.SENT);
    }

    /** The frame of {@link #next} will never be. */
    void rejected(String reason) {
        Segment from = segments.peekFirst();
        queue.spoolDropped(reason, 1, from.own);
        done(from, KeyLog.LOST);
    }

    private void done(Segment from, byte fate) {
        from.frames -= from.own ? 1 : 0;
        if (head.isKey) {
            keys.note(head.key, fate);
            copyIn = from == copyIn && head.key == copyKey ? null : copyIn;
            seenKey = head.key;
            sawKey = true;
        }
        frame = null;
    }

    /** All of a file was read: what should have been in it and was not is lost. */
    private void finish(Segment segment) throws IOException {
        copyIn = segment == copyIn ? null : copyIn;
        queue.spoolDropped(FrameQueue.SPOOL_DAMAGED, segment.frames, true);
        closeReading();
        remove(segment);
    }

    private SegmentReader open(Segment segment) throws IOException {
        closeReading();
        readingFile = FileChannel.open(segment.file, StandardOpenOption.READ,
                LinkOption.NOFOLLOW_LINKS);
        return new SegmentReader(readingFile, maxFrame);
    }

    private void closeReading() {
        SpoolFiles.close(readingFile);
        readingFile = null;
        reading = null;
        frame = null;
    }

    /**
     * Forgotten even if it cannot be deleted: sending it for ever would be worse than sending it
     * once more after a restart.
     */
    private void remove(Segment segment) throws IOException {
        segments.remove(segment);
        Files.deleteIfExists(segment.file);
        bytes -= segment.bytes; // what cannot be deleted still takes its room
    }

    // For any thread.

    long bytes() {
        return bytes;
    }

    /** Bytes that were stepped over because they were no frames. */
    long damagedBytes() {
        return damagedBytes;
    }
}
