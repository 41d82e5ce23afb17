package dev.ringwatch.agent.kafka;

import com.yammer.metrics.core.Counter;
import com.yammer.metrics.core.Gauge;
import com.yammer.metrics.core.Histogram;
import com.yammer.metrics.core.Metered;
import com.yammer.metrics.core.Metric;
import com.yammer.metrics.core.MetricName;
import com.yammer.metrics.core.MetricsRegistry;
import com.yammer.metrics.core.Sampling;
import com.yammer.metrics.core.Summarizable;
import com.yammer.metrics.stats.Snapshot;
import dev.ringwatch.agent.beans.Direct;
import javax.management.AttributeNotFoundException;
import javax.management.ObjectName;

/**
 * What Yammer's own reporter shows of a metric as a bean. Its bean sorts all samples again for each
 * quantile; here one snapshot serves them all, for as long as nothing is counted.
 */
final class YammerBean implements Direct {
    private final Metric metric;
    private Snapshot snapshot;
    private long takenAt = -1;
    private boolean sure;

    private YammerBean(Metric metric) {
        this.metric = metric;
    }

    /** Null if the registry does not have it. */
    static YammerBean of(ObjectName name, MetricsRegistry registry) {
        MetricName known = new MetricName(name.getDomain(), name.getKeyProperty("type"),
                name.getKeyProperty("name"), null, name.toString());
        Metric metric = registry.allMetrics().get(known);
        return metric == null ? null : new YammerBean(metric);
    }

    @Override
    public Object get(String attribute) throws AttributeNotFoundException {
        switch (attribute) {
            case "Value": return ((Gauge<?>) metric).value();
            case "Count": return count();
            case "EventType": return ((Metered) metric).eventType();
            case "RateUnit": return ((Metered) metric).rateUnit();
            case "LatencyUnit": return ((com.yammer.metrics.core.Timer) metric).durationUnit();
            case "MeanRate": return ((Metered) metric).meanRate();
            case "OneMinuteRate": return ((Metered) metric).oneMinuteRate();
            case "FiveMinuteRate": return ((Metered) metric).fiveMinuteRate();
            case "FifteenMinuteRate": return ((Metered) metric).fifteenMinuteRate();
            case "Min": return ((Summarizable) metric).min();
            case "Max": return ((Summarizable) metric).max();
            case "Mean": return ((Summarizable) metric).mean();
            case "StdDev": return ((Summarizable) metric).stdDev();
            case "50thPercentile": return snapshot().getMedian();
            case "75thPercentile": return snapshot().get75thPercentile();
            case "95thPercentile": return snapshot().get95thPercentile();
            case "98thPercentile": return snapshot().get98thPercentile();
            case "99thPercentile": return snapshot().get99thPercentile();
            case "999thPercentile": return snapshot().get999thPercentile();
            default: throw new AttributeNotFoundException(attribute);
        }
    }

    private long count() {
        return metric instanceof Counter ? ((Counter) metric).count()
                : metric instanceof Histogram ? ((Histogram) metric).count()
                : ((Metered) metric).count();
    }

    /** What was counted may be in the samples a moment later, so they are taken twice. */
    private Snapshot snapshot() {
        long now = count();
        if (now != takenAt || !sure) {
            sure = now == takenAt;
            takenAt = now;
            snapshot = ((Sampling) metric).getSnapshot();
        }
        return snapshot;
    }
}
