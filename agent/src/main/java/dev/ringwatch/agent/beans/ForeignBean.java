package dev.ringwatch.agent.beans;

import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.Date;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeSet;
import javax.management.MBeanAttributeInfo;
import javax.management.MBeanInfo;
import javax.management.MBeanServer;
import javax.management.ObjectName;
import javax.management.openmbean.CompositeData;
import javax.management.openmbean.TabularData;

/**
 * A bean that is read through the MBean server, by the thread that reads such beans. An attribute
 * that cannot be a number, or that no profile names, is never asked for.
 */
final class ForeignBean {
    /** Attributes whose value nobody could use so often are given up. */
    private static final int MAX_USELESS = 3;
    private static final int MAX_LEAVES = 10_000;
    private static final int MAX_DEPTH = 16;

    /** One number of it under one profile's name. */
    static final class Leaf {
        final Output output;
        final Named named;
        final boolean looksAtValue;
        private Object lastValue;

        Leaf(Output output, Named named, boolean looksAtValue) {
            this.output = output;
            this.named = named;
            this.looksAtValue = looksAtValue;
        }
    }

    /** What one look at it gave. Never changed after it is published. */
    static final class Reading {
        final List<Leaf> leaves = new ArrayList<>();
        final List<Object> values = new ArrayList<>();
    }

    private static final class Asked {
        final String name;
        final String description;
        int useless;

        Asked(String name, String description) {
            this.name = name;
            this.description = description;
        }
    }

    final ObjectName name;
    private final Direct direct;
    private final List<BeanProfile> profiles;
    private final Map<String, String> properties;
    private final List<Asked> asked = new ArrayList<>();
    private final Map<String, Leaf> known = new HashMap<>();
    /** Read by the pass. */
    volatile Reading reading;
    /** Set once: it is not read any more. */
    volatile boolean leftOut;
    /** Written by the reading thread. */
    volatile long costNs;
    /** CPU time of all its reads; written by the reading thread. */
    volatile long totalNs;
    int dear;

    /**
     * @param profiles those that want it
     * @param direct null: it is read through the MBean server
     */
    ForeignBean(ObjectName name, MBeanInfo info, List<BeanProfile> profiles, Direct direct) {
        this.direct = direct;
        this.name = name;
        this.profiles = profiles;
        this.properties = Attribute.properties(name);
        boolean texts = false;
        for (BeanProfile profile : profiles) {
            texts |= profile.namer.readsTexts();
        }
        for (MBeanAttributeInfo attribute : info.getAttributes()) {
            if (attribute.isReadable() && mayBeNumber(attribute.getType(), texts)
                    && mayBeNamed(attribute)) {
                asked.add(new Asked(attribute.getName(), attribute.getDescription()));
            }
        }
    }

    /** Whether no MBean server is asked for it. */
    boolean isDirect() {
        return direct != null;
    }

    boolean isEmpty() {
        return asked.isEmpty();
    }

    static boolean mayBeNumber(String type, boolean texts) {
        if (type.equals("java.lang.String")) {
            return texts;
        }
        return !type.startsWith("[") && !type.endsWith("ObjectName") && !type.equals("char")
                && !type.equals("java.util.List")
                && !type.equals("java.util.Set") && !type.equals("java.util.Map")
                && !type.equals("java.util.Collection");
    }

    /** What is plainly a number has one name, which is known before it is read. */
    private boolean mayBeNamed(MBeanAttributeInfo info) {
        boolean plain = info.getType().matches("byte|short|int|long|float|double|boolean"
                + "|java\\.lang\\.(Byte|Short|Integer|Long|Float|Double|Boolean|Number)");
        Attribute attribute = new Attribute(name, properties, info.getName(),
                info.getDescription());
        for (BeanProfile profile : profiles) {
            try {
                if (profile.namer.wants(name, info.getName())
                        && (!plain || profile.namer.looksAtValue(attribute)
                        || profile.namer.name(attribute, null) != null)) {
                    return true;
                }
            } catch (Namer.Unusable seenWhenRead) {
                return true;
            }
        }
        return false;
    }

    /** Asks for everything once. What throws has no value this time. */
    void read(MBeanServer server) {
        Reading next = new Reading();
        for (int i = asked.size() - 1; i >= 0; i--) {
            Asked attribute = asked.get(i);
            Object value;
            try {
                value = direct != null ? direct.get(attribute.name)
                        : server.getAttribute(name, attribute.name);
            } catch (Exception | LinkageError | StackOverflowError without) {
                continue;
            }
            int before = next.leaves.size();
            walk(properties, Collections.emptyList(), attribute.name, attribute.description, value,
                    next, 0, attribute.name);
            if (value != null && next.leaves.size() == before && !isOpen(value)) {
                if (++attribute.useless >= MAX_USELESS) {
                    asked.remove(i);
                }
            }
        }
        reading = next;
    }

