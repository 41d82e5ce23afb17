package dev.ringwatch.agent.delivery;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.BufferedReader;
import java.io.File;
import java.io.InputStreamReader;
import java.nio.file.Path;
import java.util.List;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** kill -9 at any instant: what was in the spool is sent by the next life. */
class KilledTest {
    private static final int LIVES = 3;

    @TempDir
    Path directory;

    @Test
    void whatWasSpooledSurvives() throws Exception {
        try (HostileServer server = new HostileServer()) {
            server.always = HostileServer.answer("503 Down");
            long[] spooled = new long[LIVES];
            for (int life = 0; life < LIVES; life++) {
                int enough = 150 + 70 * life;
                String last = live(server, life, 100_000,
                        line -> line.startsWith("spooled ") && number(line, 1) >= enough);
                spooled[life] = number(last, 1);
            }
            server.always = null;
            live(server, LIVES, 1, line -> line.startsWith("left 0 ") && number(line, 3) > 0);
            TreeSet<Long> arrived = TestFrames.readable(server.accepted());
            for (int life = 0; life < LIVES; life++) {
                for (long pass = 1; pass <= spooled[life]; pass++) { // frames are spooled in order
                    assertTrue(arrived.contains(life * TestFrames.LIFE + pass),
                            "life " + life + ", pass " + pass + " of " + spooled[life]
                            + " spooled has arrived: " + TestFrames.ranges(arrived));
                }
            }
            assertEquals(0, SpoolFiles.list(directory).size());
        }
    }

    /** Runs one life until it says what is waited for, then kills it. */
    private String live(HostileServer server, int life, int frames, Predicate<String> until)
            throws Exception {
        Process process = new ProcessBuilder(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-Xmx64m", "-XX:+UseSerialGC", "-cp",
                compiled(FrameQueue.class) + File.pathSeparator + compiled(KilledTest.class),
                KilledAgent.class.getName(), server.url().toString(), directory.toString(),
                "" + life, "" + frames)).redirectError(ProcessBuilder.Redirect.INHERIT).start();
        Thread killer = new Thread(process::destroyForcibly);
        Runtime.getRuntime().addShutdownHook(killer);
        try (BufferedReader out =
                new BufferedReader(new InputStreamReader(process.getInputStream()))) {
            for (String line = out.readLine(); line != null; line = out.readLine()) {
                if (until.test(line)) {
                    return line;
                }
            }
            throw new AssertionError("life " + life + " ended by itself");
        } finally {
            process.destroyForcibly(); // SIGKILL
            assertTrue(process.waitFor(60, TimeUnit.SECONDS));
            Runtime.getRuntime().removeShutdownHook(killer);
        }
    }

    /** The folder that a class was loaded from: each build has its own. */
    private static Path compiled(Class<?> type) throws Exception {
        return Path.of(type.getProtectionDomain().getCodeSource().getLocation().toURI());
    }

    private static long number(String line, int word) {
        return Long.parseLong(line.split(" ")[word]);
    }
}
