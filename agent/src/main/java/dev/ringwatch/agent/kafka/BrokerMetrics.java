package dev.ringwatch.agent.kafka;

import com.yammer.metrics.core.Counter;
import com.yammer.metrics.core.Gauge;
import com.yammer.metrics.core.Histogram;
import com.yammer.metrics.core.Metered;
import com.yammer.metrics.core.Metric;
import com.yammer.metrics.core.MetricName;
import com.yammer.metrics.core.MetricsRegistry;
import com.yammer.metrics.core.Sampling;
import dev.ringwatch.agent.beans.Direct;
import dev.ringwatch.agent.frame.Kind;
import dev.ringwatch.agent.frame.Model;
import dev.ringwatch.agent.frame.Tally;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import java.util.function.Function;
import javax.management.MBeanServer;
import javax.management.ObjectName;

/**
 * What a broker counts, pass by pass. Counts are read on each pass, and so are gauges, but of the
 * partitions': those of a log are read when its end has moved, and all of them once a minute.
 */
public final class BrokerMetrics implements Tally {
    /** Kafka 4's. Asked for by name: the agent is compiled without Kafka. */
    private static final String REGISTRY = "org.apache.kafka.server.metrics.KafkaYammerMetrics";
    /** Names that are looked at in a pass: a broker of 1,000 partitions has 15,000. */
    private static final int NAMED = 3_000;
    private static final int SAMPLED_PER_MINUTE = 4;
    private static final String LOG = "kafka_log_log_by_partition_topic";
    private static final String PARTITION = "kafka_cluster_partition_by_partition_topic";
    /** How many partitions are not well: when that changes, all partitions are looked at. */
    private static final String REPLICAS = "kafka_server_replicamanager";
    private static final String LOG_END = "LogEndOffset";

    /** The gauges of a type whose entities are many. */
    private static final class Many {
        final Map<Entities.Row, List<Cell.OfGauge>> rows = new HashMap<>();
        final List<Entities.Row> order = new ArrayList<>();
        int from;
    }

    /** Also for who adds the node's facts. */
    public final Model model;
    private final MetricsRegistry registry;
    private final Entities entities;
    private final KafkaBeans beans;
    private final Touched touched;
    private final Map<MetricName, Cell> cells = new HashMap<>();
    private final List<Cell> always = new ArrayList<>();
    private final List<Cell.OfGauge> logEnds = new ArrayList<>();
    private final List<Cell.OfSamples> samples = new ArrayList<>();
    private final Map<String, Many> many = new HashMap<>();
    private boolean replicasMoved;
    private long pass;
    private long errors;
    /** When names were refused, all are looked at again once there is room. */
    private long lookedAt;
    private long cutAtLook;

    /** @param model locked by the caller */
    public BrokerMetrics(BrokerBeans broker, Model model, int maxEntities, Consumer<String> say) {
        this(registry(say), broker.server(), model, maxEntities, say);
    }

    /** @param registry null where there is none */
    BrokerMetrics(MetricsRegistry registry, MBeanServer server, Model model, int maxEntities,
            Consumer<String> say) {
        this.model = model;
        this.registry = registry;
        entities = new Entities(model, maxEntities, say);
        touched = registry == null ? null : new Touched(registry);
        beans = new KafkaBeans(server, entities, say);
        many.put(LOG, new Many());
        many.put(PARTITION, new Many());
    }

    private static MetricsRegistry registry(Consumer<String> say) {
        try {
            return (MetricsRegistry) Class.forName(REGISTRY, true,
                    ClassLoader.getSystemClassLoader()).getMethod("defaultRegistry").invoke(null);
        } catch (ReflectiveOperationException | LinkageError | ClassCastException other) {
            say.accept("this Kafka keeps its registry elsewhere, so most of its metrics are not "
                    + "read: " + other + "; report this");
            return null;
        }
    }

    /** Called on each pass, with the model locked. */
    public void sample(int passesPerMinute) {
        pass++;
        if (touched != null) {
            takeNames(passesPerMinute);
            read(passesPerMinute);
        }
        beans.sample(pass, passesPerMinute);
    }

