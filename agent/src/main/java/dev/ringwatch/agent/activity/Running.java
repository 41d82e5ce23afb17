package dev.ringwatch.agent.activity;

import dev.ringwatch.agent.filter.Filters;
import dev.ringwatch.agent.frame.Kind;
import dev.ringwatch.agent.frame.Model;
import java.util.Arrays;
import java.util.BitSet;
import java.util.HashMap;
import java.util.Iterator;
import java.util.Map;
import java.util.function.Supplier;

/**
 * What runs of one type: tasks, or streams. A pass says {@link #begin}, {@link #see} of each, and
 * {@link #end}, which ends the entities of those that were not seen.
 *
 * <p>An entity's label {@code slot} is the lowest number that nothing alike has, so that a node
 * which compacts a table a thousand times a day has a handful of series of it and not a thousand.
 */
final class Running {
    static final int MAX = 64;

    private static final class Run {
        final Rows.Row row;
        final BitSet slots;
        final int slot;
        final Pace pace;
        boolean seen;

        Run(Rows.Row row, BitSet slots, int slot, Pace pace) {
            this.row = row;
            this.slots = slots;
            this.slot = slot;
            this.pace = pace;
        }
    }

    private final Rows rows;
    private final int doneBytes;
    private final int sizeBytes;
    private final int doneFiles;
    private final int files;
    private final int ratio;
    private final int started;
    private final int remaining;
    private final int info;
    private final Map<Object, Run> runs = new HashMap<>();
    /** By the label values of what is alike. */
    private final Map<String, BitSet> slots = new HashMap<>();
    private long nowMs;
    private long nanos;

    /** @param hasFiles it moves files, which are counted, too */
    Running(Model model, Filters filters, String type, boolean hasFiles, String... labels) {
        String[] all = Arrays.copyOf(labels, labels.length + 1);
        all[labels.length] = "slot";
        rows = new Rows(model, filters, type, all);
        String name = "cassandra_" + type + '_';
        doneBytes = rows.add(name + "done_bytes", Kind.GAUGE, "bytes", 0);
        sizeBytes = rows.add(name + "size_bytes", Kind.GAUGE, "bytes", 0);
        doneFiles = hasFiles ? rows.add(name + "done_files", Kind.GAUGE, "", 0) : -1;
        files = hasFiles ? rows.add(name + "files", Kind.GAUGE, "", 0) : -1;
        ratio = rows.add(name + "done_ratio", Kind.GAUGE_DOUBLE, "ratio", 0);
        started = rows.add(name + "started_timestamp_seconds", Kind.GAUGE, "seconds", -3);
        remaining = rows.add(name + "remaining_seconds", Kind.GAUGE_DOUBLE, "seconds", 0);
        info = rows.add(name + "id_info", Kind.STRING, "", 0);
    }

    boolean isIdle() {
        return runs.isEmpty();
    }

    void begin(long clockMs, long clockNanos) {
        nowMs = clockMs;
        nanos = clockNanos;
        for (Run run : runs.values()) {
            run.seen = false;
        }
    }

    /**
     * @param key what tells it from others while it runs
     * @param id asked once
     * @param bytes whether what is done counts bytes
     * @return false if there are too many to show it
     */
    boolean see(Object key, Supplier<String> id, boolean bytes, long done, long size,
            String... labels) {
        Run run = runs.get(key);
        if (run == null) {
            if (runs.size() >= MAX) {
                return false;
            }
            run = start(id.get(), done, labels);
            runs.put(key, run);
        }
        run.seen = true;
        run.pace.moved(nanos, done, size);
        if (bytes) {
            rows.set(run.row, doneBytes, done);
            rows.set(run.row, sizeBytes, size);
        }
        rows.setDouble(run.row, ratio, run.pace.ratio());
        rows.setDouble(run.row, remaining, run.pace.remainingSeconds());
        return true;
    }

    /** Of one that {@link #see} has shown. */
    void seeFiles(Object key, long done, long all) {
        Run run = runs.get(key);
        if (run != null) {
            rows.set(run.row, doneFiles, done);
            rows.set(run.row, files, all);
        }
    }

    private Run start(String id, long done, String[] labels) {
        BitSet taken = slots.computeIfAbsent(String.join("\0", labels), alike -> new BitSet());
        int slot = taken.nextClearBit(0);
        taken.set(slot);
        String[] values = Arrays.copyOf(labels, labels.length + 1);
        values[labels.length] = Integer.toString(slot);
        Run run = new Run(rows.begin(values), taken, slot,
                new Pace(Pace.started(id, nowMs), nowMs, nanos, done));
        rows.set(run.row, started, run.pace.startedMs());
        rows.setText(run.row, info, id);
        return run;
    }

    void clear() {
        begin(nowMs, nanos);
        end();
    }

    void end() {
        for (Iterator<Run> all = runs.values().iterator(); all.hasNext();) {
            Run run = all.next();
            if (!run.seen) {
                all.remove();
                run.slots.clear(run.slot);
                rows.end(run.row);
            }
        }
        if (runs.isEmpty()) {
            slots.clear(); // else every table that was ever compacted has an empty set here
        }
    }
}
