package dev.ringwatch.agent.cassandra;

import com.codahale.metrics.Counting;
import com.codahale.metrics.Gauge;
import com.codahale.metrics.Meter;
import com.codahale.metrics.Metric;
import com.codahale.metrics.MetricRegistry;
import com.codahale.metrics.Sampling;
import com.codahale.metrics.Timer;
import dev.ringwatch.agent.filter.Filters;
import dev.ringwatch.agent.frame.Bounds;
import dev.ringwatch.agent.frame.Kind;
import dev.ringwatch.agent.frame.Model;
import dev.ringwatch.agent.frame.Tally;
import dev.ringwatch.agent.frame.Template;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Consumer;

/**
 * What there is to read of Cassandra's registry, kept up to date by name, and the reading of it.
 */
public final class Inventory implements Tally {
    /**
     * Gauges that give nothing yet (their table is not in the schema) are looked at again that
     * often.
     */
    private static final int MAX_TRIES = 120;
    /**
     * FORMAT.md §6: names have 255 bytes, label values 1,024, which as many characters never
     * exceed.
     */
    private static final int MAX_NAME = 255;

    /**
     * A node with 5,000 tables registers 600,000 names; beyond a million waiting, all names are
     * looked at again.
     */
    private static final int MAX_CHANGES = 1_000_000;
    private static final String LOAD = Family.PREFIX + "Storage.Load";
    /**
     * {@code TotalLatency} counts microseconds in all versions, also in 4.0, whose buckets are in
     * nanoseconds.
     */
    private static final int TOTAL_LATENCY_EXPONENT = -6;

    private final MetricRegistry registry;
    private final RegistryWatch watch;
    private final Model model;
    private final Map<String, FamilyTable> families = new HashMap<>();
    private final List<FamilyTable> order = new ArrayList<>();
    private final Set<String> namesTaken = new HashSet<>();
    private final Filters filters;
    private final EntityCap cap;
    private final FamilyTable.SlowBudget budget = new FamilyTable.SlowBudget();
    private Map<String, Integer> undecided = new HashMap<>();
    /**
     * {@code Storage.Load}; until it is known, every pass counts as one in which SSTables came or
     * went.
     */
    private Object load;
    private long pass;
    private long gaugeErrors;
    private long refused;

    Inventory(MetricRegistry registry, Model model) {
        this(registry, model, Filters.NONE, Integer.MAX_VALUE, line -> { });
    }

    /**
     * @param maxEntities beyond which new ones are refused
     * @param say is told so, once
     */
    public Inventory(MetricRegistry registry, Model model, Filters filters, int maxEntities,
            Consumer<String> say) {
        this.registry = registry;
        this.model = model;
        this.filters = filters;
        this.cap = new EntityCap(maxEntities, say);
        this.watch = new RegistryWatch(registry, MAX_CHANGES);
    }

    /** One pass over everything. Allocates nothing while no metric comes, goes or moves. */
    public void sample(int passesPerMinute) {
        pass++;
        applyChanges();
        budget.refill(sstableBytes());
        for (int i = 0; i < order.size(); i++) {
            gaugeErrors += order.get(i).sample(pass, Math.max(1, passesPerMinute), budget);
        }
    }

    public void close() {
        watch.close();
    }

    /** Keyspace and table of each table that has moved, after {@link #sample}. */
    public void tellMovingTables(Consumer<String[]> to) {
        FamilyTable tables = families.get("table");
        if (tables != null) {
            tables.tellMoving(to);
        }
    }

    /**
     * Bytes of all SSTables of the node, which Cassandra counts as they come and go. Another number
     * on each pass where it does not say.
     */
    public long sstableBytes() {
        return load == null ? pass : Column.count(load);
    }

    /** Whether reading this of a table, a keyspace or the node walks SSTables or the disk. */
    public static boolean isSlow(String type, String metric) {
        return Naming.isSlow(type, metric);
    }

    /** Whether what is slow stays the same while no SSTable comes or goes. */
    public static boolean isBySSTables(String type, String metric) {
        return Naming.isBySSTables(type, metric);
    }

    /**
     * What one of a timer's numbers is in microseconds, in which Cassandra's beans show durations.
     */
    public static double microseconds(Metric timer) {
        Internals.Reservoir reservoir = timer instanceof Timer ? Internals.reservoir(timer) : null;
        return reservoir != null && reservoir.exponent == -9 ? 1e-3 : 1;
    }

