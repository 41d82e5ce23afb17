package dev.ringwatch.agent.activity;

import dev.ringwatch.agent.filter.Filters;
import dev.ringwatch.agent.frame.Kind;
import dev.ringwatch.agent.frame.Model;
import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.NotDirectoryException;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * Snapshots, as they lie on the disk: the same in each version, and those of tables that were
 * dropped are the ones that nobody remembers. A table's are looked at again when its directory of
 * them has changed.
 */
final class Snapshots {
    /**
     * Files looked at of one table's directory, and of all in one turn before the last one begins;
     * the next turn goes on with the directories that are left.
     */
    static final int MAX_FILES = 200_000;
    private static final int MAX_TABLES = 20_000;
    /** One that is this young may be in the making. */
    private static final long SETTLED_MS = 60_000;

    /** Of one table's directory; a node with several data directories has as many of a table. */
    private static final class Held {
        long changed = -1;
        boolean settled;
        final Map<String, Long> createdByName = new HashMap<>();
        long bytes;
        int turn;
    }

    /** Of one table. Times are milliseconds since 1970. */
    static final class Found {
        final String keyspace;
        final String table;
        final Map<String, Long> createdByName = new TreeMap<>();
        long bytes;
        boolean bytesKnown = true;

        Found(String keyspace, String table) {
            this.keyspace = keyspace;
            this.table = table;
        }

        long oldest() {
            return createdByName.values().stream().mapToLong(Long::longValue).min().orElse(0);
        }

        long newest() {
            return createdByName.values().stream().mapToLong(Long::longValue).max().orElse(0);
        }
    }

    private final Map<Path, Held> held = new HashMap<>();
    private final int maxFiles;
    private int turn;
    private int filesLeft;
    private int looked;

    Snapshots(int maxFiles) {
        this.maxFiles = maxFiles;
    }

    /** How many directories the last turn has looked at: what it costs. */
    int looked() {
        return looked;
    }

    /** By keyspace and table; only tables that have some. */
    Map<String, Found> read(List<String> directories, long nowMs) {
        turn++;
        filesLeft = maxFiles;
        looked = 0;
        Map<String, Found> all = new TreeMap<>();
        for (String directory : directories) {
            each(Paths.get(directory), keyspace -> each(keyspace, table -> {
                if (++looked <= MAX_TABLES) {
                    look(keyspace, table, nowMs, all);
                }
            }));
        }
        held.values().removeIf(of -> of.turn != turn);
        return all;
    }

    private interface Visit {
        void visit(Path directory) throws IOException;
    }

    private static void each(Path directory, Visit visit) {
        try (DirectoryStream<Path> stream = Files.newDirectoryStream(directory)) {
            for (Path path : stream) {
                try {
                    visit.visit(path);
                } catch (IOException | RuntimeException gone) {
                    continue;
                }
            }
        } catch (IOException | RuntimeException noDirectory) { // a file, or just deleted
            return;
        }
    }

    private void look(Path keyspace, Path table, long nowMs, Map<String, Found> all)
            throws IOException {
        Path snapshots = table.resolve("snapshots");
        long changed;
        try {
            changed = Files.readAttributes(snapshots, BasicFileAttributes.class,
                    LinkOption.NOFOLLOW_LINKS).lastModifiedTime().toMillis();
        } catch (NoSuchFileException | NotDirectoryException none) {
            return;
        }
        Held of = held.computeIfAbsent(snapshots, s -> new Held());
        of.turn = turn;
        if (of.changed != changed || !of.settled) {
            list(snapshots, of, nowMs);
            of.changed = changed;
            of.settled = measure(snapshots, of)
                    && of.createdByName.values().stream().allMatch(at -> at < nowMs - SETTLED_MS);
        }
        if (of.createdByName.isEmpty()) {
            return;
        }
        String name = table.getFileName().toString();
        int dash = name.indexOf('-');
        String ks = Rows.label(keyspace.getFileName().toString(), "?");
        String tb = Rows.label(dash > 0 ? name.substring(0, dash) : name, "?");
        Found found = all.computeIfAbsent(Replicated.key(ks, tb), k -> new Found(ks, tb));
        of.createdByName.forEach((tag, at) -> found.createdByName.merge(tag, at, Math::min));
        found.bytesKnown &= of.bytes >= 0;
        found.bytes += of.bytes;
    }

