package dev.ringwatch.agent.cassandra;

import com.codahale.metrics.Metric;
import dev.ringwatch.agent.frame.Template;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * All entities of one type, with their columns, and the activity gate.
 *
 * <p>For tables a pass first takes a sum of the counts of {@link #GATE}. A row whose sum stands still is skipped but for
 * its rare turn, which catches what moves without them. A row that moved is read on that pass and the next two: a
 * request's last effects come after its count. What walks SSTables or the disk is read when the row's SSTables have
 * changed and in its turn.
 */
final class FamilyTable {
    /** Moves when a table is read, written, flushed, compacted or gets or loses SSTables some other way. */
    static final String[] GATE = {
        "ReadLatency", "WriteLatency", "RangeLatency", "CoordinatorReadLatency", "CoordinatorScanLatency",
        "CoordinatorWriteLatency", "DroppedMutations", "MemtableSwitchCount", "BytesFlushed", "CompactionBytesWritten", "LiveDiskSpaceUsed",
    };
    /** From here on in {@link #GATE} a change means other SSTables. */
    private static final int FILES = 8;
    private static final byte AFTERGLOW = 2;
    /** Minutes between two looks at the slow columns of a table whose SSTables stay: at 5 s and 1,000 tables two tables a pass, of 50 kB of garbage each. */
    private static final int SLOW_TURN = 60;

    static final class Row extends Template.Entity {
        final int number;
        final String[] values;
        int sources;
        /** The pass in which this entity began, so that its metrics, replaced one by one, are one new entity. */
        long bornIn;

        Row(int number, String[] values) {
            this.number = number;
            this.values = values;
        }
    }

    final Template template;
    private final boolean gated;
    private final Map<String, Column> columns = new HashMap<>();
    private final List<Column> fast = new ArrayList<>();
    private final List<Column> slow = new ArrayList<>();
    private final Map<String, Row> byLabels = new HashMap<>();
    private Row[] rows = new Row[8];
    private int rowCount;
    private int[] free = new int[8];
    private int freeCount;

    private Object[] gates = new Object[8 * GATE.length];
    private long[] gateSum = new long[8];
    /** Of a table its counts from {@link #FILES} on, of others the changes of SSTables they have seen. */
    private long[] filesSum = new long[8];
    private byte[] glow = new byte[8];
    /** 0, or how many passes until the slow columns are read, which is done at 1: files come and go a little after their counts. */
    private byte[] slowIn = new byte[8];
    /** Not yet read in full since it appeared. */
    private boolean[] fresh = new boolean[8];

    FamilyTable(Template template) {
        this.template = template;
        this.gated = template.type.equals("table") || template.type.equals("index_table");
    }

    Column column(String metric) {
        return columns.get(metric);
    }

    void addColumn(String metric, Column column) {
        column.grow(rows.length);
        columns.put(metric, column);
        (column.slow ? slow : fast).add(column);
    }

    Row row(String[] values) {
        return byLabels.get(key(values));
    }

    Row addRow(String[] values, long pass) {
        int number = freeCount > 0 ? free[--freeCount] : rowCount++;
        if (number == rows.length) {
            grow(rows.length * 2);
        }
        Row row = new Row(number, values);
        rows[number] = row;
        byLabels.put(key(values), row);
        template.addEntity(row, values);
        begin(row, pass);
        return row;
    }

    /** Dropped and created again under the same name: a removal and an addition. Its other sources stay. */
    void renew(Row row, long pass) {
        if (row.bornIn == pass) {
            return;
        }
        template.removeEntity(row.slot());
        template.addEntity(row, row.values);
        begin(row, pass);
        for (Column column : columns.values()) {
            column.forget(row.number);
        }
    }

    private void begin(Row row, long pass) {
        row.bornIn = pass;
        fresh[row.number] = true;
        gateSum[row.number] = -1;
        filesSum[row.number] = -1;
        slowIn[row.number] = 1;
    }

    void removeRow(Row row) {
        template.removeEntity(row.slot());
        byLabels.remove(key(row.values));
        rows[row.number] = null;
        for (int g = 0; g < GATE.length; g++) {
            gates[row.number * GATE.length + g] = null;
        }
        if (freeCount == free.length) {
            free = Arrays.copyOf(free, freeCount * 2);
        }
        free[freeCount++] = row.number;
    }

    /** A metric is gone, and with its last one its entity. */
    void uninstall(Row row, String metric, Column column) {
        column.uninstall(row.number);
        column.out.absent(row.slot());
        gate(row, metric, null);
        if (--row.sources == 0) {
            removeRow(row);
        }
    }

    /** Uninstalls all but the metrics that are there. */
    void keepOnly(Set<Metric> there) {
        for (Map.Entry<String, Column> entry : columns.entrySet()) {
            for (int r = 0; r < rowCount; r++) {
                Metric registered = entry.getValue().registered[r];
                if (registered != null && !there.contains(registered)) {
                    uninstall(rows[r], entry.getKey(), entry.getValue());
                }
            }
        }
    }

    /** Called after a metric came or went. */
    void gate(Row row, String metric, Metric source) {
        if (!gated) {
            return;
        }
        for (int g = 0; g < GATE.length; g++) {
            if (GATE[g].equals(metric)) {
                gates[row.number * GATE.length + g] = source == null ? null : Internals.counted(source, true);
            }
        }
    }

    /**
     * @param minute passes in a minute: an idle table is read in one of them. Slow columns are read when SSTables have changed, those
     *     that are no tables' in one pass of a minute, and without a change in one of {@link #SLOW_TURN} times as many
     * @return how many values could not be had
     */
    int sample(long pass, int minute, SlowLane lane) {
        int errors = 0;
        int rareTurns = minute * SLOW_TURN;
        for (int r = 0; r < rowCount; r++) {
            Row row = rows[r];
            if (row == null) {
                continue;
            }
            boolean moved = !gated || moved(r, lane);
            boolean turn = (pass + r) % minute == 0;
            boolean slowNow = !slow.isEmpty() && ((pass + r) % rareTurns == 0
                    || (gated ? slowDue(r) && lane.take() : turn && filesSum[r] != lane.changes));
            if (!moved && !turn && !fresh[r] && !slowNow) {
                continue;
            }
            int slot = row.slot();
            for (int c = 0, n = fast.size(); c < n; c++) {
                errors += fast.get(c).sample(r, slot) ? 0 : 1;
            }
            if (slowNow) {
                for (int c = 0, n = slow.size(); c < n; c++) {
                    errors += slow.get(c).sample(r, slot) ? 0 : 1;
                }
                slowIn[r] = 0;
                if (!gated) {
                    filesSum[r] = lane.changes;
                }
            }
            fresh[r] = false;
        }
        return errors;
    }

    private boolean slowDue(int r) {
        if (slowIn[r] > 1) {
            slowIn[r]--;
            return false;
        }
        return slowIn[r] == 1;
    }

    private boolean moved(int r, SlowLane lane) {
        long sum = 0;
        long files = 0;
        for (int g = 0, at = r * GATE.length; g < GATE.length; g++, at++) {
            if (gates[at] != null) {
                long count = Column.count(gates[at]);
                sum = sum * 31 + count; // so that two changes do not cancel out
                files = g >= FILES ? files * 31 + count : 0;
            }
        }
        if (files != filesSum[r]) {
            filesSum[r] = files;
            lane.changes++;
            if (slowIn[r] == 0) {
                slowIn[r] = AFTERGLOW + 1;
            }
        }
        if (sum != gateSum[r]) {
            gateSum[r] = sum;
            glow[r] = AFTERGLOW;
            return true;
        }
        if (glow[r] > 0) {
            glow[r]--;
            return true;
        }
        return false;
    }

    private void grow(int capacity) {
        rows = Arrays.copyOf(rows, capacity);
        gates = Arrays.copyOf(gates, capacity * GATE.length);
        gateSum = Arrays.copyOf(gateSum, capacity);
        filesSum = Arrays.copyOf(filesSum, capacity);
        slowIn = Arrays.copyOf(slowIn, capacity);
        glow = Arrays.copyOf(glow, capacity);
        fresh = Arrays.copyOf(fresh, capacity);
        for (Column column : columns.values()) {
            column.grow(capacity);
        }
    }

    private static String key(String[] values) {
        return String.join("\0", values);
    }

    /** What the families share so that slow values are read when they can have changed, and not a thousand tables' in one pass. */
    static final class SlowLane {
        private static final int PER_PASS = 64;
        private int left;
        /** How often SSTables of any table have changed: what is summed over tables is read again only then. */
        private long changes;

        void refill() {
            left = PER_PASS;
        }

        boolean take() {
            return left-- > 0;
        }
    }
}