    /** Reads that gave no value since the start. */
    @Override
    public long gaugeErrors() {
        return gaugeErrors;
    }

    /** Registry entries that fit no column: another kind or other bounds under a known name. */
    @Override
    public long refused() {
        return refused;
    }

    @Override
    public int entities() {
        int count = 0;
        for (int i = 0; i < order.size(); i++) {
            count += order.get(i).size();
        }
        return count;
    }

    /** Entities that were not let in for {@code max_entities}. */
    @Override
    public long entitiesRefused() {
        return cap.refused();
    }

    private void applyChanges() {
        if (watch.missedSome() | cap.hasRoomAgain(pass, entities())) {
            resync();
        }
        applyTouched();
        if (!undecided.isEmpty()) {
            Map<String, Integer> again = undecided;
            undecided = new HashMap<>();
            for (Map.Entry<String, Integer> entry : again.entrySet()) {
                guardedApply(entry.getKey());
                Integer tries = undecided.get(entry.getKey());
                if (tries != null) {
                    if (entry.getValue() >= MAX_TRIES) {
                        undecided.remove(entry.getKey());
                    } else {
                        undecided.put(entry.getKey(), entry.getValue() + 1);
                    }
                }
            }
        }
    }

    /**
     * In the order of their names: so tables stand by keyspace and metrics by name in the frame,
     * and neighbours alike compress to half of what the registry's hash order does.
     */
    private void applyTouched() {
        String name = watch.poll();
        if (name == null) {
            return;
        }
        List<String> names = new ArrayList<>();
        for (; name != null; name = watch.poll()) {
            names.add(name);
        }
        Collections.sort(names);
        for (int i = 0; i < names.size(); i++) {
            guardedApply(names.get(i));
        }
    }

    /** After more changes than the queue holds: every name there is, and every name we know. */
    private void resync() {
        for (String name : registry.getNames()) {
            guardedApply(name);
        }
        Set<Metric> there = Collections.newSetFromMap(new IdentityHashMap<>());
        there.addAll(registry.getMetrics().values());
        for (FamilyTable family : order) {
            family.keepOnly(there);
        }
    }

    private void guardedApply(String name) {
        try {
            apply(name);
        } catch (Throwable thrown) {
            // a metric of someone else's making: this one is not read, the others are
            refused++;
        }
    }

    /** Makes what we read under this name what is registered under it now. */
    private void apply(String name) {
        Family family = Family.of(name);
        if (family == null) {
            return;
        }
        Metric metric = registry.getMetrics().get(name);
        FamilyTable table = families.get(family.entity);
        if (metric == null) {
            if (table != null) {
                remove(table, family);
            }
            return;
        }
        String total = totalOf(family.metric);
        total = total != null && sumBelongs(name, family, total) ? total : null;
        if (!filters.isEmpty() && isFilteredOut(family, metric, total)) {
            if (table != null && table.row(family.values) != null) {
                // it still tells that its table moved
                table.gate(table.row(family.values), family.metric, metric);
            }
            return;
        }
        if (total != null) {
            addSum(name, table, family, total, metric);
            return;
        }
        add(name, table, family, metric);
    }

    /** Names do not depend on a reservoir's unit; a sum goes with its timer. */
    private boolean isFilteredOut(Family family, Metric metric, String timerOfSum) {
        Naming.Rule rule = timerOfSum != null
                ? Naming.rule(family.entity, timerOfSum, Naming.Source.TIMER, 0)
                : Naming.rule(family.entity, family.metric,
                        metric instanceof Timer ? Naming.Source.TIMER
                        : metric instanceof Sampling ? Naming.Source.HISTOGRAM
                        : metric instanceof Counting ? Naming.Source.COUNT
                        : Naming.Source.LONG_GAUGE, 0);
        return rule != null
                && !filters.acceptsCell(family.entity, family.labels, family.values, rule.name);
    }

    /** {@code ReadTotalLatency} is the sum of {@code ReadLatency}, if that is a timer. */
    private static String totalOf(String metric) {
        return metric.endsWith("TotalLatency")
                ? metric.substring(0, metric.length() - "TotalLatency".length()) + "Latency" : null;
    }

