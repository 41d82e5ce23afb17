package dev.ringwatch.agent.delivery;

/**
 * As much of a frame's header (FORMAT.md §3) as delivery needs: which frames can be read without
 * which.
 */
final class FrameHead {
    private static final int NODE_AT = 13;

    /** Names a key frame: its own check, or in a delta frame that of the key frame it refers to. */
    final int key;
    final boolean isKey;

    private FrameHead(int key, boolean isKey) {
        this.key = key;
        this.isKey = isKey;
    }

    /** Null if the header is none. */
    static FrameHead of(byte[] frame) {
        try {
            int[] at = {NODE_AT + 16};
            long cluster = uvarint(frame, at);
            if (cluster > 255) {
                return null;
            }
            at[0] += (int) cluster;
            uvarint(frame, at); // started
            uvarint(frame, at); // sequence
            uvarint(frame, at); // at
            uvarint(frame, at); // interval
            boolean isKey = uvarint(frame, at) == 0;
            return new FrameHead(u32(frame, isKey ? 4 : at[0]), isKey);
        } catch (ArrayIndexOutOfBoundsException cut) {
            return null;
        }
    }

    static int u32(byte[] from, int at) {
        return from[at] & 0xFF | (from[at + 1] & 0xFF) << 8 | (from[at + 2] & 0xFF) << 16
                | from[at + 3] << 24;
    }

    private static long uvarint(byte[] from, int[] at) {
        long value = 0;
        for (int shift = 0; shift < 70; shift += 7) {
            byte b = from[at[0]++];
            value |= (long) (b & 0x7F) << shift;
            if (b >= 0) {
                return value & Long.MAX_VALUE;
            }
        }
        throw new ArrayIndexOutOfBoundsException();
    }
}
