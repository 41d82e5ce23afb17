package dev.ringwatch.agent.activity;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.ringwatch.agent.filter.Filters;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class SnapshotsTest {
    private static final String ID = "-8ea9b410b6e611f18080808080808080";

    @TempDir
    private Path data;
    private final long now = System.currentTimeMillis();
    private final Snapshots snapshots = new Snapshots(Snapshots.MAX_FILES);
    private final ModelUnderTest under = new ModelUnderTest();
    private final Snapshots.Tables tables = new Snapshots.Tables(under.model, Filters.NONE, 1000);

    @BeforeEach
    void makeWhatHasNone() throws IOException {
        Files.createDirectories(data.resolve("ks/none" + ID));
        Files.writeString(data.resolve("ks/none" + ID + "/nb-1-big-Data.db"), "live");
        Files.writeString(data.resolve("a file"), "");
    }

    private void snapshot(String keyspace, String table, String tag, int bytes, long at)
            throws IOException {
        Path directory = data.resolve(keyspace + '/' + table + "/snapshots/" + tag);
        Files.createDirectories(directory.resolve(".index"));
        Files.write(directory.resolve("nb-1-big-Data.db"), new byte[bytes]);
        Files.write(directory.resolve(".index/nb-1-big-Data.db"), new byte[1]);
        Path manifest = Files.write(directory.resolve("manifest.json"), new byte[0]);
        Files.setLastModifiedTime(manifest, FileTime.fromMillis(at));
    }

    private Map<String, String> read() {
        tables.show(snapshots.read(List.of(data.toString(), data + "/not there"), now));
        return under.values();
    }

    @Test
    void tellsOfEachTable() throws IOException {
        assertEquals(Map.of(), read());
        snapshot("ks", "t" + ID, "first", 10, now - 5_000_000);
        snapshot("ks", "t" + ID, "second", 20, now - 1_000_000);
        // one of a table of that name that was dropped
        snapshot("ks", "t" + ID.replace('9', '1'), "dropped-1-t", 30, now - 9_000_000);
        assertEquals(Map.of("cassandra_snapshots|ks|t", "3",
                "cassandra_snapshot_oldest_timestamp_seconds|ks|t", Long.toString(now - 9_000_000),
                "cassandra_snapshot_newest_timestamp_seconds|ks|t", Long.toString(now - 1_000_000),
                "cassandra_snapshot_size_bytes|ks|t", "63"), read());
        for (Path path : List.of(data.resolve("ks/t" + ID.replace('9', '1')),
                data.resolve("ks/t" + ID + "/snapshots/first"))) {
            try (var all = Files.walk(path)) {
                all.sorted(java.util.Comparator.reverseOrder()).forEach(file -> file.toFile()
                        .delete());
            }
        }
        assertEquals("1", read().get("cassandra_snapshots|ks|t"));
        assertEquals("21", read().get("cassandra_snapshot_size_bytes|ks|t"));
    }

    /** One in the making grows, and its directory of snapshots stays as it is. */
    @Test
    void looksAgainWhileOneIsYoung() throws IOException {
        snapshot("ks", "t" + ID, "young", 10, now - 1000);
        assertEquals("11", read().get("cassandra_snapshot_size_bytes|ks|t"));
        Files.write(data.resolve("ks/t" + ID + "/snapshots/young/nb-2-big-Data.db"), new byte[5]);
        assertEquals("16", read().get("cassandra_snapshot_size_bytes|ks|t"));
    }

    /** Wherever it stands among the others. */
    @Test
    void oneWithTooManyFilesKeepsNoOtherFromItsSize() throws IOException {
        Snapshots small = new Snapshots(20);
        for (int table = 0; table < 40; table++) {
            snapshot("ks", "t" + table + ID, "tag", 10, now - 1_000_000);
        }
        for (int file = 0; file < 100; file++) {
            Files.writeString(data.resolve("ks/t20" + ID + "/snapshots/tag/" + file), "");
        }
        for (int turn = 0; turn < 20; turn++) {
            tables.show(small.read(List.of(data.toString()), now));
        }
        assertEquals(39, under.values().keySet().stream()
                .filter(key -> key.startsWith("cassandra_snapshot_size_bytes")).count());
    }

    @Test
    void manyAreRead() throws IOException {
        Random random = new Random(2);
        for (int table = 0; table < 100; table++) {
            for (int tag = 0; tag < 20; tag++) {
                snapshot("ks" + table % 3, "t" + table + ID, "tag" + tag, random.nextInt(100),
                        now - 1_000_000 - tag);
            }
        }
        long began = System.nanoTime();
        read();
        long first = System.nanoTime() - began;
        began = System.nanoTime();
        Map<String, String> values = read();
        long second = System.nanoTime() - began;
        System.out.println("2,000 snapshots of 100 tables: " + first / 1000 + " us, again "
                + second / 1000 + " us");
        assertEquals(100, under.entities("snapshot"));
        assertEquals("20", values.get("cassandra_snapshots|ks0|t0"));
        assertEquals(101, snapshots.looked());
        Snapshots.Tables few = new Snapshots.Tables(new ModelUnderTest().model, Filters.NONE, 10);
        few.show(snapshots.read(List.of(data.toString()), now));
        assertEquals(90, few.leftOut());
        assertTrue(few.live() == 10);
    }

    @Test
    void oddNamesAreLabels() throws IOException {
        snapshot("ks", "no id", "tag\u001b", 1, now - 1_000_000);
        snapshot("k\u001bs", "\r-" + ID, "tag", 1, now - 1_000_000);
        Files.createDirectories(data.resolve("ks/empty" + ID + "/snapshots"));
        Files.createDirectories(data.resolve("ks/file" + ID));
        Files.writeString(data.resolve("ks/file" + ID + "/snapshots"), "a file");
        Files.createSymbolicLink(data.resolve("ks/t" + ID), data);
        read(); // holds labels to FORMAT.md
        assertEquals(2, under.entities("snapshot"));
    }
}
