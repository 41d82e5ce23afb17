package dev.ringwatch.agent.beans;

import com.codahale.metrics.Gauge;
import com.codahale.metrics.Metric;
import com.codahale.metrics.Timer;
import dev.ringwatch.agent.cassandra.Inventory;
import java.util.Date;
import java.util.List;
import java.util.Map;
import javax.management.JMException;
import javax.management.MBeanAttributeInfo;
import javax.management.MBeanInfo;
import javax.management.MBeanServer;

/**
 * What is to be read of a bean that shows one of Cassandra's metrics, under which names. Its values
 * come from the metric on each pass; the MBean server is asked what the bean is like, once.
 */
final class OfRegistry {
    private final MBeanServer server;
    private final Map<String, Metric> registry;
    private final ByValue byValue;

    OfRegistry(MBeanServer server, Map<String, Metric> registry, ByValue byValue) {
        this.server = server;
        this.registry = registry;
        this.byValue = byValue;
    }

    /** @return whether it is one; false: it must be read as other beans are */
    boolean plan(Plan plan, MBeanInfo info, List<BeanProfile> wanting) {
        if (!plan.name.getDomain().equals(RegistryNames.DOMAIN)) {
            return false;
        }
        Map<String, String> properties = Attribute.properties(plan.name);
        Metric metric = RegistryNames.metric(properties, registry);
        if (metric == null || !attributes(plan, properties, info, metric, wanting)) {
            plan.shown.clear();
            return false;
        }
        String type = properties.get("type");
        String name = properties.get("name");
        if (metric instanceof Gauge && name.startsWith("Estimated")
                && name.endsWith("Histogram")) {
            figures(plan, properties, wanting);
        }
        plan.metric = metric;
        String today = RegistryNames.today(name);
        plan.slow = Inventory.isSlow(type, today);
        plan.bySSTables = Inventory.isBySSTables(type, today);
        plan.scale = metric instanceof Timer ? Inventory.microseconds(metric) : 1;
        plan.keyspace = properties.get("keyspace");
        boolean ofTable = type.equals("Table") || type.equals("ColumnFamily")
                || type.equals("TrieMemtable");
        String table = properties.get(ofTable ? "scope" : "table");
        plan.table = plan.keyspace != null ? table : ofTable ? "" : null;
        return true;
    }

    /** False if some of them are not the metric's. */
    private boolean attributes(Plan plan, Map<String, String> properties, MBeanInfo info,
            Metric metric, List<BeanProfile> wanting) {
        Attribute bean = new Attribute(plan.name, properties, "", "");
        for (MBeanAttributeInfo attribute : info.getAttributes()) {
            int number = MetricBean.attribute(attribute.getName());
            if (number == MetricBean.UNIT) {
                unit(plan, bean, attribute, wanting);
                continue;
            }
            if (number < 0) {
                boolean texts = attribute.getType().equals("java.lang.String")
                        && wanting.stream().anyMatch(p -> p.namer.readsTexts());
                if (texts || ForeignBean.mayBeNumber(attribute.getType(), false)) {
                    return false;
                }
                continue;
            }
            if (!MetricBean.has(metric, number)) {
                return false;
            }
            Attribute named = bean.beside(attribute.getName(), attribute.getDescription());
            for (BeanProfile profile : wanting) {
                if (!profile.namer.wants(plan.name, attribute.getName())) {
                    continue;
                }
                if (profile.namer.looksAtValue(named)) {
                    boolean whole = attribute.getType().equals("long");
                    plan.shown.add(new Plan.Shown(named.name, byValue.cell(profile, named, whole)));
                    continue;
                }
                Named by = named(profile, named, metric, number);
                if (by != null) {
                    plan.shown.add(new Plan.Shown(profile.output, attribute.getName(), by));
                }
            }
        }
        return true;
    }

    /** A rule that cannot name it fails only where the exporter would see a value. */
    private static Named named(BeanProfile profile, Attribute attribute, Metric metric,
            int number) {
        try {
            return profile.namer.name(attribute, null);
        } catch (Namer.Unusable e) {
            Object value = 0;
            if (number == 0 && metric instanceof Gauge) {
                try {
                    value = ((Gauge<?>) metric).getValue();
                } catch (RuntimeException thrown) {
                    value = null;
                }
            }
            boolean seen = value instanceof Number || value instanceof Boolean
                    || value instanceof String || value instanceof Date;
            return seen ? profile.name(attribute, value) : null;
        }
    }

    /**
     * A unit is a text that never changes: it is read once, and shown where a rule gives a value.
     */
    private void unit(Plan plan, Attribute bean, MBeanAttributeInfo attribute,
            List<BeanProfile> wanting) {
        if (wanting.stream().noneMatch(profile -> profile.namer.readsTexts())) {
            return;
        }
        Object text;
        try {
            text = server.getAttribute(plan.name, attribute.getName());
        } catch (JMException gone) {
            return;
        }
        Attribute named = bean.beside(attribute.getName(), attribute.getDescription());
        for (BeanProfile profile : wanting) {
            boolean asks = profile.namer.readsTexts() && profile.namer.wants(plan.name, named.name);
            Named by = asks ? profile.name(named, text) : null;
            if (by != null && by.constant != null) {
                plan.shown.add(new Plan.Shown(profile.output, named.name, by));
            }
        }
    }

    private static void figures(Plan plan, Map<String, String> properties,
            List<BeanProfile> wanting) {
        for (BeanProfile profile : wanting) {
            for (String figure : profile.namer.readsBuckets() ? Buckets.FIGURES : new String[0]) {
                Named by = profile.namer.name(new Attribute(plan.name, properties, figure, figure),
                        null);
                if (by != null) {
                    plan.shown.add(new Plan.Shown(profile.output, MetricBean.OF_BUCKETS + figure,
                            by));
                }
            }
        }
    }
}
