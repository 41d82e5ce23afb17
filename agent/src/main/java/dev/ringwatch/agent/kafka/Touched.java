package dev.ringwatch.agent.kafka;

import com.yammer.metrics.core.Metric;
import com.yammer.metrics.core.MetricName;
import com.yammer.metrics.core.MetricsRegistry;
import com.yammer.metrics.core.MetricsRegistryListener;
import java.util.Map;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Notes the names of Yammer metrics that come or go. Runs in Kafka's threads: it enqueues a name
 * and nothing else, and never throws. What a name means now is looked up later, so the order of
 * events does not matter.
 */
final class Touched implements MetricsRegistryListener {
    /** A broker with 10,000 partitions registers 150,000 names. */
    private static final int MAX_QUEUED = 1_000_000;

    private final MetricsRegistry registry;
    private final ConcurrentLinkedQueue<MetricName> names = new ConcurrentLinkedQueue<>();
    private final AtomicInteger queued = new AtomicInteger();
    private volatile boolean missed;

    /** Adding a listener reports every metric that is there already. */
    Touched(MetricsRegistry registry) {
        this.registry = registry;
        registry.addListener(this);
    }

    MetricName poll() {
        if (missed && names.isEmpty()) {
            missed = false;
            all();
        }
        MetricName name = names.poll();
        if (name != null) {
            queued.decrementAndGet();
        }
        return name;
    }

    /** Looks at all names again. */
    void all() {
        for (Map.Entry<MetricName, Metric> each : registry.allMetrics().entrySet()) {
            touch(each.getKey());
        }
    }

    private void touch(MetricName name) {
        try {
            if (queued.incrementAndGet() > MAX_QUEUED) {
                queued.decrementAndGet();
                missed = true;
            } else {
                names.add(name);
            }
        } catch (Throwable never) { // out of memory, perhaps: the host's business comes first
            missed = true;
        }
    }

    @Override
    public void onMetricAdded(MetricName name, Metric metric) {
        touch(name);
    }

    @Override
    public void onMetricRemoved(MetricName name) {
        touch(name);
    }
}