    private void takeNames(int passesPerMinute) {
        if (entities.cut() > cutAtLook && !entities.isFull()
                && pass - lookedAt >= passesPerMinute) {
            lookedAt = pass;
            cutAtLook = entities.cut();
            touched.all();
        }
        for (int n = 0; n < NAMED; n++) {
            MetricName name = touched.poll();
            if (name == null) {
                return;
            }
            Metric now = registry.allMetrics().get(name);
            Cell before = cells.get(name);
            if (before != null && before.metric != now) {
                uninstall(name, before);
                before = null;
            }
            if (now != null && before == null) {
                try {
                    install(name, now);
                } catch (RuntimeException | LinkageError odd) {
                    errors++;
                }
            }
        }
    }

    private void install(MetricName name, Metric metric) {
        Naming.Bean bean = Naming.bean(name.getMBeanName());
        if (bean == null || bean.name.isEmpty()) {
            return;
        }
        Cell cell = cell(bean, metric);
        if (cell == null) {
            return;
        }
        cells.put(name, cell);
        if (cell instanceof Cell.OfSamples) {
            samples.add((Cell.OfSamples) cell);
            always.add(cell);
            return;
        }
        Many of = cell instanceof Cell.OfGauge ? many.get(bean.type()) : null;
        if (of == null) {
            always.add(cell);
        } else if (bean.name.equals(LOG_END)) {
            logEnds.add((Cell.OfGauge) cell);
        } else {
            of.rows.computeIfAbsent(cell.row, row -> {
                of.order.add(row);
                return new ArrayList<>();
            }).add((Cell.OfGauge) cell);
            read(cell);
        }
    }

    private void uninstall(MetricName name, Cell cell) {
        cells.remove(name);
        cell.failed();
        Many of = many.get(cell.row.type.template.type);
        List<Cell.OfGauge> gauges = of == null ? null : of.rows.get(cell.row);
        if (gauges != null && gauges.remove(cell)) {
            if (gauges.isEmpty()) {
                of.rows.remove(cell.row);
                of.order.remove(cell.row);
            }
        } else if (!logEnds.remove(cell)) {
            always.remove(cell);
            samples.remove(cell);
        }
        cell.uninstall(entities);
    }

    /** Null where there is no place for it, or it is no number. */
    private Cell cell(Naming.Bean bean, Metric metric) {
        if (metric instanceof Gauge) {
            return gauge(bean, (Gauge<?>) metric);
        }
        boolean samples = metric instanceof Sampling
                && (metric instanceof Histogram || metric instanceof Metered);
        if (!samples && !(metric instanceof Metered || metric instanceof Counter)) {
            return null;
        }
        Entities.Type type = entities.type(bean.type(), bean.labels);
        Entities.Row row = entities.use(type, bean.values);
        Cell cell = row == null ? null : samples ? samples(bean, metric, type, row)
                : count(bean, metric, type, row);
        if (row != null && cell == null) {
            entities.leave(row);
        }
        return cell;
    }

    private Cell gauge(Naming.Bean bean, Gauge<?> gauge) {
        Object value;
        try {
            value = gauge.value();
        } catch (RuntimeException notYet) {
            value = null;
        }
        if (value != null && !(value instanceof Number || value instanceof Boolean)) {
            return null;
        }
        Naming.Scaled scaled = Naming.scaled(bean.name);
        boolean real = value == null || value instanceof Double || value instanceof Float;
        Entities.Type type = entities.type(bean.type(), bean.labels);
        dev.ringwatch.agent.frame.Metric out = entities.metric(type, bean.metric(scaled.name),
                real ? Kind.GAUGE_DOUBLE : Kind.GAUGE, scaled.unit, real ? 0 : scaled.exponent);
        Entities.Row row = out == null ? null : entities.use(type, bean.values);
        return row == null ? null : new Cell.OfGauge(row, gauge, out, scaled.factor());
    }

