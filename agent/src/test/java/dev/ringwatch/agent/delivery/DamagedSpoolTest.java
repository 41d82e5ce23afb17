package dev.ringwatch.agent.delivery;

import static dev.ringwatch.agent.delivery.Delivery.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.TreeSet;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.RepetitionInfo;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * A spool that was damaged between two lives: every frame that is whole is sent if it can be read,
 * and nothing else is.
 */
class DamagedSpoolTest {
    private static final int FRAMES = 300;
    private static final int SPOOLS = 12;
    /** Over all spools: one alone may by chance lose nearly all of its key frames. */
    private static int readable;

    @TempDir
    Path directory;

    @RepeatedTest(SPOOLS)
    void whatIsWholeIsSent(RepetitionInfo repetition) throws Exception {
        long seed = Long.getLong("seed", System.nanoTime() + repetition.getCurrentRepetition());
        System.out.println("DamagedSpoolTest: -Dseed=" + seed);
        Random random = new Random(seed);
        Path spool = directory.resolve("spool");
        fill(spool, 4_000);
        List<byte[]> whole = new ArrayList<>();
        for (Segment segment : SpoolFiles.list(spool)) {
            byte[] damaged = damaged(split(Files.readAllBytes(segment.file)), random, whole);
            Files.write(segment.file, damaged);
        }
        Files.write(SpoolFiles.name(spool, 1L << 40), junk(random, 3_000));
        Files.write(SpoolFiles.name(spool, 0x7fff_ffffL), new byte[0]);
        Path[] foreign = {spool.resolve("ringwatch-1.spool"),
            spool.resolve("ringwatch-000000000000000G.spool"), spool.resolve("important.txt")};
        for (Path file : foreign) {
            Files.writeString(file, "not yours");
        }
        Files.createDirectory(SpoolFiles.name(spool, 3L << 40));
        Files.createSymbolicLink(SpoolFiles.name(spool, 4L << 40), foreign[2]);

        try (HostileServer server = new HostileServer();
                Delivery delivery = new Delivery(1 << 20)) {
            delivery.spool = spool;
            delivery.start(server.url());
            new TestFrames(60, 0, TestFrames.BEGIN + TestFrames.LIFE_MS).add(delivery.queue, 1);
            await(() -> delivery.ledger().sent > 0 && delivery.sender.spoolBytes() == 0);
            TreeSet<Long> expected = TestFrames.readable(whole);
            readable += expected.size();
            if (repetition.getCurrentRepetition() == SPOOLS && Long.getLong("seed") == null) {
                assertTrue(readable > SPOOLS * FRAMES / 10 && readable < SPOOLS * FRAMES,
                        readable + " frames were readable");
            }
            List<Long> got = TestFrames.inOrder(server.bodies());
            got.removeIf(pass -> pass > TestFrames.LIFE); // the one of this life
            assertEquals(TestFrames.ranges(expected), TestFrames.ranges(new TreeSet<>(got)));
            assertTrue(delivery.sender.spoolDamagedBytes() >= 3_000,
                    "counted " + delivery.sender.spoolDamagedBytes());
            assertEquals(delivery.ledger().sent - 1,
                    delivery.ledger().recovered - delivery.ledger().dropped);
            assertEquals(List.of(), delivery.said);
        }
        for (Path file : foreign) {
            assertEquals("not yours", Files.readString(file));
        }
        assertTrue(Files.isDirectory(SpoolFiles.name(spool, 3L << 40))
                && Files.isSymbolicLink(SpoolFiles.name(spool, 4L << 40)));
    }

    @Test
    void aDeltaFrameWhoseKeyFrameIsDamagedIsNotSent() throws Exception {
        Path spool = directory.resolve("spool");
        fill(spool, 4_000_000);
        Segment only = SpoolFiles.list(spool).get(0);
        List<byte[]> frames = split(Files.readAllBytes(only.file));
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        for (int i = 0; i < frames.size(); i++) {
            byte[] frame = frames.get(i).clone();
            frame[20] ^= i == 0 ? 4 : 0; // the first window's key frame
            out.write(frame);
        }
        Files.write(only.file, out.toByteArray());
        try (HostileServer server = new HostileServer();
                Delivery delivery = new Delivery(1 << 20)) {
            delivery.spool = spool;
            delivery.start(server.url());
            await(() -> delivery.ledger().recovered == FRAMES - 1
                    && delivery.sender.spoolBytes() == 0);
            assertEquals(29L, delivery.queue.dropped().get(FrameQueue.KEY_LOST));
            assertEquals(FRAMES - 30, TestFrames.inOrder(server.bodies()).size());
        }
    }

