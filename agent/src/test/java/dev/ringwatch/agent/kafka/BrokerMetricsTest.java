package dev.ringwatch.agent.kafka;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.yammer.metrics.core.Gauge;
import com.yammer.metrics.core.Histogram;
import com.yammer.metrics.core.Meter;
import com.yammer.metrics.core.MetricName;
import com.yammer.metrics.core.MetricsRegistry;
import dev.ringwatch.agent.frame.Kind;
import dev.ringwatch.agent.frame.Metric;
import dev.ringwatch.agent.frame.Model;
import dev.ringwatch.agent.frame.Template;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Supplier;
import javax.management.MBeanServerFactory;
import javax.management.ObjectName;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** The pass over a registry that this test fills; a real broker's is read by kafka_test.go. */
class BrokerMetricsTest {
    private static final int PASSES = 12;

    private final MetricsRegistry registry = new MetricsRegistry();
    private final Model model = new Model();
    private final List<String> said = new ArrayList<>();
    private BrokerMetrics metrics = metrics(1000);

    private BrokerMetrics metrics(int max) {
        return new BrokerMetrics(registry, MBeanServerFactory.newMBeanServer(), model, max,
                said::add);
    }

    @AfterEach
    void end() {
        registry.shutdown();
    }

    private static MetricName name(String bean) {
        String type = bean.replaceAll(".*type=([^,]*).*", "$1");
        return new MetricName(bean.substring(0, bean.indexOf(':')), type,
                bean.replaceAll(".*name=([^,]*).*", "$1"), null, bean);
    }

    private MetricName gauge(String bean, Supplier<Object> value) {
        MetricName name = name(bean);
        registry.newGauge(name, new Gauge<Object>() {
            @Override
            public Object value() {
                return value.get();
            }
        });
        return name;
    }

    private void passes(int n) {
        for (int i = 0; i < n; i++) {
            metrics.sample(PASSES);
        }
    }

    /** Null where there is no such series, else what its cell has. */
    private Object value(String metric, String... labels) {
        for (int t = 0; t < model.templateCount(); t++) {
            Template template = model.template(t);
            for (int m = 0; m < template.metricCount(); m++) {
                Metric each = template.metric(m);
                for (int slot = 0; slot < template.slots() && each.name.equals(metric); slot++) {
                    if (template.isLive(slot) && each.isPresent(slot)
                            && List.of(template.entity(slot)).equals(List.of(labels))) {
                        return each.kind == Kind.GAUGE_DOUBLE
                                ? (Object) Double.longBitsToDouble(each.value(slot))
                                : (Object) each.value(slot);
                    }
                }
            }
        }
        return null;
    }

    @Test
    void metersCount() {
        Meter meter = registry.newMeter(name(
                "kafka.server:type=BrokerTopicMetrics,name=BytesInPerSec,topic=t"), "bytes",
                TimeUnit.SECONDS);
        Meter idle = registry.newMeter(name("kafka.server:type=Pool,name=AvgIdlePercent"), "idle",
                TimeUnit.NANOSECONDS);
        meter.mark(7);
        idle.mark(3);
        passes(1);
        assertEquals(7L, value("kafka_server_brokertopicmetrics_bytesin_total", "t"));
        assertEquals(3L, value("kafka_server_pool_avgidle_seconds_total"));
        meter.mark();
        passes(1);
        assertEquals(8L, value("kafka_server_brokertopicmetrics_bytesin_total", "t"));
    }

    @Test
    void histogramsHaveCountSumAndQuantiles() {
        Histogram histogram = registry.newHistogram(
                name("kafka.network:type=RequestMetrics,name=TotalTimeMs,request=Fetch"), true);
        passes(1);
        String base = "kafka_network_requestmetrics_totaltime_seconds";
        assertEquals(0L, value(base + "_count", "Fetch"));
        assertNull(value(base, "Fetch", "0.99"), "there is no quantile of nothing");
        histogram.update(10);
        histogram.update(30);
        passes(1);
        assertEquals(2L, value(base + "_count", "Fetch"));
        assertEquals(40L, value(base + "_sum", "Fetch"));
        assertEquals(0.030, (double) value(base, "Fetch", "0.99"), 1e-9);
        assertEquals(0.020, (double) value(base, "Fetch", "0.50"), 1e-9);
        histogram.update(50);
        passes(PASSES);
        assertEquals(0.050, (double) value(base, "Fetch", "0.99"), 1e-9);
    }

