package dev.ringwatch.agent.frame;

import java.util.Arrays;

/**
 * One metric of a template with its values for every entity: a column. Values live at slots, which
 * the template hands out.
 *
 * <p>Each cell is held twice, as it is now and as the window's key frame had it (the <i>base</i>).
 * Bucket arrays exist only for cells that ever counted something: of a node's table histograms most
 * never do.
 */
public final class Metric {
    public final String name;
    public final Kind kind;
    public final String unit;
    public final int exponent;
    /** Histograms only, else null. */
    public final Bounds bounds;
    public final boolean hasSum;

    /**
     * Slots per block of {@link #changes}: the lines of that many cells are worth keeping together.
     */
    public static final int BLOCK = 128;

    /**
     * What Cassandra calls it in its registry, or null: other exporters' names are made of that.
     */
    public String origin;
    /** Of what has an {@link #origin}: it is a counter or a meter there, not a gauge. */
    public boolean originCounts;
    /** Of what counts there: it is a meter. */
    public boolean originMeters;
    /** Of a histogram that has an {@link #origin}: it is a timer there. */
    public boolean originTimes;

    /**
     * Per block of slots, how often one of its cells became another: whoever keeps something made
     * of them compares it.
     */
    private int[] changes = new int[0];

    /** Integers, double bits, or a histogram's sum. */
    long[] now = new long[0];
    long[] base = new long[0];
    boolean[] present = new boolean[0];
    boolean[] basePresent = new boolean[0];
    /** Histograms: counts per bucket, null while all are zero. */
    long[][] buckets;
    long[][] baseBuckets;
    /**
     * Histograms: cells written since the key frame, so that an idle pass need not compare their
     * buckets.
     */
    boolean[] touched;
    String[] text;
    String[] baseText;

    private Metric(String name, Kind kind, String unit, int exponent, Bounds bounds,
            boolean hasSum) {
        this.name = name;
        this.kind = kind;
        this.unit = unit;
        this.exponent = exponent;
        this.bounds = bounds;
        this.hasSum = hasSum;
        if (kind.hasBuckets() != (bounds != null) || hasSum && bounds == null) {
            throw new IllegalArgumentException(name + ": bounds and sums are for histograms");
        }
        if (bounds != null) {
            buckets = new long[0][];
            baseBuckets = new long[0][];
            touched = new boolean[0];
        }
        if (kind == Kind.STRING) {
            text = new String[0];
            baseText = new String[0];
        }
    }

    public static Metric scalar(String name, Kind kind, String unit, int exponent) {
        return new Metric(name, kind, unit, exponent, null, false);
    }

    public static Metric histogram(String name, Kind kind, String unit, int exponent, Bounds bounds,
            boolean hasSum) {
        return new Metric(name, kind, unit, exponent, bounds, hasSum);
    }

    /** Counters and gauges. */
    public void set(int slot, long value) {
        if (now[slot] != value || !present[slot]) {
            now[slot] = value;
            present[slot] = true;
            changed(slot);
        }
    }

    /** NaN means that there is no value. */
    public void setDouble(int slot, double value) {
        if (value != value) {
            absent(slot);
        } else {
            set(slot, Double.doubleToRawLongBits(value));
        }
    }

    public void setText(int slot, String value) {
        if (!present[slot] || !value.equals(text[slot])) {
            changed(slot);
        }
        text[slot] = value;
        present[slot] = true;
    }

    public void setSum(int slot, long sum) {
        now[slot] = sum;
        touched[slot] = true;
        present[slot] = true;
        changed(slot);
    }

    /**
     * The cell's bucket counts, to be overwritten by the caller; marks the cell as present and
     * changed.
     */
    public long[] writeBuckets(int slot) {
        long[] counts = buckets[slot];
        if (counts == null) {
            counts = buckets[slot] = new long[bounds.buckets()];
        }
        touched[slot] = true;
        present[slot] = true;
        changed(slot);
        return counts;
    }

    /** A histogram that has counted nothing yet: a value, and all of it zero. */
    public void setEmpty(int slot) {
        if (!present[slot]) {
            present[slot] = true;
            changed(slot);
        }
    }

    public void absent(int slot) {
        if (present[slot]) {
            present[slot] = false;
            changed(slot);
        }
    }

    /** Rises with every change to a cell of the block; it wraps around after 2^32 of them. */
    public int changes(int block) {
        return changes[block];
    }

    private void changed(int slot) {
        changes[slot / BLOCK]++;
    }

    public boolean isPresent(int slot) {
        return present[slot];
    }

    public long value(int slot) {
        return now[slot];
    }

    public String text(int slot) {
        return text[slot];
    }

    /** Null while every bucket is zero. Not to be changed. */
    public long[] buckets(int slot) {
        return buckets[slot];
    }

    void grow(int capacity) {
        changes = Arrays.copyOf(changes, (capacity + BLOCK - 1) / BLOCK);
        now = Arrays.copyOf(now, capacity);
        base = Arrays.copyOf(base, capacity);
        present = Arrays.copyOf(present, capacity);
        basePresent = Arrays.copyOf(basePresent, capacity);
        if (bounds != null) {
            buckets = Arrays.copyOf(buckets, capacity);
            baseBuckets = Arrays.copyOf(baseBuckets, capacity);
            touched = Arrays.copyOf(touched, capacity);
        }
        if (kind == Kind.STRING) {
            text = Arrays.copyOf(text, capacity);
            baseText = Arrays.copyOf(baseText, capacity);
        }
    }

    /**
     * A slot's beginning: no value yet, and a base as FORMAT.md §4.4 has it for added entities,
     * present and zero.
     */
    void reset(int slot) {
        changed(slot);
        now[slot] = 0;
        base[slot] = 0;
        present[slot] = false;
        basePresent[slot] = true;
        if (bounds != null) {
            buckets[slot] = null;
            baseBuckets[slot] = null;
            touched[slot] = false;
        }
        if (kind == Kind.STRING) {
            text[slot] = null;
            baseText[slot] = null;
        }
    }

    /** Current values only: whoever moves slots is about to write a key frame. */
    void move(int from, int to) {
        changed(to);
        now[to] = now[from];
        present[to] = present[from];
        if (bounds != null) {
            buckets[to] = buckets[from];
            baseBuckets[to] = baseBuckets[from];
            touched[to] = true;
        }
        if (kind == Kind.STRING) {
            text[to] = text[from];
        }
    }

    /**
     * What is now becomes the base: the key frame has been written. A cell without a value has base
     * zero.
     */
    void rebase(int slots) {
        for (int slot = 0; slot < slots; slot++) {
            boolean there = present[slot];
            basePresent[slot] = there;
            base[slot] = there ? now[slot] : 0;
            if (bounds != null && (touched[slot] || !there)) {
                rebaseBuckets(slot, there);
            }
            if (kind == Kind.STRING) {
                baseText[slot] = there ? text[slot] : null;
            }
        }
    }

    private void rebaseBuckets(int slot, boolean there) {
        long[] from = buckets[slot];
        long[] to = baseBuckets[slot];
        touched[slot] = !there; // a cell that gets its value back later is to be compared with zero
        if (!there || from == null) {
            baseBuckets[slot] = null;
            return;
        }
        if (to == null) {
            baseBuckets[slot] = from.clone();
        } else {
            System.arraycopy(from, 0, to, 0, from.length);
        }
    }
}