    @Test
    void damageWhileRunningIsInTheLedger() throws Exception {
        Path spool = directory.resolve("spool");
        try (HostileServer server = new HostileServer();
                Delivery delivery = new Delivery(1 << 20)) {
            delivery.spool = spool;
            delivery.spoolBytes = 16_000; // files of 4,000 bytes
            server.always = HostileServer.answer("503 Down");
            delivery.start(server.url());
            new TestFrames(30).add(delivery.queue, 90);
            await(() -> delivery.ledger().spooled == 89);
            List<Segment> there = SpoolFiles.list(spool);
            assertTrue(there.size() >= 2, there.size() + " files");
            Files.delete(there.get(0).file); // somebody tidied up
            server.always = null;
            await(() -> delivery.ledger().spooled == 0 && delivery.ledger().queued == 0);
            assertTrue(delivery.queue.dropped().get(FrameQueue.SPOOL_DAMAGED) >= 30,
                    delivery.queue.dropped().toString());
        }
    }

    @Test
    void aFileFullOfBeginningsIsReadInBoundedTime() throws Exception {
        byte[] beginnings = new byte[1 << 20];
        for (int i = 0; i + 12 <= beginnings.length; i += 12) {
            // frames of 512 KiB each
            System.arraycopy(new byte[] {'R', 'W', 'F', 1, 0, 0, 0, 0, 0, 0, 8, 0}, 0,
                    beginnings, i, 12);
        }
        Path file = Files.write(directory.resolve("file"), beginnings);
        try (java.nio.channels.FileChannel channel = java.nio.channels.FileChannel.open(file)) {
            SegmentReader reader = new SegmentReader(channel, 16 << 20);
            assertEquals(null, reader.next());
            assertEquals(beginnings.length, reader.skipped());
        }
    }

    @Test
    void fuzzedHeadersAreNoHeaders() {
        byte[] good = new TestFrames(2).next();
        assertTrue(FrameHead.of(good).isKey);
        Random random = new Random(5);
        for (int i = 0; i < 100_000; i++) {
            byte[] bad = java.util.Arrays.copyOf(good, random.nextInt(good.length));
            for (int j = 12; j < bad.length; j++) {
                bad[j] = (byte) random.nextInt();
            }
            FrameHead.of(bad); // anything but an exception
        }
    }

    private static void fill(Path spool, long queueBytes) throws Exception {
        try (HostileServer server = new HostileServer();
                Delivery delivery = new Delivery(1 << 20)) {
            delivery.spool = spool;
            delivery.spoolBytes = queueBytes == 4_000 ? 64_000 : 64 << 20; // many files or one
            server.always = HostileServer.answer("503 Down");
            delivery.start(server.url());
            new TestFrames(30).add(delivery.queue, FRAMES);
            await(() -> delivery.ledger().spooled == FRAMES - 1);
        }
    }

    private static List<byte[]> split(byte[] file) {
        List<byte[]> frames = new ArrayList<>();
        for (int at = 0; at < file.length;) {
            int length = FrameHead.u32(file, at + 8);
            frames.add(java.util.Arrays.copyOfRange(file, at, at + length));
            at += length;
        }
        return frames;
    }

    /**
     * Flips bits, cuts the tail, puts junk between; adds the frames that stay whole to {@code
     * whole}.
     */
    private static byte[] damaged(List<byte[]> frames, Random random, List<byte[]> whole)
            throws Exception {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        int cut = random.nextInt(3) == 0 ? random.nextInt(frames.size()) : -1;
        for (int i = 0; i < frames.size(); i++) {
            byte[] frame = frames.get(i);
            if (random.nextInt(12) == 0) {
                out.write(junk(random, random.nextInt(200)));
            }
            if (i == cut) {
                out.write(frame, 0, random.nextInt(frame.length));
                break;
            }
            if (random.nextInt(10) == 0) {
                byte[] flipped = frame.clone();
                flipped[random.nextInt(frame.length)] ^= 1 << random.nextInt(8);
                out.write(flipped);
            } else {
                out.write(frame);
                whole.add(frame);
            }
        }
        return out.toByteArray();
    }

    private static byte[] junk(Random random, int length) {
        byte[] junk = new byte[length];
        random.nextBytes(junk);
        for (int i = 0; i + 12 < length; i += 1 + random.nextInt(60)) {
            System.arraycopy(new byte[] {'R', 'W', 'F', 1, 9, 9, 9, 9, (byte) random.nextInt(100),
                    0, 0, 0}, 0, junk, i, 12);
        }
        return junk;
    }
}
