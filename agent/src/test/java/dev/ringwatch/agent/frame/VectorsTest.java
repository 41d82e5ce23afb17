package dev.ringwatch.agent.frame;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;

/** The vectors that the Go side reads too: the same bytes from both. */
class VectorsTest {
    @Test
    void everyVectorEncodesToItsBytes() throws Exception {
        int frames = 0;
        try (DirectoryStream<Path> files =
                Files.newDirectoryStream(Path.of("../frame/testdata/vectors"), "*.txt")) {
            for (Path file : files) {
                List<FrameText> all = FrameText.parse(Files.readAllLines(file));
                for (FrameText frame : all) {
                    assertEquals(frame.hex.toString(), hex(frame.encode(all)),
                            file.getFileName() + ": " + frame.name);
                    frames++;
                }
            }
        }
        assertFalse(frames == 0, "no vectors found");
    }

    static String hex(byte[] bytes) {
        StringBuilder hex = new StringBuilder();
        for (byte b : bytes) {
            hex.append(String.format("%02x", b));
        }
        return hex.toString();
    }

    private static byte[] bytes(CharSequence hex) {
        byte[] bytes = new byte[hex.length() / 2];
        for (int i = 0; i < bytes.length; i++) {
            bytes[i] = (byte) Integer.parseInt(hex.subSequence(2 * i, 2 * i + 2).toString(), 16);
        }
        return bytes;
    }
}
