package dev.ringwatch.agent.frame;

import java.io.BufferedOutputStream;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * {@code EmitFrames SEED COUNT FILE [none|deflate|zstd]}: random valid frames of many nodes, one
 * after the other, for the Go side to decode and encode to the same bytes. A node's key frame
 * stands before its delta frames.
 */
public final class EmitFrames {
    private static final int FRAMES_PER_NODE = 25;

    private EmitFrames() {}

    public static void main(String[] args) throws Exception {
        long seed = Long.parseLong(args[0]);
        int count = Integer.parseInt(args[1]);
        String compression = args.length > 3 ? args[3] : "none";
        try (OutputStream out = new BufferedOutputStream(Files.newOutputStream(Path.of(args[2])))) {
            RandomNode node = null;
            for (int i = 0; i < count; i++) {
                if (i % FRAMES_PER_NODE == 0) {
                    Compressor compressor = compression.equals("zstd") ? Compressor.best()
                            : compression.equals("deflate") ? Compressor.deflate() : null;
                    node = new RandomNode(seed + i / FRAMES_PER_NODE, compressor);
                }
                Bytes frame = node.next();
                out.write(frame.array(), 0, frame.length());
            }
        }
    }
}
