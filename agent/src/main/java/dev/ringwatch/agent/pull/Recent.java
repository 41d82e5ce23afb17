package dev.ringwatch.agent.pull;

import dev.ringwatch.agent.frame.Metric;
import java.util.Arrays;

/**
 * What a histogram counted lately, for the profiles whose exporters show percentiles. Frames hold
 * counts since the start, whose percentiles hardly move; Cassandra's own percentiles forget half of
 * what they know every minute, and so does this: each page adds what was counted since the page
 * before, at that page's time.
 *
 * <p>A cell costs 12 bytes for each bucket between the lowest and the highest that ever counted.
 */
final class Recent {
    /** DecayingEstimatedHistogramReservoir.HALF_TIME_IN_S. */
    private static final double HALF_TIME_MS = 60_000;
    /** Cassandra rounds its decayed counts: less than half a request is none. */
    private static final double NOTHING = 0.5;

    private static final class Cell {
        String[] entity;
        int from;
        long[] last = new long[0];
        float[] weight = new float[0];
        long at;
    }

    private final Metric metric;
    private Cell[] cells = new Cell[0];
    private Cell current;
    private long[] counts;
    private double total;

    Recent(Metric metric) {
        this.metric = metric;
    }

    /**
     * Takes in what has been counted; {@link #bound} then speaks of this cell. False if there is
     * nothing recent.
     */
    boolean look(int slot, String[] entity, long now) {
        counts = metric.buckets(slot);
        current = null;
        total = 0;
        if (counts == null) {
            return false;
        }
        if (metric.kind != dev.ringwatch.agent.frame.Kind.HISTOGRAM) { // a state, not a history
            for (long count : counts) {
                total += count;
            }
            return total > 0;
        }
        current = cell(slot, entity);
        widen(current);
        double kept = Math.pow(0.5, Math.max(0, now - current.at) / HALF_TIME_MS);
        current.at = now;
        for (int i = 0; i < current.weight.length; i++) {
            long count = counts[current.from + i];
            long more = count - current.last[i];
            current.weight[i] = (float) (current.weight[i] * kept + Math.max(0, more));
            current.last[i] = count;
            total += current.weight[i];
        }
        return total >= NOTHING;
    }

    /** The bound under which a fraction of the values lies, as Cassandra's snapshots have it. */
    long bound(double quantile) {
        double wanted = quantile * total;
        double seen = 0;
        int from = current == null ? 0 : current.from;
        int size = current == null ? counts.length : current.weight.length;
        int last = 0;
        for (int i = 0; i < size; i++) {
            double here = current == null ? counts[i] : current.weight[i];
            if (here > 0) {
                seen += here;
                last = from + i;
                if (seen >= wanted) {
                    break;
                }
            }
        }
        return metric.bounds.bound(Math.min(last, metric.bounds.size() - 1));
    }

    /** Makes room for buckets that have begun to count. */
    private void widen(Cell cell) {
        int low = 0;
        while (low < counts.length && counts[low] == 0) {
            low++;
        }
        int high = counts.length;
        while (high > low && counts[high - 1] == 0) {
            high--;
        }
        int end = cell.from + cell.last.length;
        if (low == high || cell.last.length > 0 && low >= cell.from && high <= end) {
            return;
        }
        int from = cell.last.length == 0 ? low : Math.min(low, cell.from);
        int size = Math.max(high, cell.last.length == 0 ? high : end) - from;
        long[] last = new long[size];
        float[] weight = new float[size];
        System.arraycopy(cell.last, 0, last, cell.last.length == 0 ? 0 : cell.from - from,
                cell.last.length);
        System.arraycopy(cell.weight, 0, weight, cell.last.length == 0 ? 0 : cell.from - from,
                cell.weight.length);
        cell.from = from;
        cell.last = last;
        cell.weight = weight;
    }

    private Cell cell(int slot, String[] entity) {
        if (slot >= cells.length) {
            cells = Arrays.copyOf(cells, Math.max(slot + 1, cells.length * 2));
        }
        if (cells[slot] != null && cells[slot].entity == entity) {
            return cells[slot];
        }
        for (int s = slot + 1; s < cells.length; s++) { // key frames close gaps: it has moved down
            if (cells[s] != null && cells[s].entity == entity) {
                cells[slot] = cells[s];
                cells[s] = null;
                return cells[slot];
            }
        }
        cells[slot] = new Cell();
        cells[slot].entity = entity;
        return cells[slot];
    }
}
