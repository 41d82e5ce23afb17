package dev.ringwatch.agent.host;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class HostNameTest {
    @TempDir Path dir;

    @Test
    void isTheKernels() {
        assertFalse(HostName.read().isEmpty());
    }

    @Test
    void isOneShortLineOrEmpty() throws IOException {
        Path file = dir.resolve("hostname");
        assertEquals("", HostName.read(file), "there is no file");
        Files.writeString(file, "db-7.example.org\n");
        assertEquals("db-7.example.org", HostName.read(file));
        Files.writeString(file, "(none)\n");
        assertEquals("", HostName.read(file));
        Files.writeString(file, "x".repeat(9000));
        assertEquals(255, HostName.read(file).length());
    }
}
