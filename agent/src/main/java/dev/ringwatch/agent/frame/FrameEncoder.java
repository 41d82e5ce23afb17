package dev.ringwatch.agent.frame;

import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.UUID;
import java.util.zip.CRC32C;

/**
 * Writes frames of one node. Remembers the key frame that delta frames refer to; the caller says
 * which it wants and keeps the promises of FORMAT.md §8 about time.
 */
public final class FrameEncoder {
    /** Of FORMAT.md §1. */
    public static final long WINDOW_MS = 300_000;

    private static final int CHECK_AT = 4;
    private static final int LENGTH_AT = 8;
    /** In the header's packing. */
    private static final int HAS_EVENTS = 0x80;
    /** Of FORMAT.md §6. */
    public static final int MAX_EVENT_BYTES = 65_536;

    private final UUID node;
    private final byte[] cluster;
    private final long interval;
    private final Compressor compressor;
    private final PayloadWriter writer = new PayloadWriter();
    private final Bytes payload = new Bytes(16 * 1024);
    private final Bytes frame = new Bytes(16 * 1024);
    private final CRC32C crc = new CRC32C();
    private byte[] compressed = new byte[16 * 1024];
    private long keyAt;
    private int keyCheck;
    private List<Event> events = List.of();

    /** @param compressor null sends payloads as they are */
    public FrameEncoder(UUID node, String cluster, long interval, Compressor compressor) {
        this.node = node;
        this.cluster = cluster.getBytes(StandardCharsets.UTF_8);
        this.interval = interval;
        this.compressor = compressor;
    }

    /**
     * What the next frame says of what happened, by ascending time, none of it after the frame;
     * only that frame.
     */
    public void carry(List<Event> happened) {
        events = happened;
    }

    /** A frame that stands alone, which later delta frames of its window refer to. */
    public Bytes key(Model model, long started, long sequence, long at, long cost) {
        model.beginKeyFrame();
        payload.clear();
        writer.events(events, at, payload);
        writer.write(model, true, payload);
        model.endKeyFrame();
        keyAt = at;
        keyCheck = header(started, sequence, at, 0, cost);
        return frame;
    }

    /** Everything that differs from the last key frame, which must be of the same window. */
    public Bytes delta(Model model, long started, long sequence, long at, long cost) {
        if (at <= keyAt || at / WINDOW_MS != keyAt / WINDOW_MS || model.needsKeyFrame()) {
            throw new IllegalStateException("this frame must be a key frame");
        }
        payload.clear();
        writer.events(events, at, payload);
        writer.write(model, false, payload);
        header(started, sequence, at, at - keyAt, cost);
        return frame;
    }

    /** Bytes of the last frame's payload before compression. */
    public int rawLength() {
        return payload.length();
    }

    private int header(long started, long sequence, long at, long keyAge, long cost) {
        int size = compress(keyAge == 0);
        frame.clear();
        frame.u8('R');
        frame.u8('W');
        frame.u8('F');
        frame.u8(1);
        frame.u32(0);
        frame.u32(0);
        frame.u8((size > 0 ? compressor.id() : 0) | (events.isEmpty() ? 0 : HAS_EVENTS));
        events = List.of();
        frame.u64BigEndian(node.getMostSignificantBits());
        frame.u64BigEndian(node.getLeastSignificantBits());
        frame.uvarint(cluster.length);
        frame.bytes(cluster, cluster.length);
        frame.uvarint(started);
        frame.uvarint(sequence);
        frame.uvarint(at);
        frame.uvarint(interval);
        frame.uvarint(keyAge);
        if (keyAge > 0) {
            frame.u32(keyCheck);
        }
        frame.uvarint(cost);
        frame.uvarint(payload.length());
        if (size > 0) {
            frame.bytes(compressed, size);
        } else {
            frame.append(payload);
        }
        frame.patchU32(LENGTH_AT, frame.length());
        crc.reset();
        crc.update(frame.array(), LENGTH_AT, frame.length() - LENGTH_AT);
        int check = (int) crc.getValue();
        frame.patchU32(CHECK_AT, check);
        return check;
    }

    private int compress(boolean hard) {
        if (compressor == null || payload.length() == 0) {
            return 0;
        }
        if (compressed.length < payload.length()) {
            compressed = new byte[payload.length() * 2];
        }
        return compressor.compress(payload.array(), payload.length(), compressed, hard);
    }
}
