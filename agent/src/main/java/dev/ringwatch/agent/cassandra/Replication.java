package dev.ringwatch.agent.cassandra;

import dev.ringwatch.agent.frame.Kind;
import dev.ringwatch.agent.frame.Metric;
import dev.ringwatch.agent.frame.Model;
import dev.ringwatch.agent.frame.Template;
import java.util.HashMap;
import java.util.Iterator;
import java.util.Map;
import java.util.TreeMap;
import org.apache.cassandra.schema.KeyspaceMetadata;

/**
 * How many copies of each keyspace this node's datacenter has. It is read when the version of the
 * schema is another than before, so an idle pass compares two texts.
 *
 * <p>Who counts replicas must have all keyspaces: where that cannot be, none is said.
 */
final class Replication {
    /** Where a strategy does not tell it by its options. */
    static final long UNKNOWN = -1;
    private static final int MAX_KEYSPACES = 4096;

    private static final class Row extends Template.Entity {
        final String strategy;

        Row(String strategy) {
            this.strategy = strategy;
        }
    }

    private final Template template;
    private final Metric replicas;
    private final Map<String, Row> rows = new HashMap<>();
    private String version = "";
    private String datacenter = "";
    private boolean failed;

    Replication(Model model) {
        template = model.add(new Template("replication", "keyspace", "strategy"));
        replicas = template.add(
                Metric.scalar("cassandra_keyspace_replicas", Kind.GAUGE, "", 0));
    }

    /**
     * @param schemaVersion a text that is another when the schema is
     * @param ownDatacenter empty while it is not known
     * @param slowTurn once a minute: what could not be read is read again
     */
    void sample(String schemaVersion, String ownDatacenter, boolean slowTurn) {
        if (ownDatacenter.isEmpty() || schemaVersion.equals(version)
                && ownDatacenter.equals(datacenter) && !(failed && slowTurn)) {
            return;
        }
        Map<String, Map<String, String>> all = new TreeMap<>();
        try {
            for (Map.Entry<String, KeyspaceMetadata> entry : Keyspaces.all().entrySet()) {
                all.put(entry.getKey(), entry.getValue().params.replication.asMap());
            }
            failed = false;
        } catch (ReflectiveOperationException | RuntimeException | LinkageError otherVersion) {
            all.clear();
            failed = true;
        }
        show(all, ownDatacenter);
        version = schemaVersion;
        datacenter = ownDatacenter;
    }

    /** @param all by keyspace, its options of replication as CQL has them */
    void show(Map<String, Map<String, String>> all, String ownDatacenter) {
        Map<String, Map<String, String>> now = new TreeMap<>(all);
        // of a node's own data, and of Cassandra 6's log of its metadata, nobody asks for a quorum
        now.values().removeIf(options -> isOneOf(strategy(options), "LocalStrategy",
                "MetaStrategy"));
        if (now.size() > MAX_KEYSPACES) {
            now.clear();
        }
        for (Iterator<Map.Entry<String, Row>> had = rows.entrySet().iterator(); had.hasNext();) {
            Map.Entry<String, Row> row = had.next();
            Map<String, String> options = now.get(row.getKey());
            if (options == null || !strategy(options).equals(row.getValue().strategy)) {
                template.removeEntity(row.getValue().slot());
                had.remove();
            }
        }
        for (Map.Entry<String, Map<String, String>> keyspace : now.entrySet()) {
            String strategy = strategy(keyspace.getValue());
            Row row = rows.get(keyspace.getKey());
            if (row == null) {
                row = new Row(strategy);
                template.addEntity(row, keyspace.getKey(), strategy);
                rows.put(keyspace.getKey(), row);
            }
            replicas.set(row.slot(), replicas(strategy, keyspace.getValue(), ownDatacenter));
        }
    }

    private static String strategy(Map<String, String> options) {
        String name = options.getOrDefault("class", "");
        return name.substring(name.lastIndexOf('.') + 1);
    }

    private static boolean isOneOf(String name, String first, String second) {
        return name.equals(first) || name.equals(second);
    }

    private static long replicas(String strategy, Map<String, String> options,
            String ownDatacenter) {
        String count;
        if (strategy.equals("NetworkTopologyStrategy")) {
            count = options.getOrDefault(ownDatacenter, "0");
        } else if (strategy.equals("SimpleStrategy")) {
            count = options.getOrDefault("replication_factor", "");
        } else {
            return UNKNOWN;
        }
        try { // 3/1: one of the three is transient
            return Integer.parseInt(count.split("/", 2)[0].trim());
        } catch (NumberFormatException other) {
            return UNKNOWN;
        }
    }
}
