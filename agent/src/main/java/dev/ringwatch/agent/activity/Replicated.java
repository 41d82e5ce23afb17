package dev.ringwatch.agent.activity;

import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.UUID;
import org.apache.cassandra.db.ColumnFamilyStore;
import org.apache.cassandra.db.Keyspace;
import org.apache.cassandra.locator.AbstractReplicationStrategy;
import org.apache.cassandra.locator.NetworkTopologyStrategy;
import org.apache.cassandra.schema.TableMetadata;

/** A table of the operator's with more than one replica: what repairs are for. */
final class Replicated {
    final String keyspace;
    final String table;
    final int gcGraceSeconds;
    /** Seconds since 1970 when it was created; 0 if its id does not tell. */
    final int created;
    /** Those that have replicas; empty if the strategy knows none. */
    final Set<String> datacenters;

    Replicated(String keyspace, String table, int gcGraceSeconds, int created,
            Set<String> datacenters) {
        this.keyspace = keyspace;
        this.table = table;
        this.gcGraceSeconds = gcGraceSeconds;
        this.created = created;
        this.datacenters = datacenters;
    }

    static String key(String keyspace, String table) {
        return keyspace + '.' + table;
    }

    static List<Replicated> all() {
        List<Replicated> all = new ArrayList<>();
        for (Keyspace keyspace : Keyspace.all()) {
            String name = keyspace.getName();
            AbstractReplicationStrategy strategy = keyspace.getReplicationStrategy();
            if (name.equals("system") || name.startsWith("system_")
                    || strategy.getReplicationFactor().allReplicas < 2) {
                continue;
            }
            Set<String> datacenters = strategy instanceof NetworkTopologyStrategy
                    ? new HashSet<>(((NetworkTopologyStrategy) strategy).getDatacenters())
                    : Collections.emptySet();
            for (ColumnFamilyStore store : keyspace.getColumnFamilyStores()) {
                TableMetadata table = store.metadata();
                all.add(new Replicated(name, table.name, table.params.gcGraceSeconds,
                        created(table.id.asUUID()), datacenters));
            }
        }
        return all;
    }

    /** Ids of tables are time-based until 5.0. */
    static int created(UUID id) {
        return id.version() == 1 ? (int) (Pace.madeMs(id) / 1000) : 0;
    }

    static Collection<String> tablesOf(String keyspace) {
        List<String> names = new ArrayList<>();
        for (Keyspace one : Keyspace.all()) {
            if (one.getName().equals(keyspace)) {
                for (ColumnFamilyStore store : one.getColumnFamilyStores()) {
                    names.add(store.metadata().name);
                }
            }
        }
        return names;
    }
}
