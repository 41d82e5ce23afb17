package dev.ringwatch.agent.kafka;

import dev.ringwatch.agent.beans.BeanWatch;
import dev.ringwatch.agent.frame.Kind;
import dev.ringwatch.agent.frame.Metric;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Consumer;
import javax.management.Attribute;
import javax.management.AttributeList;
import javax.management.JMException;
import javax.management.MBeanAttributeInfo;
import javax.management.MBeanServer;
import javax.management.ObjectName;

/**
 * The beans of Kafka's own metrics, four times a minute each. Rates of what is counted, too, are
 * left out: whoever has the count has the rate.
 */
final class KafkaBeans {
    private static final String CLASS =
            "org.apache.kafka.common.metrics.JmxReporter$KafkaMbean";
    private static final int READ_PER_MINUTE = 4;
    private static final int NAMED = 2_000;
    private static final int MAX_TEXT = 255;

    /** One attribute of a bean. */
    private static final class Leaf {
        final Metric out;
        final double factor;

        Leaf(Metric out, double factor) {
            this.out = out;
            this.factor = factor;
        }
    }

    private static final class Bean {
        final ObjectName name;
        final Naming.Bean named;
        Entities.Row row;
        final Map<String, Leaf> leaves = new HashMap<>();
        final List<String> attributes = new ArrayList<>();
        /** Counts whose rate is there, too: they only rise. */
        final Set<String> counted = new HashSet<>();

        Bean(ObjectName name, Naming.Bean named) {
            this.name = name;
            this.named = named;
        }
    }

    private final MBeanServer server;
    private final Entities entities;
    private final BeanWatch watch;
    private final Map<ObjectName, Bean> beans = new HashMap<>();
    private final List<Bean> order = new ArrayList<>();
    private long errors;

    KafkaBeans(MBeanServer server, Entities entities, Consumer<String> say) {
        this.server = server;
        this.entities = entities;
        BeanWatch watching = null;
        try {
            watching = new BeanWatch(server);
        } catch (JMException | RuntimeException e) {
            say.accept("Kafka's own metrics are not read: " + e + "; report this");
        }
        watch = watching;
    }

    void sample(long pass, int passesPerMinute) {
        if (watch == null) {
            return;
        }
        takeNames();
        int spacing = Math.max(1, passesPerMinute / READ_PER_MINUTE);
        for (int i = 0; i < order.size(); i++) {
            if ((pass + i) % spacing == 0) {
                read(order.get(i));
            }
        }
    }

    private void takeNames() {
        for (int n = 0; n < NAMED;) {
            ObjectName name = watch.poll();
            if (name == null) {
                return;
            }
            String written = name.getCanonicalName();
            if (!written.startsWith("kafka.") || written.contains(",name=")
                    || written.contains(":name=")) { // Yammer's, which are far more
                continue;
            }
            n++;
            Bean before = beans.remove(name);
            if (before != null) {
                order.remove(before);
                if (before.row != null) {
                    before.leaves.values().forEach(leaf -> leaf.out.absent(before.row.slot()));
                    entities.leave(before.row);
                }
            }
            add(name);
        }
    }

    private void add(ObjectName name) {
        try {
            if (!server.getObjectInstance(name).getClassName().equals(CLASS)) {
                return;
            }
            Naming.Bean named = Naming.bean(name.toString());
            if (named == null || named.base.equals("kafka_server_app_info")) { // facts say so
                return;
            }
            Bean bean = new Bean(name, named);
            Set<String> there = new HashSet<>();
            MBeanAttributeInfo[] infos = server.getMBeanInfo(name).getAttributes();
            for (MBeanAttributeInfo info : infos) {
                there.add(info.getName());
            }
            for (String attribute : there) {
                if (!isCounted(attribute, there)) {
                    bean.attributes.add(attribute);
                }
                if (attribute.endsWith("-count") && there.contains(attribute.substring(0,
                        attribute.length() - "-count".length()) + "-rate")) {
                    bean.counted.add(attribute);
                }
            }
            beans.put(name, bean);
            order.add(bean);
            read(bean);
        } catch (JMException | RuntimeException gone) {
            return;
        }
    }

    /** Whether it is the rate of something whose count is there. */
    private static boolean isCounted(String attribute, Set<String> there) {
        String base = attribute.endsWith("-rate")
                ? attribute.substring(0, attribute.length() - "-rate".length()) : null;
        return base != null && (there.contains(base + "-total") || there.contains(base + "-count"));
    }

    private void read(Bean bean) {
        AttributeList values;
        try {
            values = server.getAttributes(bean.name, bean.attributes.toArray(new String[0]));
        } catch (JMException | RuntimeException gone) {
            return;
        }
        for (Object each : values) {
            Attribute attribute = (Attribute) each;
            Object value = attribute.getValue();
            Leaf leaf = bean.leaves.get(attribute.getName());
            if (leaf == null) {
                leaf = value == null ? null : leaf(bean, attribute.getName(), value);
                if (leaf == null) {
                    continue;
                }
                bean.leaves.put(attribute.getName(), leaf);
            }
            try {
                set(leaf, bean.row.slot(), value);
            } catch (RuntimeException odd) {
                errors++;
            }
        }
    }

    private Leaf leaf(Bean bean, String attribute, Object value) {
        boolean text = value instanceof String;
        if (!text && !(value instanceof Number || value instanceof Boolean)) {
            return null;
        }
        Entities.Type type = entities.type(bean.named.type(), bean.named.labels);
        if (bean.row == null) {
            bean.row = entities.use(type, bean.named.values);
        }
        if (bean.row == null) {
            return null;
        }
        String called = (bean.named.name.isEmpty() ? "" : bean.named.name + '-') + attribute;
        String base = called.endsWith("-count")
                ? called.substring(0, called.length() - "-count".length()) : called;
        boolean counts = called.endsWith("-total") || bean.counted.contains(attribute);
        base = called.endsWith("-total")
                ? called.substring(0, called.length() - "-total".length()) : counts ? base : called;
        Naming.Scaled scaled = Naming.scaled(base);
        boolean real = value instanceof Double || value instanceof Float;
        Kind kind = text ? Kind.STRING : counts ? Kind.COUNTER
                : real ? Kind.GAUGE_DOUBLE : Kind.GAUGE;
        Metric out = entities.metric(type, bean.named.metric(scaled.name)
                + (text ? "_info" : counts ? "_total" : ""), kind, text ? "" : scaled.unit,
                kind == Kind.GAUGE || kind == Kind.COUNTER ? scaled.exponent : 0);
        return out == null ? null : new Leaf(out, scaled.factor());
    }

    private static void set(Leaf leaf, int slot, Object value) {
        if (leaf.out.kind == Kind.STRING) {
            String text = String.valueOf(value);
            leaf.out.setText(slot, text.length() > MAX_TEXT ? text.substring(0, MAX_TEXT) : text);
        } else if (leaf.out.kind == Kind.COUNTER && value instanceof Number) {
            double count = ((Number) value).doubleValue();
            if (count >= 0) {
                leaf.out.set(slot, Math.round(count));
            } else {
                leaf.out.absent(slot);
            }
        } else {
            Cell.set(leaf.out, slot, value, leaf.factor);
        }
    }

    long errors() {
        return errors;
    }
}
