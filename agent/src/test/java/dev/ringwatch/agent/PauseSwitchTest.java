package dev.ringwatch.agent;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class PauseSwitchTest {
    @TempDir Path directory;
    private Path file;
    private final List<String> said = new ArrayList<>();
    private PauseSwitch pause;

    @BeforeEach
    void begin() throws IOException {
        file = directory.resolve("agent.yaml");
        write("");
        pause = new PauseSwitch(file.toString(), false, said::add);
    }

    private void write(String more) throws IOException {
        Files.writeString(file, "listen: 127.0.0.1:9472\n" + more);
    }

    @Test
    void followsTheFileOnceItStandsStill() throws IOException {
        assertFalse(pause.look());
        write("paused: true\n");
        assertFalse(pause.look(), "it may be half written");
        assertTrue(pause.look());
        assertTrue(pause.look());
        write("paused: false # again\n");
        assertTrue(pause.look());
        assertFalse(pause.look());
        assertEquals(List.of(), said);
    }

    @Test
    void whatIsWrongChangesNothingAndIsSaidOnce() throws IOException {
        write("paused: true\n");
        pause.look();
        assertTrue(pause.look());
        write("paused: perhaps\n");
        for (int i = 0; i < 5; i++) {
            assertTrue(pause.look());
        }
        assertEquals(1, said.size(), said::toString);
        assertTrue(said.get(0).contains("must be true or false; the agent goes on"), said.get(0));
        Files.delete(file);
        for (int i = 0; i < 5; i++) {
            assertTrue(pause.look());
        }
        assertEquals(2, said.size(), said::toString);
        assertTrue(said.get(1).contains("can no longer be read"), said.get(1));
        write("");
        pause.look();
        assertFalse(pause.look());
        assertEquals(2, said.size(), said::toString);
    }

    @Test
    void aFileThatIsGoneForAMomentIsNoTrouble() throws IOException {
        Path aside = directory.resolve("aside");
        Files.move(file, aside);
        assertFalse(pause.look());
        Files.move(aside, file);
        for (int i = 0; i < 3; i++) {
            assertFalse(pause.look());
        }
        assertEquals(List.of(), said);
    }
}