    private boolean sumBelongs(String name, Family family, String timer) {
        int at = Family.PREFIX.length();
        at = name.indexOf('.', at) + 1;
        String timerName = name.substring(0, at) + timer
                + name.substring(at + family.metric.length());
        return registry.getMetrics().get(timerName) instanceof Timer;
    }

    private void addSum(String name, FamilyTable table, Family family, String timer,
            Metric metric) {
        FamilyTable.Row row = table == null ? null : table.row(family.values);
        Column column = table == null ? null : table.column(timer);
        if (row == null || !(column instanceof HistogramColumn)
                || column.registered[row.number] == null) {
            if (row != null || !cap.isFull(entities())) {
                undecided.putIfAbsent(name, 0); // its timer comes first or soon
            }
            return;
        }
        HistogramColumn histogram = (HistogramColumn) column;
        if (histogram.sumMetric(row.number) == metric) {
            return;
        }
        if (histogram.sumMetric(row.number) != null) {
            table.renew(row, pass);
        }
        histogram.installSum(row.number, metric);
    }

    private void add(String name, FamilyTable table, Family family, Metric metric) {
        Column column = table == null ? null : table.column(family.metric);
        if (column == null) {
            column = newColumn(name, family, metric);
            if (column == null) {
                return;
            }
            table = families.get(family.entity);
        }
        FamilyTable.Row row = table.row(family.values);
        if (row == null) {
            if (tooLong(family.values)) {
                refused++;
                return;
            }
            if (!cap.admits(family, entities())) {
                return;
            }
            row = table.addRow(family.values, pass);
            if (!filters.isEmpty()) {
                gateWithFilteredOut(name, table, row, family);
            }
        }
        Metric before = column.registered[row.number];
        if (before == metric) {
            return;
        }
        if (before != null) {
            table.renew(row, pass);
        }
        if (name.equals(LOAD) && metric instanceof Counting) {
            load = Internals.counted(metric, false);
        }
        if (column.install(row.number, metric)) {
            row.sources += before == null ? 1 : 0;
            table.gate(row, family.metric, metric);
        } else {
            refused++;
            if (row.sources == 0) {
                table.removeRow(row);
            }
        }
    }

    /** What came before the entity's first wanted metric and is itself not wanted. */
    private void gateWithFilteredOut(String name, FamilyTable table, FamilyTable.Row row,
            Family family) {
        int type = name.indexOf('.', Family.PREFIX.length()) + 1;
        for (String gate : FamilyTable.GATE) {
            String sibling = name.substring(0, type) + gate
                    + name.substring(type + family.metric.length());
            Metric metric = registry.getMetrics().get(sibling);
            if (metric != null && isFilteredOut(Family.of(sibling), metric, null)) {
                table.gate(row, gate, metric);
            }
        }
    }

    private static boolean tooLong(String[] values) {
        for (String value : values) {
            if (value.length() > MAX_NAME) {
                return true;
            }
        }
        return false;
    }

    private void remove(FamilyTable table, Family family) {
        FamilyTable.Row row = table.row(family.values);
        if (row == null) {
            return;
        }
        String timer = totalOf(family.metric);
        Column column = table.column(family.metric);
        if (column == null && timer != null && table.column(timer) instanceof HistogramColumn) {
            ((HistogramColumn) table.column(timer)).installSum(row.number, null);
            return;
        }
        if (column == null || column.registered[row.number] == null) {
            return;
        }
        table.uninstall(row, family.metric, column);
    }