    private static void list(Path snapshots, Held into, long nowMs) {
        into.createdByName.clear();
        each(snapshots, snapshot -> {
            BasicFileAttributes of =
                    Files.readAttributes(snapshot, BasicFileAttributes.class);
            if (of.isDirectory()) {
                long at = of.lastModifiedTime().toMillis();
                try {
                    at = Files.getLastModifiedTime(snapshot.resolve("manifest.json")).toMillis();
                } catch (IOException noManifest) { // an ephemeral one of a repair, or in the making
                    at = Math.min(at, nowMs);
                }
                into.createdByName.put(snapshot.getFileName().toString(), at);
            }
        });
    }

    /**
     * False if this turn had no room to begin with it. One that has too many files for a turn has
     * no size, and does not keep others from theirs.
     */
    private boolean measure(Path snapshots, Held of) {
        of.bytes = -1;
        if (filesLeft <= 0) {
            return false;
        }
        long[] sum = {0};
        int[] left = {maxFiles};
        each(snapshots, snapshot -> each(snapshot, file -> {
            if (left[0] > 0) {
                add(file, sum, left);
            }
        }));
        filesLeft -= maxFiles - left[0];
        if (left[0] > 0) {
            of.bytes = sum[0];
        }
        return true;
    }

    /** A file, or the directory of a secondary index. */
    private static void add(Path file, long[] sum, int[] left) throws IOException {
        left[0]--;
        BasicFileAttributes of = Files.readAttributes(file, BasicFileAttributes.class,
                LinkOption.NOFOLLOW_LINKS);
        if (!of.isDirectory()) {
            sum[0] += of.size();
            return;
        }
        each(file, inner -> {
            if (left[0]-- > 0) {
                sum[0] += Files.size(inner);
            }
        });
    }

    /** As the model has them. */
    static final class Tables {
        private final Rows rows;
        private final int count;
        private final int oldest;
        private final int newest;
        private final int size;
        private final int max;
        private final Map<String, Rows.Row> shown = new HashMap<>();
        private long leftOut;

        Tables(Model model, Filters filters, int max) {
            rows = new Rows(model, filters, "snapshot", "keyspace", "table");
            count = rows.add("cassandra_snapshots", Kind.GAUGE, "", 0);
            oldest = rows.add("cassandra_snapshot_oldest_timestamp_seconds", Kind.GAUGE,
                    "seconds", -3);
            newest = rows.add("cassandra_snapshot_newest_timestamp_seconds", Kind.GAUGE,
                    "seconds", -3);
            size = rows.add("cassandra_snapshot_size_bytes", Kind.GAUGE, "bytes", 0);
            this.max = max;
        }

        void show(Map<String, Found> all) {
            shown.entrySet().removeIf(entry -> {
                boolean gone = !all.containsKey(entry.getKey());
                if (gone) {
                    rows.end(entry.getValue());
                }
                return gone;
            });
            leftOut = 0;
            for (Map.Entry<String, Found> entry : all.entrySet()) {
                Found found = entry.getValue();
                Rows.Row row = shown.get(entry.getKey());
                if (row == null && rows.live() >= max) {
                    leftOut++;
                    continue;
                }
                if (row == null) {
                    row = rows.begin(found.keyspace, found.table);
                    shown.put(entry.getKey(), row);
                }
                rows.set(row, count, found.createdByName.size());
                rows.set(row, oldest, found.oldest());
                rows.set(row, newest, found.newest());
                if (found.bytesKnown) {
                    rows.set(row, size, found.bytes);
                } else {
                    rows.absent(row, size);
                }
            }
        }

        int live() {
            return rows.live();
        }

        long leftOut() {
            return leftOut;
        }
    }
}
