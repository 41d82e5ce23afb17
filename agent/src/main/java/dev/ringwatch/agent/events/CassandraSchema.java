package dev.ringwatch.agent.events;

import dev.ringwatch.agent.cassandra.Keyspaces;
import java.nio.ByteBuffer;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.function.Predicate;
import java.util.function.Supplier;
import org.apache.cassandra.db.marshal.AbstractType;
import org.apache.cassandra.schema.ColumnMetadata;
import org.apache.cassandra.schema.KeyspaceMetadata;
import org.apache.cassandra.schema.TableMetadata;

/**
 * The schema, as it is and as it changes. Each pass asks for its version, and only where that is
 * another compares what there is with what there was: listeners are made differently from one
 * version of Cassandra to the next. So a change is told when the next pass comes, and by every
 * node.
 */
public final class CassandraSchema implements EventSource, SchemaNames {
    private static final int MAX_TOLD = 50;

    private final Inbox inbox;
    private final Supplier<String> version;
    private Map<String, KeyspaceMetadata> known;
    private String knownVersion = "";

    /** @param version of the schema: a text that changes whenever it does */
    public CassandraSchema(Inbox inbox, Supplier<String> version) {
        this.inbox = inbox;
        this.version = version;
    }

    private static TableMetadata table(String keyspace, String table) {
        KeyspaceMetadata its = keyspace.isEmpty() ? null : Keyspaces.of(keyspace);
        return its == null ? null : its.getTableOrViewNullable(table);
    }

    private static Map<String, TableMetadata> tables(KeyspaceMetadata keyspace) {
        Map<String, TableMetadata> all = new HashMap<>();
        for (TableMetadata table : keyspace.tablesAndViews()) {
            all.put(table.name, table);
        }
        return all;
    }

    @Override
    public void open() {
        known = null;
        look(false);
    }

    @Override
    public void close() {
        known = null;
        knownVersion = "";
    }

    @Override
    public void look(boolean slowTurn) {
        String now = version.get();
        if (now.equals(knownVersion) && known != null) {
            return;
        }
        try {
            Map<String, KeyspaceMetadata> all = Keyspaces.all();
            if (known != null) {
                compare(known, all);
            }
            known = all;
            knownVersion = now;
        } catch (ReflectiveOperationException thrown) {
            return; // it is asked again
        }
    }

    private void compare(Map<String, KeyspaceMetadata> before, Map<String, KeyspaceMetadata> now) {
        Changes changes = new Changes();
        for (Map.Entry<String, KeyspaceMetadata> entry : before.entrySet()) {
            if (!now.containsKey(entry.getKey())) {
                changes.add(entry.getKey(), "", "dropped", "");
            }
        }
        for (Map.Entry<String, KeyspaceMetadata> entry : now.entrySet()) {
            KeyspaceMetadata was = before.get(entry.getKey());
            KeyspaceMetadata is = entry.getValue();
            if (was == null) {
                changes.add(is.name, "", "created", "");
                compareTables(is.name, Map.of(), tables(is), changes);
            } else if (was != is && !was.equals(is)) {
                boolean same = was.params.equals(is.params);
                if (!same || !was.types.equals(is.types)) {
                    changes.add(is.name, "", "altered", same ? "its types" : "its replication");
                }
                if (!compareTables(is.name, tables(was), tables(is), changes) && same
                        && was.types.equals(is.types)) {
                    changes.add(is.name, "", "altered", "its functions");
                }
            }
        }
        changes.rest();
    }

    private static boolean compareTables(String keyspace, Map<String, TableMetadata> before,
            Map<String, TableMetadata> now, Changes changes) {
        boolean any = false;
        for (String name : new java.util.TreeSet<>(before.keySet())) {
            if (!now.containsKey(name)) {
                changes.add(keyspace, name, "dropped", "");
                any = true;
            }
        }
        for (String name : new java.util.TreeSet<>(now.keySet())) {
            TableMetadata was = before.get(name);
            TableMetadata is = now.get(name);
            if (was == null || !was.id.equals(is.id)) {
                changes.add(keyspace, name, "created", was == null ? "" : "in place of another");
                any = true;
            } else if (was != is && !was.equals(is)) {
                changes.add(keyspace, name, "altered", altered(was, is));
                any = true;
            }
        }
        return any;
    }

    private static String altered(TableMetadata was, TableMetadata is) {
        StringBuilder text = new StringBuilder();
        Set<String> before = columns(was);
        Set<String> now = columns(is);
        for (String column : now) {
            if (!before.contains(column)) {
                text.append(text.length() == 0 ? "" : ", ").append("column ").append(column)
                        .append(" added");
            }
        }
        for (String column : before) {
            if (!now.contains(column)) {
                text.append(text.length() == 0 ? "" : ", ").append("column ").append(column)
                        .append(" dropped");
            }
        }
        if (!was.params.equals(is.params)) {
            text.append(text.length() == 0 ? "" : ", ").append("its options");
        }
        return text.toString();
    }

    private static Set<String> columns(TableMetadata table) {
        Set<String> names = new java.util.TreeSet<>();
        for (ColumnMetadata column : table.columns()) {
            names.add(column.name.toString());
        }
        return names;
    }

    /** Tells so many one by one, and of the rest how many. */
    private final class Changes {
        private int count;

        void add(String keyspace, String table, String change, String text) {
            if (count++ < MAX_TOLD) {
                inbox.add(Seen.event(EventKind.SCHEMA, EventKind.SCHEMA.usual[0],
                        Map.of("keyspace", keyspace, "table", table, "change", change), text));
            }
        }

        void rest() {
            if (count > MAX_TOLD) {
                inbox.add(Seen.event(EventKind.SCHEMA, EventKind.SCHEMA.usual[0],
                        Map.of("change", "altered"), (count - MAX_TOLD) + " more changes"));
            }
        }
    }

    // For the reader of the log.

    @Override
    public boolean hasTable(String keyspace, String table) {
        try {
            return table(keyspace, table) != null;
        } catch (RuntimeException | LinkageError otherVersion) {
            return false;
        }
    }

    @Override
    public Predicate<String> namesOf(String keyspace, String table) {
        try {
            TableMetadata metadata = table(keyspace, table);
            if (metadata == null) {
                return name -> false;
            }
            Set<String> names = new HashSet<>(columns(metadata));
            names.add(keyspace);
            names.add(table);
            return names::contains;
        } catch (RuntimeException | LinkageError otherVersion) {
            return name -> false;
        }
    }

    @Override
    public String token(String keyspace, String table, String partition) {
        try {
            TableMetadata metadata = table(keyspace, table);
            if (metadata == null) {
                return "";
            }
            AbstractType<?> type = metadata.partitionKeyType;
            ByteBuffer key = type.fromString(partition);
            // what does not read back the same may be another partition's
            return type.getString(key).equals(partition)
                    ? metadata.partitioner.getToken(key).toString() : "";
        } catch (RuntimeException | LinkageError unreadable) {
            return "";
        }
    }
}
