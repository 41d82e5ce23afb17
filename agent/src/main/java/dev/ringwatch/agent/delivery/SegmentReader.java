package dev.ringwatch.agent.delivery;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.util.zip.CRC32C;

/**
 * The frames of a file, whatever else is in it: what is no whole frame with the right checksum is
 * stepped over, byte by byte to the next one that is. FORMAT.md §3: a frame says its own length and
 * checks itself.
 */
final class SegmentReader {
    /** Magic, version, check, length. */
    private static final int HEAD = 12;
    private static final int MAGIC = 'R' << 24 | 'W' << 16 | 'F' << 8 | 1;
    private static final int SCAN = 64 << 10;

    private final FileChannel file;
    private final long size;
    private final int maxFrame;
    private final ByteBuffer window = ByteBuffer.allocate(SCAN);
    private final CRC32C crc = new CRC32C();
    private long windowAt;
    private long at;
    private long skipped;
    /**
     * What may be spent on checksums of what only looks like a frame, so that no file costs more
     * than reading it a few times.
     */
    private long patience;

    SegmentReader(FileChannel file, int maxFrame) throws IOException {
        this.file = file;
        this.size = file.size();
        this.maxFrame = maxFrame;
        this.patience = 4 * size + (1 << 20);
        window.limit(0);
    }

    /** The next good frame, or null at the end. */
    byte[] next() throws IOException {
        while (at + HEAD <= size && patience > 0) {
            load(at, HEAD);
            int offset = (int) (at - windowAt);
            if (window.getInt(offset) == MAGIC) {
                byte[] frame = frame(Integer.reverseBytes(window.getInt(offset + 8)));
                if (frame != null) {
                    at += frame.length;
                    return frame;
                }
            }
            at++;
            skipped++;
        }
        skipped += size - at;
        at = size;
        return null;
    }

    /** Bytes so far that were no frames. */
    long skipped() {
        return skipped;
    }

    private byte[] frame(int length) throws IOException {
        if (length < HEAD || length > maxFrame || length > size - at) {
            return null;
        }
        byte[] frame = new byte[length];
        ByteBuffer into = ByteBuffer.wrap(frame);
        while (into.hasRemaining()) {
            if (file.read(into, at + into.position()) < 0) {
                return null; // somebody has cut it since
            }
        }
        crc.reset();
        crc.update(frame, 8, length - 8);
        if ((int) crc.getValue() != FrameHead.u32(frame, 4)) {
            patience -= length;
            return null;
        }
        return frame;
    }

    private void load(long from, int bytes) throws IOException {
        if (from >= windowAt && from + bytes <= windowAt + window.limit()) {
            return;
        }
        window.clear();
        windowAt = from;
        while (window.position() < bytes) {
            if (file.read(window, from + window.position()) < 0) {
                throw new IOException("the file was cut while it was read");
            }
        }
        window.flip();
    }
}
