package dev.ringwatch.agent.pull;

/**
 * What is known after one pass, in one format: immutable, so that a slow reader keeps its own while
 * newer ones are made.
 */
final class Page {
    /**
     * Header of RFC 1952, with no time and no name; the deflated pieces; an empty last block; CRC
     * and length.
     */
    static final int GZIP_HEADER = 10;
    static final int GZIP_TRAILER = 2 + 8;

    final Chunk[] chunks;
    final long rawLength;
    final long gzipLength;
    final int crc;

    Page(Chunk[] chunks) {
        this.chunks = chunks;
        long raw = 0;
        long deflated = 0;
        int sum = 0;
        for (Chunk chunk : chunks) {
            raw += chunk.rawLength;
            deflated += chunk.deflated.length;
            sum = Crc.append(sum, chunk.crc, chunk.rawLength);
        }
        rawLength = raw;
        gzipLength = GZIP_HEADER + deflated + GZIP_TRAILER;
        crc = sum;
    }
}