    /** Null if this metric is not to be read, or cannot be told yet. */
    private Column newColumn(String name, Family family, Metric metric) {
        Naming.Source source;
        Internals.Reservoir layout = null;
        if (metric instanceof Sampling && metric instanceof Counting) {
            source = metric instanceof Timer ? Naming.Source.TIMER : Naming.Source.HISTOGRAM;
            layout = Internals.reservoir(metric);
            if (layout == null) {
                    return null; // bounds unknown
            }
        } else if (metric instanceof Counting) {
            source = Naming.Source.COUNT;
        } else if (metric instanceof Gauge) {
            source = gaugeSource(name, (Gauge<?>) metric);
            if (source == null) {
                return null;
            }
        } else {
            return null;
        }
        Naming.Rule rule = Naming.rule(family.entity, family.metric, source,
                layout == null ? 0 : layout.exponent);
        if (rule == null || rule.name.length() > MAX_NAME || !namesTaken.add(rule.name)) {
            refused += rule == null ? 0 : 1;
            return null;
        }
        FamilyTable table = family(family);
        // sums over others are not read, as far as we know them
        boolean standAlone = !family.entity.startsWith("other_");
        Column column = column(source, rule, layout, metric, standAlone);
        column.out.origin = family.metric;
        column.out.originCounts = source == Naming.Source.COUNT;
        column.out.originMeters = column.out.originCounts && metric instanceof Meter;
        column.out.originTimes = source == Naming.Source.TIMER;
        column.bySSTables = rule.bySSTables;
        table.template.add(column.out);
        table.addColumn(family.metric, column);
        return column;
    }

    private Column column(Naming.Source source, Naming.Rule rule, Internals.Reservoir layout,
            Metric metric, boolean standAlone) {
        switch (source) {
            case COUNT:
                return new Column.Counts(scalar(rule, rule.counter ? Kind.COUNTER : Kind.GAUGE),
                        rule.slow, standAlone);
            case LONG_GAUGE:
                return new Column.Numbers(scalar(rule, rule.counter ? Kind.COUNTER : Kind.GAUGE),
                        rule.slow, false, 1);
            case DOUBLE_GAUGE:
                return new Column.Numbers(scalar(rule, Kind.GAUGE_DOUBLE), rule.slow,
                        true, rule.scale);
            case BUCKET_GAUGE:
                return new Column.BucketGauges(histogram(rule, Kind.GAUGE_HISTOGRAM,
                        model.bounds(rule.exponent, estimatedBounds(rule.name)), false));
            default:
                Bounds bounds = model.bounds(rule.exponent, layout.bounds);
                boolean hasSum = metric.getClass().getName().endsWith("LatencyMetricsTimer");
                if (hasSum) {
                    rule.exponent = TOTAL_LATENCY_EXPONENT;
                }
                return new HistogramColumn(histogram(rule, Kind.HISTOGRAM, bounds, hasSum),
                        layout, standAlone);
        }
    }

    private static dev.ringwatch.agent.frame.Metric scalar(Naming.Rule rule, Kind kind) {
        return dev.ringwatch.agent.frame.Metric.scalar(rule.name, kind, rule.unit,
                kind == Kind.GAUGE_DOUBLE ? 0 : rule.exponent);
    }

    private static dev.ringwatch.agent.frame.Metric histogram(Naming.Rule rule, Kind kind,
            Bounds bounds, boolean hasSum) {
        return dev.ringwatch.agent.frame.Metric.histogram(rule.name, kind, rule.unit, rule.exponent,
                bounds, hasSum);
    }

    /**
     * The bounds of an {@code EstimatedHistogram} given only as counts: its series starts at 1 and
     * grows by a fifth. MetadataCollector builds partition sizes with 155 bounds and cell counts
     * with 118, or with 150 and 114 in 4.0.
     */
    private static long[] estimatedBounds(String name) {
        int count = name.contains("column") ? 118 : 155;
        long[] bounds = new long[count];
        long last = 1;
        bounds[0] = 1;
        for (int i = 1; i < count; i++) {
            last = Math.max(last + 1, Math.round(last * 1.2));
            bounds[i] = last;
        }
        return bounds;
    }

    private Naming.Source gaugeSource(String name, Gauge<?> gauge) {
        Object value;
        try {
            value = gauge.getValue();
        } catch (Throwable thrown) {
            gaugeErrors++;
            value = null;
        }
        if (value == null) {
            undecided.putIfAbsent(name, 0);
            return null;
        }
        if (value instanceof Double || value instanceof Float) {
            return Naming.Source.DOUBLE_GAUGE;
        }
        if (value instanceof Number) {
            return Naming.Source.LONG_GAUGE;
        }
        return value instanceof long[] ? Naming.Source.BUCKET_GAUGE : null;
    }

    private FamilyTable family(Family family) {
        FamilyTable table = families.get(family.entity);
        if (table == null) {
            table = new FamilyTable(model.add(new Template(family.entity, family.labels)));
            families.put(family.entity, table);
            order.add(table);
        }
        return table;
    }
}
