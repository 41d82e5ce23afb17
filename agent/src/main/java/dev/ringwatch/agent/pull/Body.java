package dev.ringwatch.agent.pull;

import java.nio.ByteBuffer;
import java.util.zip.DataFormatException;
import java.util.zip.Inflater;

/**
 * A page on its way to one reader, a buffer at a time. Plain text is inflated on the way: pages
 * exist deflated only.
 */
final class Body {
    private static final byte[] HEADER = {0x1f, (byte) 0x8b, 8, 0, 0, 0, 0, 0, 0, (byte) 255};

    private final Page page;
    private final byte[] trailer;
    private final Inflater inflater;
    private int chunk;
    private int at;
    /** Of gzip: 0 the header, 1 the pieces, 2 the trailer, 3 nothing more. */
    private int part;

    Body(Page page, boolean gzip) {
        this.page = page;
        inflater = gzip ? null : new Inflater(true);
        trailer = new byte[Page.GZIP_TRAILER];
        trailer[0] = 3; // last block, fixed codes, its end
        for (int i = 0; i < 4; i++) {
            trailer[2 + i] = (byte) (page.crc >>> 8 * i);
            trailer[6 + i] = (byte) (page.rawLength >>> 8 * i);
        }
    }

    long length() {
        return inflater == null ? page.gzipLength : page.rawLength;
    }

    /** Appends what has room; false when there was nothing left to append. */
    boolean fill(ByteBuffer buffer) throws DataFormatException {
        int before = buffer.position();
        if (inflater != null) {
            inflate(buffer);
        } else {
            while (part < 3 && buffer.hasRemaining()) {
                byte[] from = part == 0 ? HEADER : part == 2 ? trailer : chunk < page.chunks.length
                        ? page.chunks[chunk].deflated : trailer;
                if (part == 1 && chunk == page.chunks.length) {
                    part = 2;
                    continue;
                }
                int n = Math.min(buffer.remaining(), from.length - at);
                buffer.put(from, at, n);
                at += n;
                if (at == from.length) {
                    at = 0;
                    if (part == 1) {
                        chunk++;
                    } else {
                        part++;
                    }
                }
            }
        }
        return buffer.position() > before;
    }

    private void inflate(ByteBuffer buffer) throws DataFormatException {
        while (buffer.hasRemaining()) {
            int n = inflater.inflate(buffer.array(), buffer.arrayOffset() + buffer.position(),
                    buffer.remaining());
            buffer.position(buffer.position() + n);
            if (n == 0) {
                if (chunk == page.chunks.length) {
                    return;
                }
                inflater.setInput(page.chunks[chunk++].deflated);
            }
        }
    }

    /** Frees what is not on the heap. */
    void end() {
        if (inflater != null) {
            inflater.end();
        }
    }
}