    private Cell count(Naming.Bean bean, Metric metric, Entities.Type type, Entities.Row row) {
        boolean share = Cell.isShareOfTime(metric);
        String name = bean.name.replaceFirst(share ? "Percent$" : "PerSec$", "")
                + (share ? "_seconds" : "");
        boolean isCounter = metric instanceof Metered;
        dev.ringwatch.agent.frame.Metric out = entities.metric(type,
                bean.metric(name) + (isCounter ? "_total" : ""),
                isCounter ? Kind.COUNTER : Kind.GAUGE,
                share ? "seconds" : name.contains("Bytes") ? "bytes" : "", share ? -9 : 0);
        return out == null ? null : new Cell.OfCount(row, metric, out);
    }

    private Cell samples(Naming.Bean bean, Metric metric, Entities.Type type, Entities.Row row) {
        Naming.Scaled scaled = Naming.scaled(bean.name);
        String name = bean.metric(scaled.name);
        String[] labels = Arrays.copyOf(bean.labels, bean.labels.length + 1);
        labels[bean.labels.length] = "recorded_quantile";
        Entities.Type quantiles = entities.type(bean.type() + "_quantile", labels);
        dev.ringwatch.agent.frame.Metric count =
                entities.metric(type, name + "_count", Kind.COUNTER, "", 0);
        dev.ringwatch.agent.frame.Metric sum = entities.metric(type, name + "_sum", Kind.COUNTER,
                scaled.unit, Cell.OfSamples.sumExponent(metric, scaled));
        dev.ringwatch.agent.frame.Metric quantile =
                entities.metric(quantiles, name, Kind.GAUGE_DOUBLE, scaled.unit, 0);
        return count == null || sum == null || quantile == null ? null
                : new Cell.OfSamples(entities, row, metric, count, sum, quantiles, quantile,
                scaled, bean.values);
    }

    private void read(int passesPerMinute) {
        replicasMoved = false;
        for (int i = 0; i < always.size(); i++) {
            Cell cell = always.get(i);
            read(cell);
            replicasMoved |= cell instanceof Cell.OfGauge && ((Cell.OfGauge) cell).moved
                    && cell.row.type.template.type.equals(REPLICAS);
        }
        Many logs = many.get(LOG);
        for (int i = 0; i < logEnds.size(); i++) {
            Cell.OfGauge end = logEnds.get(i);
            read(end);
            if (end.moved) {
                readRow(logs.rows.get(end.row));
            }
        }
        turn(logs, passesPerMinute, false);
        turn(many.get(PARTITION), passesPerMinute, replicasMoved);
        int spacing = Math.max(1, passesPerMinute / SAMPLED_PER_MINUTE);
        for (int i = 0; i < samples.size(); i++) {
            if ((pass + i) % spacing == 0 || samples.get(i).isFresh()) {
                try {
                    samples.get(i).sample();
                } catch (RuntimeException thrown) {
                    errors++;
                }
            }
        }
    }

    /** All of them in a minute. */
    private void turn(Many of, int passesPerMinute, boolean all) {
        int size = of.order.size();
        int portion = all ? size : (size + passesPerMinute - 1) / passesPerMinute;
        for (int n = 0; n < portion; n++) {
            of.from = of.from + 1 < size ? of.from + 1 : 0;
            readRow(of.rows.get(of.order.get(of.from)));
        }
    }

    private void readRow(List<Cell.OfGauge> gauges) {
        for (int i = 0; gauges != null && i < gauges.size(); i++) {
            read(gauges.get(i));
        }
    }

    private void read(Cell cell) {
        try {
            cell.read();
        } catch (Throwable thrown) {
            // a gauge is someone else's code: whatever it throws is its cell's problem only
            cell.failed();
            errors++;
        }
    }

    /** Attributes of a bean of Yammer's from the metric behind it; for other beans null. */
    public Function<ObjectName, Direct> direct() {
        return name -> {
            if (registry == null || !name.getDomain().startsWith("kafka.")
                    || name.getKeyProperty("name") == null) {
                return null;
            }
            return YammerBean.of(name, registry);
        };
    }

    @Override
    public long gaugeErrors() {
        return errors + beans.errors();
    }

    @Override
    public long refused() {
        return entities.refused();
    }

    @Override
    public int entities() {
        return entities.count();
    }

    @Override
    public long entitiesRefused() {
        return entities.cut();
    }
}
