package dev.ringwatch.agent.kafka;

import com.yammer.metrics.core.Counter;
import com.yammer.metrics.core.Gauge;
import com.yammer.metrics.core.Histogram;
import com.yammer.metrics.core.Metered;
import com.yammer.metrics.core.Metric;
import com.yammer.metrics.core.Sampling;
import com.yammer.metrics.core.Summarizable;
import com.yammer.metrics.stats.Snapshot;
import dev.ringwatch.agent.frame.Kind;
import java.util.Arrays;
import java.util.concurrent.TimeUnit;

/** One Yammer metric of one entity, and where its values go. */
abstract class Cell {
    final Entities.Row row;
    final Metric metric;

    Cell(Entities.Row row, Metric metric) {
        this.row = row;
        this.metric = metric;
    }

    abstract void read();

    /** It has no value until it can be read again. */
    abstract void failed();

    /** What else it has is not read any more, either. */
    void uninstall(Entities entities) {
        entities.leave(row);
    }

    /** The value of a gauge as its cell has it; false if it is another now. */
    static boolean set(dev.ringwatch.agent.frame.Metric out, int slot, Object value,
            double factor) {
        long before = out.value(slot);
        boolean was = out.isPresent(slot);
        Object number = value instanceof Boolean ? (Object) ((Boolean) value ? 1 : 0) : value;
        if (!(number instanceof Number)) {
            out.absent(slot);
        } else if (out.kind == Kind.GAUGE_DOUBLE) {
            out.setDouble(slot, ((Number) number).doubleValue() * factor);
        } else {
            out.set(slot, ((Number) number).longValue());
        }
        return was == out.isPresent(slot) && before == out.value(slot);
    }

    /** A gauge of numbers. */
    static final class OfGauge extends Cell {
        private final dev.ringwatch.agent.frame.Metric out;
        private final double factor;
        /** It was another at the last look. */
        boolean moved;

        OfGauge(Entities.Row row, Gauge<?> gauge, dev.ringwatch.agent.frame.Metric out,
                double factor) {
            super(row, gauge);
            this.out = out;
            this.factor = factor;
        }

        @Override
        void read() {
            moved = !set(out, row.slot(), ((Gauge<?>) metric).value(), factor);
        }

        @Override
        void failed() {
            out.absent(row.slot());
        }
    }

    /** A meter or a counter. */
    static final class OfCount extends Cell {
        private final dev.ringwatch.agent.frame.Metric out;

        OfCount(Entities.Row row, Metric metric, dev.ringwatch.agent.frame.Metric out) {
            super(row, metric);
            this.out = out;
        }

        @Override
        void read() {
            out.set(row.slot(), metric instanceof Counter ? ((Counter) metric).count()
                    : ((Metered) metric).count());
        }

        @Override
        void failed() {
            out.absent(row.slot());
        }
    }

    /**
     * A histogram or a timer: what it has counted and summed up, and the quantiles of what it has
     * sampled, which it keeps without bounds.
     */
    static final class OfSamples extends Cell {
        /** As the bean's attributes have them, and as the JMX exporter's example writes them. */
        static final String[] QUANTILES = {"0.50", "0.75", "0.95", "0.98", "0.99", "0.999"};
        private static final double[] AT = {0.5, 0.75, 0.95, 0.98, 0.99, 0.999};

        private final Entities entities;
        private final dev.ringwatch.agent.frame.Metric count;
        private final dev.ringwatch.agent.frame.Metric sum;
        private final Entities.Type quantileType;
        private final dev.ringwatch.agent.frame.Metric quantile;
        private final double factor;
        /** What the sum is multiplied with, so that it is whole. */
        private final double sumFactor;
        private final String[] values;
        private Entities.Row[] quantiles;
        private long lastCount = -1;
        private long sampledAt;

        /** @param values of the entity's labels */
        OfSamples(Entities entities, Entities.Row row, Metric metric,
                dev.ringwatch.agent.frame.Metric count, dev.ringwatch.agent.frame.Metric sum,
                Entities.Type quantileType, dev.ringwatch.agent.frame.Metric quantile,
                Naming.Scaled scaled, String[] values) {
            super(row, metric);
            this.entities = entities;
            this.count = count;
            this.sum = sum;
            this.quantileType = quantileType;
            this.quantile = quantile;
            this.factor = scaled.factor();
            this.sumFactor = metric instanceof Histogram ? 1 : 1e6;
            this.values = values;
        }

        /** Sums of timers are kept in nanoseconds, which their beans show in their own unit. */
        static int sumExponent(Metric metric, Naming.Scaled scaled) {
            return metric instanceof Histogram ? scaled.exponent : scaled.exponent - 6;
        }

        @Override
        void read() {
            long now = metric instanceof Histogram ? ((Histogram) metric).count()
                    : ((Metered) metric).count();
            if (now != lastCount) {
                lastCount = now;
                count.set(row.slot(), now);
                sum.set(row.slot(), Math.round(((Summarizable) metric).sum() * sumFactor));
            }
        }

        /** It has counted, and was never sampled. */
        boolean isFresh() {
            return sampledAt == 0 && lastCount > 0 && quantiles == null;
        }

        /** Sorting a thousand samples takes its time: a few times a minute, if there are others. */
        void sample() {
            if (lastCount <= 0 || lastCount == sampledAt) {
                return;
            }
            if (quantiles == null && !begin()) {
                return;
            }
            sampledAt = lastCount;
            Snapshot snapshot = ((Sampling) metric).getSnapshot();
            for (int q = 0; q < AT.length; q++) {
                quantile.setDouble(quantiles[q].slot(), snapshot.getValue(AT[q]) * factor);
            }
        }

        private boolean begin() {
            Entities.Row[] rows = new Entities.Row[AT.length];
            for (int q = 0; q < AT.length; q++) {
                String[] of = Arrays.copyOf(values, values.length + 1);
                of[values.length] = QUANTILES[q];
                rows[q] = entities.use(quantileType, of);
                if (rows[q] == null) {
                    for (int done = 0; done < q; done++) {
                        entities.leave(rows[done]);
                    }
                    return false;
                }
            }
            quantiles = rows;
            return true;
        }

        @Override
        void failed() {
            lastCount = -1;
            count.absent(row.slot());
            sum.absent(row.slot());
        }

        @Override
        void uninstall(Entities all) {
            super.uninstall(all);
            for (int q = 0; quantiles != null && q < AT.length; q++) {
                all.leave(quantiles[q]);
            }
        }
    }

    /** Yammer's meters count nanoseconds where their rate is a share of time. */
    static boolean isShareOfTime(Metric metric) {
        return metric instanceof Metered
                && ((Metered) metric).rateUnit() == TimeUnit.NANOSECONDS;
    }
}