    /** May be others tomorrow. */
    private static boolean isOpen(Object value) {
        return value instanceof CompositeData || value instanceof TabularData
                || value instanceof String || value instanceof Number;
    }

    private void walk(Map<String, String> of, List<String> path, String attribute,
            String description, Object value, Reading into, int depth,
            String top) {
        if (value == null || depth > MAX_DEPTH || into.leaves.size() >= MAX_LEAVES) {
            return;
        }
        if (value instanceof Date) {
            leaf(of, path, attribute, description, ((Date) value).getTime() / 1000.0, into, top);
        } else if (value instanceof Number || value instanceof String || value instanceof Boolean) {
            leaf(of, path, attribute, description, value, into, top);
        } else if (value instanceof CompositeData) {
            CompositeData composite = (CompositeData) value;
            List<String> deeper = with(path, attribute);
            for (String key : composite.getCompositeType().keySet()) {
                walk(of, deeper, key, composite.getCompositeType().getDescription(),
                        composite.get(key), into, depth + 1, top);
            }
        } else if (value instanceof TabularData) {
            table(of, path, attribute, (TabularData) value, into, depth, top);
        } else if (value instanceof Optional) {
            walk(of, path, attribute, description, ((Optional<?>) value).orElse(null), into,
                    depth + 1, top);
        } else if (value instanceof Enum) {
            leaf(of, path, attribute, description, value.toString(), into, top);
        }
    }

    /**
     * Each row's keys become properties; the values are the others, of which one called {@code
     * value} is the attribute itself.
     */
    private void table(Map<String, String> of, List<String> path, String attribute,
            TabularData data, Reading into, int depth, String top) {
        List<String> keys = data.getTabularType().getIndexNames();
        Collection<String> values = new TreeSet<>(data.getTabularType().getRowType().keySet());
        values.removeAll(keys);
        for (Object each : data.values()) {
            if (!(each instanceof CompositeData)) {
                continue;
            }
            CompositeData row = (CompositeData) each;
            Map<String, String> properties = new LinkedHashMap<>(of);
            for (String key : keys) {
                Object value = row.get(key);
                String free = key;
                while (properties.containsKey(free)) {
                    free += "_";
                }
                if (value instanceof CompositeData) {
                    for (String inner : ((CompositeData) value).getCompositeType().keySet()) {
                        properties.put(free + "_" + inner,
                                String.valueOf(((CompositeData) value).get(inner)));
                    }
                } else if (value != null) {
                    properties.put(free, value.toString());
                }
            }
            for (String name : values) {
                boolean itself = name.equalsIgnoreCase("value");
                walk(properties, itself ? path : with(path, attribute), itself ? attribute : name,
                        data.getTabularType().getRowType().getDescription(), row.get(name), into,
                        depth + 1, top);
            }
        }
    }

    private static List<String> with(List<String> path, String more) {
        List<String> longer = new ArrayList<>(path);
        longer.add(more);
        return longer;
    }

    private void leaf(Map<String, String> of, List<String> path, String attribute,
            String description, Object value, Reading into, String top) {
        String key = of == properties && path.isEmpty() ? attribute : of + "\0" + path + "\0"
                + attribute;
        for (int p = 0; p < profiles.size(); p++) {
            BeanProfile profile = profiles.get(p);
            String ofProfile = p == 0 ? key : p + "\0" + key;
            Leaf leaf = known.get(ofProfile);
            if (leaf == null || leaf.looksAtValue && !value.equals(leaf.lastValue)) {
                Attribute named = new Attribute(name.getDomain(), of, path, attribute, description);
                boolean wanted = profile.namer.wants(name, top);
                Leaf made = new Leaf(profile.output, wanted ? profile.name(named, value)
                        : null,
                        leaf != null ? leaf.looksAtValue : wanted
                        && profile.namer.looksAtValue(named));
                leaf = leaf != null && same(leaf.named, made.named) ? leaf : made;
                leaf.lastValue = leaf.looksAtValue ? value : null;
                if (known.size() < MAX_LEAVES) {
                    known.put(ofProfile, leaf);
                }
            }
            boolean shown = leaf.named != null
                    && (leaf.named.constant != null || !(value instanceof String));
            if (shown) {
                into.leaves.add(leaf);
                into.values.add(value);
            }
        }
    }

    private static boolean same(Named a, Named b) {
        return a == b || a != null && b != null && a.name.equals(b.name)
                && a.labels.equals(b.labels)
                && java.util.Objects.equals(a.constant, b.constant);
    }
}
