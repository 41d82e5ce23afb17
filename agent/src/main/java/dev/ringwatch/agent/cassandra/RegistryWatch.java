package dev.ringwatch.agent.cassandra;

import com.codahale.metrics.Counter;
import com.codahale.metrics.Gauge;
import com.codahale.metrics.Histogram;
import com.codahale.metrics.Meter;
import com.codahale.metrics.MetricRegistry;
import com.codahale.metrics.MetricRegistryListener;
import com.codahale.metrics.Timer;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Notes the names of metrics that come or go. Runs inside Cassandra's threads, some of which hold
 * schema locks: it enqueues a name and nothing else, and never throws. What a name means now is
 * looked up later, so the order of events does not matter.
 */
public final class RegistryWatch implements MetricRegistryListener {
    /**
     * A node with 5,000 tables registers 600,000 names; beyond a million waiting, all names are
     * looked at again.
     */
    private static final int MAX_QUEUED = 1_000_000;

    private final MetricRegistry registry;
    private final int maxQueued;
    private final ConcurrentLinkedQueue<String> touched = new ConcurrentLinkedQueue<>();
    private final AtomicInteger queued = new AtomicInteger();
    private volatile boolean missed;

    RegistryWatch(MetricRegistry registry) {
        this(registry, MAX_QUEUED);
    }

    /**
     * Adding a listener reports every metric that is there already.
     *
     * @param maxQueued names that wait; beyond that {@link #missedSome} says that all are to be
     *     looked at again
     */
    public RegistryWatch(MetricRegistry registry, int maxQueued) {
        this.registry = registry;
        this.maxQueued = maxQueued;
        registry.addListener(this);
    }

    void close() {
        registry.removeListener(this);
    }

    /** The next name that came or went, or null. */
    public String poll() {
        String name = touched.poll();
        if (name != null) {
            queued.decrementAndGet();
        }
        return name;
    }

    /** True once after names were lost. */
    public boolean missedSome() {
        boolean was = missed;
        if (was) {
            missed = false;
        }
        return was;
    }

    /** Whether there is anything to poll or to look at again. */
    public boolean moved() {
        return missed || queued.get() > 0;
    }

    private void touch(String name) {
        try {
            if (queued.incrementAndGet() > maxQueued) {
                queued.decrementAndGet();
                missed = true;
            } else {
                touched.add(name);
            }
        } catch (Throwable never) { // out of memory, perhaps: the host's business comes first
            missed = true;
        }
    }

    @Override
    public void onGaugeAdded(String name, Gauge<?> gauge) {
        touch(name);
    }

    @Override
    public void onGaugeRemoved(String name) {
        touch(name);
    }

    @Override
    public void onCounterAdded(String name, Counter counter) {
        touch(name);
    }

    @Override
    public void onCounterRemoved(String name) {
        touch(name);
    }

    @Override
    public void onHistogramAdded(String name, Histogram histogram) {
        touch(name);
    }

    @Override
    public void onHistogramRemoved(String name) {
        touch(name);
    }

    @Override
    public void onMeterAdded(String name, Meter meter) {
        touch(name);
    }

    @Override
    public void onMeterRemoved(String name) {
        touch(name);
    }

    @Override
    public void onTimerAdded(String name, Timer timer) {
        touch(name);
    }

    @Override
    public void onTimerRemoved(String name) {
        touch(name);
    }
}
