package dev.ringwatch.agent.kafka;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Hashtable;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import javax.management.MalformedObjectNameException;
import javax.management.ObjectName;

/**
 * How Kafka's metrics are called in frames: {@code kafka.server:type=T,name=N,topic=x} is {@code
 * kafka_server_t_n{topic="x"}}, as the JMX exporter's example for Kafka has it, in base units.
 */
final class Naming {
    /** Labels that only some entities of a type have: they are one type, else empty. */
    private static final Map<String, String[]> OPTIONAL = Map.of(
            "kafka.server:BrokerTopicMetrics", new String[] {"topic"},
            "kafka.network:RequestChannel", new String[] {"processor"},
            "kafka.server:Produce", new String[] {"client_id", "user"},
            "kafka.server:Fetch", new String[] {"client_id", "user"},
            "kafka.server:Request", new String[] {"client_id", "user"},
            "kafka.server:ControllerMutation", new String[] {"client_id", "user"},
            "kafka.server:socket-server-metrics", new String[] {"cipher", "clientSoftwareName",
                "clientSoftwareVersion", "listener", "networkProcessor", "protocol"});
    /** No entity's label may be called so in a frame. */
    private static final Set<String> FORBIDDEN =
            Set.of("cluster", "datacenter", "rack", "node", "le", "quantile");
    private static final int MAX_LABEL = 255;
    private static final int MAX_NAME = 200;

    /** A bean's name taken apart. */
    static final class Bean {
        /** Entity type, without the labels' part. */
        final String base;
        /** What it is called beside its type, or empty. */
        final String name;
        final String[] labels;
        final String[] values;

        Bean(String base, String name, String[] labels, String[] values) {
            this.base = base;
            this.name = name;
            this.labels = labels;
            this.values = values;
        }

        /** Entities with these labels are of one type. */
        String type() {
            return labels.length == 0 ? base
                    : lower(base + "_by_" + String.join("_", labels));
        }

        String metric(String called) {
            return base + '_' + lower(called);
        }
    }

    /** A name without its unit, and what the unit is. */
    static final class Scaled {
        final String name;
        final String unit;
        /** Values stand for themselves × 10^exponent. */
        final int exponent;

        Scaled(String name, String unit, int exponent) {
            this.name = name;
            this.unit = unit;
            this.exponent = exponent;
        }

        double factor() {
            return exponent == 0 ? 1 : exponent == -3 ? 1e-3 : exponent == -6 ? 1e-6 : 1e-9;
        }
    }

    private Naming() {}

    /** Null if it is none of Kafka's, or one that frames have no place for. */
    static Bean bean(String objectName) {
        ObjectName bean;
        try {
            bean = new ObjectName(objectName); // a copy: what is asked of it goes away with it
        } catch (MalformedObjectNameException | NullPointerException odd) {
            return null;
        }
        Hashtable<String, String> properties = bean.getKeyPropertyList();
        String type = properties.remove("type");
        if (!bean.getDomain().startsWith("kafka.") || type == null) {
            return null;
        }
        String name = properties.remove("name");
        String of = bean.getDomain() + ':' + type;
        TreeMap<String, String> labels = new TreeMap<>();
        for (String optional : OPTIONAL.getOrDefault(of, new String[0])) {
            labels.put(optional, "");
        }
        for (Map.Entry<String, String> each : properties.entrySet()) {
            String value = each.getValue();
            if (value.startsWith("\"")) {
                value = ObjectName.unquote(value);
            }
            labels.put(label(each.getKey()), value);
        }
        String base = lower(bean.getDomain() + '_' + type);
        for (String value : labels.values()) {
            if (value.getBytes(StandardCharsets.UTF_8).length > MAX_LABEL) {
                return null;
            }
        }
        if (base.length() > MAX_NAME || name != null && name.length() > MAX_NAME) {
            return null;
        }
        return new Bean(base, name == null ? "" : name, labels.keySet().toArray(new String[0]),
                labels.values().toArray(new String[0]));
    }

    private static String label(String key) {
        String label = key.replaceAll("[^a-zA-Z0-9_]", "_");
        boolean free = !FORBIDDEN.contains(label) && !label.startsWith("__")
                && !label.startsWith("recorded_") && !Character.isDigit(label.charAt(0));
        return free ? label : "kafka_" + label;
    }

    private static String lower(String text) {
        return text.replaceAll("[^a-zA-Z0-9_]", "_").toLowerCase(Locale.ROOT);
    }

    /**
     * {@code TotalTimeMs} → {@code TotalTime_seconds} and milliseconds, {@code io-time-ns-avg} →
     * {@code io-time-avg_seconds} and nanoseconds. What names no unit stays as it is.
     */
    static Scaled scaled(String name) {
        List<String> parts = new ArrayList<>(Arrays.asList(name.split("[-._]")));
        for (int i = 0; i < parts.size(); i++) {
            String part = parts.get(i);
            int exponent = exponent(part);
            if (exponent > 0) {
                continue;
            }
            String without = part.replaceFirst("(ms|Ms|ns|us|Us|secs)$", "");
            if (without.isEmpty()) {
                parts.remove(i);
            } else {
                parts.set(i, without);
            }
            return new Scaled(String.join("_", parts) + "_seconds", "seconds", exponent);
        }
        return new Scaled(name, name.matches("(?i).*bytes?([-_].*)?") ? "bytes" : "", 0);
    }

    /** 1 where the part of a name names no unit of time. */
    private static int exponent(String part) {
        if (part.equals("secs")) {
            return 0;
        }
        if (part.equals("ms") || part.endsWith("Ms") || part.endsWith("Timestamp")
                || part.equals("timestamp")) {
            return -3;
        }
        if (part.equals("us") || part.endsWith("TimeUs")) {
            return -6;
        }
        return part.equals("ns") ? -9 : 1;
    }
}
