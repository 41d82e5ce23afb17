package dev.ringwatch.agent.beans;

import com.codahale.metrics.Counting;
import com.codahale.metrics.Gauge;
import com.codahale.metrics.Metered;
import com.codahale.metrics.Metric;
import com.codahale.metrics.Sampling;
import com.codahale.metrics.Snapshot;
import java.util.List;
import javax.management.ObjectName;

/**
 * A bean of Cassandra's metrics, read from the metric itself. Its percentiles are Cassandra's own,
 * which forget half of what they know every minute: a snapshot is taken when the count has moved
 * and until nothing is left to forget.
 */
final class MetricBean {
    /** What there is to read of Cassandra's beans of metrics, as their attributes are called. */
    private static final String[] ATTRIBUTES = {"Value", "Count", "MeanRate", "OneMinuteRate",
            "FiveMinuteRate", "FifteenMinuteRate", "Min",
        "Max", "Mean", "StdDev", "50thPercentile", "75thPercentile", "95thPercentile",
        "98thPercentile", "99thPercentile", "999thPercentile"};
    private static final int RATES = 2;
    private static final int SNAPSHOT = 6;
    /** {@link Buckets#FIGURES} of a gauge that is bucket counts. */
    private static final int BUCKETS = ATTRIBUTES.length;
    private static final long DEAR_NS = 50_000;
    /** Before their names, where they are not attributes of the bean. */
    static final String OF_BUCKETS = "Buckets.";
    /** RateUnit or DurationUnit, which a rule has given a value. */
    static final int UNIT = BUCKETS + Buckets.FIGURES.length;

    final ObjectName name;
    final Metric metric;
    final BeanGroup group;
    /** Read once a minute: it walks all SSTables, or the disk. */
    final boolean slow;
    /** Slow, and the same while no SSTable comes or goes. */
    final boolean bySSTables;
    /** Of durations: 4.0 keeps nanoseconds and shows microseconds. */
    private final double scale;
    private final int[] attributes;
    /** Null where the name hangs on the value, or there are too many series. */
    private final Output.Series[] series;
    /** Null where the name does not hang on the value. */
    private final ByValue.Cell[] byValue;
    private final Output[] outputs;
    private final boolean hasSnapshot;
    private final boolean hasRates;
    private long lastCount = -1;
    private boolean fading;
    private boolean wasRead;
    /**
     * What the gauge or the snapshot takes. One reading can at most double it, since a thread may
     * wait.
     */
    private long costNs = 1_000;
    /** What the last snapshot showed, and whether the one before it showed the same. */
    private int figures;
    private boolean still;

    private MetricBean(Plan plan, BeanGroup group) {
        name = plan.name;
        metric = plan.metric;
        this.group = group;
        slow = plan.slow;
        bySSTables = plan.bySSTables;
        scale = plan.scale;
        List<Plan.Shown> shown = plan.shown;
        attributes = new int[shown.size()];
        series = new Output.Series[shown.size()];
        byValue = new ByValue.Cell[shown.size()];
        outputs = new Output[shown.size()];
        boolean snapshot = false;
        boolean rates = false;
        for (int i = 0; i < attributes.length; i++) {
            attributes[i] = attribute(shown.get(i).attribute);
            outputs[i] = shown.get(i).output;
            byValue[i] = shown.get(i).byValue;
            series[i] = byValue[i] == null ? outputs[i].add(shown.get(i).named) : null;
            snapshot |= attributes[i] >= SNAPSHOT && attributes[i] < BUCKETS;
            rates |= attributes[i] >= RATES && attributes[i] < SNAPSHOT;
        }
        hasSnapshot = snapshot;
        hasRates = rates;
    }

    /** Adds its series. */
    static MetricBean install(Plan plan, BeanGroup group) {
        MetricBean bean = new MetricBean(plan, group);
        group.add(bean);
        return bean;
    }

    void uninstall() {
        group.remove(this);
        for (int i = 0; i < series.length; i++) {
            if (series[i] != null) {
                outputs[i].remove(series[i]);
            }
            if (byValue[i] != null) {
                byValue[i].remove();
            }
        }
    }

    /** −1 if it is none of them. */
    static int attribute(String name) {
        for (int f = 0; name.startsWith(OF_BUCKETS) && f < Buckets.FIGURES.length; f++) {
            if (name.endsWith("." + Buckets.FIGURES[f])) {
                return BUCKETS + f;
            }
        }
        for (int a = 0; a < ATTRIBUTES.length; a++) {
            if (ATTRIBUTES[a].equals(name)) {
                return a;
            }
        }
        return name.equals("RateUnit") || name.equals("DurationUnit") ? UNIT : -1;
    }

    /** Whether the metric has this attribute. What was once a gauge has its count as value, too. */
    static boolean has(Metric metric, int attribute) {
        switch (attribute) {
            case 0:
                return metric instanceof Gauge || metric instanceof Counting;
            case 1:
                return metric instanceof Counting;
            default:
                return attribute < SNAPSHOT ? metric instanceof Metered
                        : metric instanceof Sampling;
        }
    }

    /** Whether it is a gauge that is not to be read on each pass. */
    boolean isDearGauge() {
        return !hasSnapshot && isDear();
    }

