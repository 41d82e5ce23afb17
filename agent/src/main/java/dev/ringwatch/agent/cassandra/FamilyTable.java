package dev.ringwatch.agent.cassandra;

import com.codahale.metrics.Metric;
import dev.ringwatch.agent.frame.Template;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Consumer;

/**
 * All entities of one type, with their columns, and the activity gate.
 *
 * <p>For tables a pass first adds up the counts of {@link #GATE}. A row that moved is read on that
 * pass and the next two: a request's last effects come after its count. A row whose sum stands
 * still is skipped but for
 * <ul>
 * <li>its turn once a minute, when its counts are read, which cost nothing but their cache misses,
 *     and its slow gauges if it has moved since they were read last;
 * <li>its recheck, {@link #RECHECKED} rows a pass however many there are, when all is read but what
 *     {@link Naming.Rule#bySSTables follows from its SSTables}: a thousand idle tables are through
 *     in 28 minutes.
 * </ul>
 * Reading every gauge of an idle table once a minute made garbage of 4 MB a pass and took 15 ms at
 * 1,000 tables ({@code make bench-agent}).
 */
final class FamilyTable {
    /**
     * One of them moves when a table is read, written or flushed, and the last whenever its
     * SSTables are others than before: Cassandra's tracker of them does it, whether they come by
     * flush, compaction, streaming or from an operator.
     */
    static final String[] GATE = {
        "ReadLatency", "WriteLatency", "RangeLatency", "CoordinatorReadLatency",
        "CoordinatorScanLatency", "CoordinatorWriteLatency", "DroppedMutations",
        "MemtableSwitchCount", "BytesFlushed", "LiveDiskSpaceUsed",
    };
    private static final byte AFTERGLOW = 2;
    /** An idle table's gauges cost 0.1 ms and 12 kB. */
    private static final int RECHECKED = 3;

    static final class Row extends Template.Entity {
        final int number;
        final String[] values;
        int sources;
        /**
         * The pass in which this entity began, so that its metrics, replaced one by one, are one
         * new entity.
         */
        long bornIn;

        Row(int number, String[] values) {
            this.number = number;
            this.values = values;
        }
    }

    final Template template;
    private final boolean gated;
    private final Map<String, Column> columns = new HashMap<>();
    private final List<Column> counts = new ArrayList<>();
    private final List<Column> gauges = new ArrayList<>();
    private final List<Column> slow = new ArrayList<>();
    private final List<Column> bySSTables = new ArrayList<>();
    private final Map<String, Row> byLabels = new HashMap<>();
    private Row[] rows = new Row[8];
    private int rowCount;
    private int[] free = new int[8];
    private int freeCount;

    private Object[] gates = new Object[8 * GATE.length];
    private long[] gateSum = new long[8];
    private byte[] glow = new byte[8];
    /** Not yet read in full since it appeared. */
    private boolean[] fresh = new boolean[8];
    /** Has moved since its slow gauges were read. */
    private boolean[] stale = new boolean[8];
    /** Whose gate moved on this pass, or not long before. */
    private boolean[] moving = new boolean[8];
    private int recheckFrom;
    private final NodeSSTables nodeSSTables = new NodeSSTables();

    FamilyTable(Template template) {
        this.template = template;
        this.gated = template.type.equals("table");
    }

    Column column(String metric) {
        return columns.get(metric);
    }

    void addColumn(String metric, Column column) {
        column.grow(rows.length);
        columns.put(metric, column);
        (column.bySSTables ? bySSTables : column.slow ? slow : column.isGauge() ? gauges : counts)
                .add(column);
    }

    int size() {
        return byLabels.size();
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

    /**
     * Dropped and created again under the same name: a removal and an addition. Its other sources
     * stay.
     */
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
        stale[row.number] = true;
        gateSum[row.number] = -1;
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
                gates[row.number * GATE.length + g] = source == null
                        ? null : Internals.counted(source, true);
            }
        }
    }

    /**
     * @param slowTurns passes in a minute: a row has its turn in one of them
     * @return how many values could not be had
     */
    int sample(long pass, int slowTurns, SlowBudget budget) {
        int errors = 0;
        int recheckTo = recheckFrom + RECHECKED;
        for (int r = 0; r < rowCount; r++) {
            Row row = rows[r];
            if (row == null) {
                continue;
            }
            boolean turn = (pass + r) % slowTurns == 0;
            boolean moved = !gated || moved(r);
            boolean recheck = gated && r >= recheckFrom && r < recheckTo;
            stale[r] |= moved;
            moving[r] = moved;
            if (!moved && !turn && !recheck && !fresh[r]) {
                continue;
            }
            int slot = row.slot();
            errors += sample(counts, r, slot);
            if (moved || recheck || fresh[r]) {
                errors += sample(gauges, r, slot);
            }
            boolean due = turn && stale[r] || fresh[r] && budget.take();
            if (due || recheck) {
                errors += sample(slow, r, slot);
            }
            if (due && (template.labelCount() > 0 || fresh[r]
                    || nodeSSTables.areOthers(budget.nodeSSTables, pass, slowTurns))) {
                errors += sample(bySSTables, r, slot);
            }
            if (due) {
                stale[r] = moved || fresh[r];
            }
            fresh[r] = false;
        }
        recheckFrom = recheckTo < rowCount ? recheckTo : 0;
        return errors;
    }

    /** Tells the labels of the rows whose gate let them through on this pass. */
    void tellMoving(Consumer<String[]> to) {
        for (int r = 0; r < rowCount; r++) {
            if (rows[r] != null && moving[r]) {
                to.accept(rows[r].values);
            }
        }
    }

    private static int sample(List<Column> columns, int r, int slot) {
        int errors = 0;
        for (int c = 0, n = columns.size(); c < n; c++) {
            errors += columns.get(c).sample(r, slot) ? 0 : 1;
        }
        return errors;
    }

    private boolean moved(int r) {
        long sum = 0;
        for (int g = r * GATE.length, end = g + GATE.length; g < end; g++) {
            if (gates[g] != null) {
                try {
                    sum += Column.count(gates[g]);
                } catch (Throwable thrown) { // counted where its column is read
                    sum--;
                }
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
        glow = Arrays.copyOf(glow, capacity);
        fresh = Arrays.copyOf(fresh, capacity);
        stale = Arrays.copyOf(stale, capacity);
        moving = Arrays.copyOf(moving, capacity);
        for (Column column : columns.values()) {
            column.grow(capacity);
        }
    }

    private static String key(String[] values) {
        return String.join("\0", values);
    }

    /** New entities get their slow values at once, but not a thousand of them in one pass. */
    static final class SlowBudget {
        private static final int PER_PASS = 64;
        private int left;
        /** Bytes of all SSTables of the node, which Cassandra counts as they come and go. */
        private long nodeSSTables;

        void refill(long sstableBytes) {
            left = PER_PASS;
            nodeSSTables = sstableBytes;
        }

        boolean take() {
            return left-- > 0;
        }
    }
}
