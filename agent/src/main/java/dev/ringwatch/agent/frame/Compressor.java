package dev.ringwatch.agent.frame;

import java.util.zip.Deflater;

/** How a payload is squeezed. The encoder sends it as it is when this does not make it smaller. */
public abstract class Compressor {
    /** The number on the wire. */
    abstract int id();

    /**
     * Bytes written to {@code to}, or 0 if they would not be fewer than {@code length}.
     *
     * @param hard for key frames, of which there is one in five minutes: smaller, for more time
     */
    abstract int compress(byte[] from, int length, byte[] to, boolean hard);

    /** zstd where the host has zstd-jni (every Cassandra since 4.0 does), deflate otherwise. */
    public static Compressor best() {
        try {
            Class.forName("com.github.luben.zstd.Zstd", true, Compressor.class.getClassLoader());
            return new Zstd();
        } catch (Throwable absent) { // no class, or its native library does not load here
            return new Deflate();
        }
    }

    public static Compressor deflate() {
        return new Deflate();
    }

    private static final class Deflate extends Compressor {
        private final Deflater deflater = new Deflater(Deflater.DEFAULT_COMPRESSION, true);

        @Override
        int id() {
            return 1;
        }

        @Override
        int compress(byte[] from, int length, byte[] to, boolean hard) {
            deflater.reset();
            deflater.setInput(from, 0, length);
            deflater.finish();
            int written = deflater.deflate(to, 0, Math.min(to.length, length - 1));
            return deflater.finished() ? written : 0;
        }
    }

    /** Loaded only after zstd-jni was seen. */
    private static final class Zstd extends Compressor {
        /** Of 1 to 22: beyond 3 a frame shrinks by a few percent for twice the time. */
        private static final int LEVEL = 3;
        /** A key frame of 1,000 tables takes 8 ms instead of 1 and is a seventh smaller. */
        private static final int HARD = 15;

        private final com.github.luben.zstd.ZstdCompressCtx context =
                new com.github.luben.zstd.ZstdCompressCtx().setLevel(LEVEL);

        @Override
        int id() {
            return 2;
        }

        @Override
        int compress(byte[] from, int length, byte[] to, boolean hard) {
            int written;
            try {
                context.setLevel(hard ? HARD : LEVEL);
                written = context.compressByteArray(to, 0, to.length, from, 0, length);
            } catch (com.github.luben.zstd.ZstdException tooLong) {
                return 0;
            }
            return written < length ? written : 0;
        }
    }
}
