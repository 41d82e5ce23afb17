package dev.ringwatch.agent.beans;

import com.codahale.metrics.Metric;
import java.util.Map;

/**
 * Which entry of Cassandra's registry a bean shows. Registry names are {@code
 * …metrics.TYPE.NAME[.SCOPE]}, where the scope is the bean's other properties in their order. Some
 * metrics have a second bean under an old name, which shows the same object. A bean for which no
 * such entry is found is read as any other bean.
 */
final class RegistryNames {
    static final String DOMAIN = "org.apache.cassandra.metrics";

    /** Second names of the same metrics, which only beans have. */
    private static final Map<String, String> ALIASES = Map.of(
            "EstimatedRowSizeHistogram", "EstimatedPartitionSizeHistogram", "EstimatedRowCount",
            "EstimatedPartitionCount",
            "MinRowSize", "MinPartitionSize", "MaxRowSize", "MaxPartitionSize", "MeanRowSize",
            "MeanPartitionSize",
            "MemtableOnHeapSize", "MemtableOnHeapDataSize", "MemtableOffHeapSize",
            "MemtableOffHeapDataSize",
            "AllMemtablesHeapSize", "AllMemtablesOnHeapDataSize", "AllMemtablesOffHeapSize",
            "AllMemtablesOffHeapDataSize");

    /** What messages were called before 4.0, where a suffix is not all that has changed. */
    private static final Map<String, String> MESSAGES = Map.of("RANGE_SLICE", "RANGE_REQ",
            "REQUEST_RESPONSE", "REQUEST_RSP");

    private RegistryNames() {}

    /**
     * Null if there is none.
     *
     * @param properties of a bean of {@link #DOMAIN}, in their order
     */
    static Metric metric(Map<String, String> properties, Map<String, Metric> registry) {
        String type = properties.get("type");
        String name = properties.get("name");
        if (type == null || name == null) {
            return null;
        }
        StringBuilder others = new StringBuilder();
        properties.forEach((key, value) -> {
            if (!key.equals("type") && !key.equals("name")) {
                others.append('.').append(value);
            }
        });
        String scope = others.toString();
        Metric found = registry.get(DOMAIN + '.' + type + '.' + name + scope);
        if (found != null) {
            return found;
        }
        String ofAll = scope.isEmpty() ? ".all" : scope;
        switch (type) {
            case "Table":
            case "ColumnFamily":
            case "IndexTable":
            case "IndexColumnFamily":
                String table = type.replace("ColumnFamily", "Table");
                found = registry.get(DOMAIN + '.' + table + '.' + name + ofAll);
                return found != null ? found
                        : registry.get(DOMAIN + '.' + table + '.' + today(name) + ofAll);
            case "Keyspace":
                return registry.get(DOMAIN + ".keyspace." + name + scope);
            case "DroppedMessage":
                String message = properties.getOrDefault("scope", "");
                return registry.get(DOMAIN + '.' + type + '.' + name + '.'
                        + MESSAGES.getOrDefault(message, message + "_REQ"));
            case "ClientRequest": // of writes, and under the name of reads as well
                return scope.equals(".CASRead") && name.equals("ConditionNotMet")
                        ? registry.get(DOMAIN + '.' + type + '.' + name + ".CASWrite") : null;
            case "BufferPool": // before 4.0 there was one
                return scope.isEmpty()
                        ? registry.get(DOMAIN + '.' + type + '.' + name + ".chunk-cache") : null;
            case "Client": // connectedNativeClients
                return registry.get(DOMAIN + '.' + type + '.' + capital(name) + scope);
            default:
                return null;
        }
    }

    /** What a metric of tables that has an old name is called now; any other name as it is. */
    static String today(String name) {
        return ALIASES.getOrDefault(name, name);
    }

    private static String capital(String name) {
        return name.isEmpty() ? name : Character.toUpperCase(name.charAt(0)) + name.substring(1);
    }
}
