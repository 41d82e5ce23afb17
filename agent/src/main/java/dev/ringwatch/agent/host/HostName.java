package dev.ringwatch.agent.host;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;

/** The machine's name as its kernel has it: reading it asks no name server, which may hang. */
public final class HostName {
    private static final Path FILE = Path.of("/proc/sys/kernel/hostname");
    /** Linux allows 64 bytes. */
    private static final int MAX_BYTES = 255;

    private HostName() {}

    /** An empty text where it cannot be read. */
    public static String read() {
        return read(FILE);
    }

    static String read(Path file) {
        try (InputStream in = Files.newInputStream(file)) {
            String name = new String(in.readNBytes(MAX_BYTES), StandardCharsets.UTF_8).trim();
            return name.equals("(none)") ? "" : name; // what the kernel has before anybody names it
        } catch (IOException | SecurityException unread) {
            return "";
        }
    }
}
