package dev.ringwatch.agent.pull;

import java.util.Arrays;
import java.util.zip.CRC32;
import java.util.zip.Deflater;

/**
 * A piece of a page, deflated so that pieces can be strung together: it ends at a byte and needs
 * nothing before it.
 */
final class Chunk {
    final byte[] deflated;
    final int rawLength;
    final int crc;

    private Chunk(byte[] deflated, int rawLength, int crc) {
        this.deflated = deflated;
        this.rawLength = rawLength;
        this.crc = crc;
    }

    /** Makes chunks; holds a Deflater's 256 KiB outside of the heap and a buffer. */
    static final class Maker {
        /** The fastest level: 1,000 busy tables are 24 MB of text, of which it leaves 1.6 MB. */
        private final Deflater deflater = new Deflater(Deflater.BEST_SPEED, true);
        private final CRC32 crc = new CRC32();
        private byte[] out = new byte[16 * 1024];

        Chunk make(Text text) {
            crc.reset();
            crc.update(text.array(), 0, text.length());
            deflater.reset();
            deflater.setInput(text.array(), 0, text.length());
            int length = 0;
            for (;;) {
                length += deflater.deflate(out, length, out.length - length, Deflater.SYNC_FLUSH);
                if (length < out.length) { // room was left: it is all there
                    break;
                }
                out = Arrays.copyOf(out, out.length * 2);
            }
            return new Chunk(Arrays.copyOf(out, length), text.length(), (int) crc.getValue());
        }

        void end() {
            deflater.end();
        }
    }
}
