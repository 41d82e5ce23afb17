package dev.ringwatch.agent.cql;

import java.util.Set;
import java.util.TreeSet;

/** Metric groups: the word after {@code org.apache.cassandra.metrics.} in a metric's name. */
final class Groups {
    static final String PREFIX = "org.apache.cassandra.metrics.";

    /**
     * Of 6.0-alpha2. All are there on every version, so that one query fits all; what a version
     * lacks is empty.
     */
    private static final String[] OF_6_0 = {
        "AccordCache", "AccordCoordinator", "AccordExecutor", "AccordReplica",
        "AccordSystem", "Batch", "BufferPool", "CIDRAuthorizer", "CQL", "Cache", "ChunkCache",
        "Client", "ClientMessageSize", "ClientRequest", "ClientRequestSize", "ColumnFamily",
        "CommitLog", "Compaction", "Connection", "DroppedMessage", "HintsService",
        "Index", "IndexColumnFamily", "IndexTable", "InternodeInbound", "Journal", "MemtablePool",
        "Messaging", "MutualTls", "Paxos", "ReadRepair", "Repair", "RouteIndex", "Storage",
        "StorageAttachedIndex", "StorageProxy", "Streaming", "TCM", "Table", "ThreadPools",
        "TrieMemtable", "UnweightedCache", "autorepair", "keyspace",
    };
    /**
     * Of 4.0 to 5.0, {@code InternodeInbound} in 6.0; there from the first connection of another
     * node on.
     */
    private static final String INBOUND = "InboundConnection";

    private Groups() {}

    /** All groups there may be, and those that are among {@code names}. */
    static Set<String> all(Iterable<String> names) {
        Set<String> groups = new TreeSet<>();
        for (String group : OF_6_0) {
            groups.add(group);
        }
        groups.add(INBOUND);
        String last = null;
        for (String name : names) {
            if (name.startsWith(PREFIX)
                    && (last == null || !name.startsWith(last, PREFIX.length()))) {
                int end = name.indexOf('.', PREFIX.length());
                if (end > 0) {
                    last = name.substring(PREFIX.length(), end + 1);
                    groups.add(name.substring(PREFIX.length(), end));
                }
            }
        }
        return groups;
    }

    /** {@code CIDRAuthorizer} → {@code cidr_authorizer_group}: a run of capitals is one word. */
    static String table(String group) {
        StringBuilder name = new StringBuilder();
        for (int i = 0; i < group.length(); i++) {
            char c = group.charAt(i);
            boolean capital = Character.isUpperCase(c);
            if (capital && i > 0 && (!Character.isUpperCase(group.charAt(i - 1))
                    || i + 1 < group.length() && Character.isLowerCase(group.charAt(i + 1)))) {
                name.append('_');
            }
            name.append(Character.isLetterOrDigit(c) ? Character.toLowerCase(c) : '_');
        }
        return name.append("_group").toString();
    }

    /** What follows group and name, as Cassandra 6 has it. */
    static String scope(String name) {
        int dot = PREFIX.length() - 1;
        for (int i = 0; i < 2 && dot >= 0; i++) {
            dot = name.indexOf('.', dot + 1);
        }
        return dot < 0 ? "undefined" : name.substring(dot + 1);
    }
}