    private boolean isDear() {
        return costNs > DEAR_NS;
    }

    boolean wasRead() {
        return wasRead;
    }

    /** Whether it must be read though nothing has moved. */
    boolean isFading() {
        return fading;
    }

    /**
     * @param last what has been read of the bean before, which may show the same metric
     * @param mayTakeSnapshot else what needs one is read another time
     * @param turn what is read now that is not read on each pass
     */
    void read(LastRead last, boolean mayTakeSnapshot, Turn turn) {
        long count = metric instanceof Counting ? ((Counting) metric).getCount() : 0;
        boolean moved = count != lastCount;
        still &= !moved;
        Snapshot snapshot = hasSnapshot ? snapshot(last, moved, mayTakeSnapshot, turn) : null;
        wasRead = true;
        int before = figures;
        figures = snapshot != null ? 0 : before;
        // what was counted may be in the reservoir a moment later
        boolean left = moved && count > 0 || snapshot != null && holdsAny(snapshot);
        for (int i = 0; i < attributes.length; i++) {
            if (series[i] == null && byValue[i] == null) {
                continue;
            }
            int attribute = attributes[i];
            if (attribute == UNIT) {
                series[i].show(0);
            } else if (attribute >= BUCKETS) {
                buckets(i, value(last), attribute - BUCKETS);
            } else if (attribute >= SNAPSHOT) {
                if (snapshot != null) {
                    figure(i, snapshot, attribute);
                }
            } else if (attribute >= RATES) {
                double value = rate((Metered) metric, attribute);
                left |= value != 0 && attribute > RATES;
                show(i, value);
            } else if (attribute == 1) {
                show(i, count);
            } else {
                show(i, metric instanceof Gauge ? value(last) : (Object) count);
            }
        }
        still = snapshot != null ? figures == before : still;
        if (snapshot != null || !hasSnapshot) {
            fading = (hasSnapshot || hasRates) && left;
        }
        lastCount = count;
    }

    /** Null where it is not to be taken on this pass. */
    private Snapshot snapshot(LastRead last, boolean moved, boolean mayTake, Turn turn) {
        if (wasRead && !moved && !(fading && (still ? turn.slow : turn.seldom))) {
            return null;
        }
        if (wasRead && !last.holds(metric) && (!mayTake || isDear() && !turn.dear)) {
            fading = true; // its turn comes
            return null;
        }
        Snapshot snapshot = last.snapshot(metric);
        weigh(last);
        return snapshot;
    }

    private Object value(LastRead last) {
        Object value = last.value(metric);
        weigh(last);
        return value;
    }

    private void weigh(LastRead last) {
        costNs = Math.max(1_000, Math.min(last.tookNs(), 2 * costNs));
    }

    private void show(int i, double value) {
        if (byValue[i] != null) {
            byValue[i].show(value);
        } else {
            series[i].show(value);
        }
    }

    private void show(int i, Object value) {
        if (byValue[i] != null) {
            byValue[i].show(value);
        } else {
            series[i].show(value);
        }
    }

    private void absent(int i) {
        if (byValue[i] != null) {
            byValue[i].absent();
        } else if (series[i] != null) {
            series[i].absent();
        }
    }

    private void buckets(int i, Object counts, int figure) {
        double value = counts instanceof long[] ? Buckets.figure((long[]) counts, figure)
                : Double.NaN;
        if (value == value) {
            show(i, value);
        } else {
            absent(i);
        }
    }

    /**
     * Whether there is anything left to forget. Figures of nothing but zeros are zero like those of
     * nothing at all, but for the mean, which Cassandra has as NaN then.
     */
    private static boolean holdsAny(Snapshot snapshot) {
        try {
            return !Double.isNaN(snapshot.getMean());
        } catch (RuntimeException overflowed) {
            return true;
        }
    }

    /** A mean of what is beyond all buckets throws, and is no value. */
    private void figure(int i, Snapshot snapshot, int attribute) {
        double value;
        try {
            value = value(snapshot, attribute);
        } catch (RuntimeException overflowed) {
            absent(i);
            return;
        }
        figures = 31 * figures + Double.hashCode(value);
        show(i, value);
    }

    /** Its cells have no value until it can be read again. */
    void failed() {
        wasRead = true;
        for (int i = 0; i < series.length; i++) {
            absent(i);
        }
    }

    private static double rate(Metered metered, int attribute) {
        switch (attribute) {
            case 2: return metered.getMeanRate();
            case 3: return metered.getOneMinuteRate();
            case 4: return metered.getFiveMinuteRate();
            default: return metered.getFifteenMinuteRate();
        }
    }

    private double value(Snapshot snapshot, int attribute) {
        switch (attribute) {
            case 6: return snapshot.getMin() * scale;
            case 7: return snapshot.getMax() * scale;
            case 8: return snapshot.getMean() * scale;
            case 9: return snapshot.getStdDev() * scale;
            case 10: return snapshot.getMedian() * scale;
            case 11: return snapshot.get75thPercentile() * scale;
            case 12: return snapshot.get95thPercentile() * scale;
            case 13: return snapshot.get98thPercentile() * scale;
            case 14: return snapshot.get99thPercentile() * scale;
            default: return snapshot.get999thPercentile() * scale;
        }
    }
}