    @Test
    void aLogIsReadWhenItsEndMoves() {
        AtomicLong end = new AtomicLong(1);
        AtomicLong size = new AtomicLong(100);
        AtomicLong reads = new AtomicLong();
        String of = ",topic=t,partition=0";
        gauge("kafka.log:type=Log,name=LogEndOffset" + of, end::get);
        gauge("kafka.log:type=Log,name=Size" + of, () -> {
            reads.incrementAndGet();
            return size.get();
        });
        passes(3);
        assertEquals(100L, value("kafka_log_log_size", "0", "t"));
        long before = reads.get();
        passes(PASSES);
        assertTrue(reads.get() - before <= PASSES, "a single log has each turn");
        size.set(200);
        end.set(2);
        passes(1);
        assertEquals(200L, value("kafka_log_log_size", "0", "t"));
    }

    @Test
    void gaugesThatThrowOrAreNoNumbers() {
        boolean[] well = {true};
        gauge("kafka.server:type=A,name=Throws", () -> {
            if (!well[0]) {
                throw new IllegalStateException("on purpose");
            }
            return 5;
        });
        gauge("kafka.server:type=A,name=Text", () -> "text");
        gauge("kafka.server:type=A,name=Empty", () -> null);
        passes(1);
        assertEquals(5L, value("kafka_server_a_throws"));
        well[0] = false;
        passes(1);
        assertNull(value("kafka_server_a_throws"));
        assertEquals(1, metrics.gaugeErrors());
        well[0] = true;
        passes(1);
        assertEquals(5L, value("kafka_server_a_throws"));
        assertNull(value("kafka_server_a_text"));
    }

    @Test
    void whatIsDeletedVanishes() {
        List<MetricName> names = new ArrayList<>();
        for (int p = 0; p < 50; p++) {
            for (String name : new String[] {"LogEndOffset", "Size"}) {
                names.add(gauge("kafka.log:type=Log,name=" + name + ",topic=t,partition=" + p,
                        () -> 1L));
            }
        }
        passes(1);
        assertEquals(50, metrics.entities());
        names.forEach(registry::removeMetric);
        passes(1);
        assertEquals(0, metrics.entities());
        assertNull(value("kafka_log_log_size", "3", "t"));
    }

    @Test
    void thereAreSoManyEntitiesAndNoMore() {
        metrics = metrics(10);
        List<MetricName> names = new ArrayList<>();
        for (int p = 0; p < 25; p++) {
            for (String name : new String[] {"LogEndOffset", "Size"}) {
                names.add(gauge("kafka.log:type=Log,name=" + name + ",topic=t,partition=" + p,
                        () -> 1L));
            }
        }
        passes(2 * PASSES);
        assertEquals(10, metrics.entities());
        assertEquals(15, metrics.entitiesRefused());
        assertEquals(1, said.size(), said.toString());
        assertTrue(said.get(0).contains("raise max_entities"));
        for (MetricName name : names.subList(0, 40)) {
            registry.removeMetric(name);
        }
        passes(2 * PASSES);
        assertEquals(5, metrics.entities(), "there is room again");
        assertEquals(15, metrics.entitiesRefused());
    }

    @Test
    void oneNameOfTwoTypesIsTwoNames() {
        gauge("kafka.server:type=A,name=N", () -> 1);
        passes(1);
        gauge("kafka.server:type=A,name=N,b=x", () -> 2);
        passes(1);
        assertEquals(1L, value("kafka_server_a_n"));
        assertEquals(2L, value("kafka_server_a_n_by_b", "x"));
        assertEquals(0, metrics.refused());
    }

    @Test
    void aBeanOfYammersWithoutTheServer() throws Exception {
        Histogram histogram = registry.newHistogram(
                name("kafka.network:type=RequestMetrics,name=TotalTimeMs,request=Fetch"), true);
        histogram.update(4);
        YammerBean bean = YammerBean.of(new ObjectName(
                "kafka.network:type=RequestMetrics,name=TotalTimeMs,request=Fetch"), registry);
        assertEquals(1L, bean.get("Count"));
        assertEquals(4.0, bean.get("99thPercentile"));
        assertEquals(4.0, bean.get("Max"));
        histogram.update(8);
        assertEquals(8.0, bean.get("999thPercentile"));
        assertNull(YammerBean.of(new ObjectName("kafka.network:type=R,name=N"), registry));
        assertFalse(said.iterator().hasNext());
    }
}
