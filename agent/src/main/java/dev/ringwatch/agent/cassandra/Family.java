package dev.ringwatch.agent.cassandra;

/**
 * A name of Cassandra's registry taken apart: which entity it belongs to and what it is called
 * there.
 *
 * <p>Registry names are {@code org.apache.cassandra.metrics.TYPE.NAME[.SCOPE]}; types and names
 * hold no dots, scopes may (addresses do). Some families hide a label in the name ({@code
 * READ_REQ-WaitLatency}, {@code Hints_created-10.0.5.6.7000}).
 */
final class Family {
    static final String PREFIX = "org.apache.cassandra.metrics.";

    private static final String[] NONE = {};

    final String entity;
    final String[] labels;
    final String[] values;
    /** Cassandra's name of the metric, without what became a label. */
    final String metric;

    private Family(String entity, String metric, String[] labels, String... values) {
        this.entity = entity;
        this.metric = metric;
        this.labels = labels;
        this.values = values;
    }

    /**
     * Null if the name is none of Cassandra's, or one that is a sum over others: those are summed
     * where asked for.
     */
    static Family of(String registryName) {
        if (!registryName.startsWith(PREFIX)) {
            return null;
        }
        int typeEnd = registryName.indexOf('.', PREFIX.length());
        if (typeEnd < 0) {
            return null;
        }
        String type = registryName.substring(PREFIX.length(), typeEnd);
        int nameEnd = registryName.indexOf('.', typeEnd + 1);
        String name = nameEnd < 0 ? registryName.substring(typeEnd + 1)
                : registryName.substring(typeEnd + 1, nameEnd);
        String scope = nameEnd < 0 ? "" : registryName.substring(nameEnd + 1);
        // these have no scope, but may have an address in the name
        String all = registryName.substring(typeEnd + 1);
        switch (type) {
            case "Table":
                return scope.equals("all")
                        ? null : split("table", name, scope, "keyspace", "table");
            case "IndexTable":
                return split("index_table", name, scope, "keyspace", "table", "index");
            case "TrieMemtable":
                return split("trie_memtable", name, scope, "keyspace", "table");
            case "StorageAttachedIndex":
                return index(name, scope);
            case "ColumnFamily":
            case "IndexColumnFamily":
                return null; // aliases of tables
            case "Keyspace":
            case "keyspace":
                return KeyspaceOnly.has(name) ? one("keyspace", name, "keyspace", scope) : null;
            case "ThreadPools":
                return split("thread_pool", name, scope, "path", "pool");
            case "ClientRequest":
                return clientRequest(name, scope);
            case "Cache":
                return one("cache", name, "cache", scope);
            case "BufferPool":
                return one("buffer_pool", name, "pool", scope);
            case "DroppedMessage":
                return one("dropped_message", name, "message", scope);
            case "Connection":
                return scope.isEmpty() ? none("messaging", name)
                        : one("connection", name, "peer", peer(scope));
            case "InboundConnection":
                return one("inbound_connection", name, "peer", peer(scope));
            case "Streaming":
                return scope.isEmpty() ? none("streaming", name)
                        : one("streaming_peer", name, "peer", peer(scope));
            case "Messaging":
                return messaging(all);
            case "HintsService":
                return hints(all);
            case "Repair":
                return suffixed("repair", "repair_verb", "verb", all);
            case "StorageProxy":
                return none("denylist", name);
            case "Index":
                return none("row_index", name);
            case "autorepair":
            case "AutoRepair":
                return one("auto_repair", name, "repair_type",
                        scope.substring(scope.indexOf('=') + 1));
            case "UnweightedCache": // of 6.0
                return one("unweighted_cache", name, "cache", scope);
            case "Client": // 6.0 counts some things by how clients authenticate or encrypt
                return scope.isEmpty() ? none("client", name)
                        : one("client_by_mode", name, "mode", scope);
            case "Batch": case "CIDRAuthorizer": case "ClientMessageSize": case "ClientRequestSize":
            case "CommitLog": case "Compaction": case "CQL": case "MemtablePool": case "Paxos":
            case "ReadRepair": case "Storage":
            case "TCM":
                return scope.isEmpty() ? none(Naming.snake(type), name)
                        : unknown(type, name, scope);
            default:
                return unknown(type, name, scope);
        }
    }

    private static Family unknown(String type, String name, String scope) {
        return one("other_" + Naming.snake(type), name, "scope", scope);
    }

    private static Family none(String entity, String name) {
        return new Family(entity, name, NONE);
    }

    private static Family one(String entity, String name, String label, String value) {
        return new Family(entity, name, new String[] {label}, value);
    }

    /** As many parts as labels, cut at the first dots: the last part may hold more of them. */
    private static Family split(String entity, String name, String scope, String... labels) {
        String[] values = scope.split("\\.", labels.length);
        if (values.length < labels.length) {
            return unknown(entity, name, scope);
        }
        return new Family(entity, name, labels, values);
    }

    /**
     * {@code Read} and its like, and {@code Read-LOCAL_QUORUM}, which counts the same requests
     * again by consistency.
     */
    private static Family clientRequest(String name, String scope) {
        int dash = scope.indexOf('-');
        if (dash < 0) {
            return one("client_request", name, "request", scope);
        }
        return new Family("client_request_by_consistency", name,
                new String[] {"request", "consistency"},
                scope.substring(0, dash), scope.substring(dash + 1));
    }

    /** {@code keyspace.table[.index].Scope}. */
    private static Family index(String name, String scope) {
        String[] parts = scope.split("\\.");
        String[] labels = {"keyspace", "table", "index", "scope"};
        if (parts.length == 3) {
            return new Family("sai_index", name, labels, parts[0], parts[1], "", parts[2]);
        }
        return parts.length == 4 ? new Family("sai_index", name, labels, parts)
                : unknown("StorageAttachedIndex", name, scope);
    }

    private static Family messaging(String name) {
        if (name.endsWith("-WaitLatency")) {
            return one("messaging_verb", "WaitLatency", "verb",
                    name.substring(0, name.length() - "-WaitLatency".length()));
        }
        if (name.endsWith("-Latency")) {
            return one("messaging_datacenter", "Latency", "from_datacenter",
                    name.substring(0, name.length() - "-Latency".length()));
        }
        return none("messaging", name);
    }

    private static Family hints(String name) {
        Family family = suffixed("hints", "hints_peer", "peer", name);
        return family.labels.length == 0
                ? family : one(family.entity, family.metric, "peer", peer(family.values[0]));
    }

    private static Family suffixed(String entity, String labelled, String label, String name) {
        int dash = name.indexOf('-');
        return dash < 0 ? none(entity, name)
                : one(labelled, name.substring(0, dash), label, name.substring(dash + 1));
    }

    /**
     * Ports are joined to addresses by a dot or an underscore, since a colon is not allowed in JMX
     * names.
     */
    private static String peer(String scope) {
        String address = scope.startsWith("/") ? scope.substring(1) : scope;
        int dot = address.lastIndexOf('.');
        int underscore = address.lastIndexOf('_');
        if (underscore > 0) {
            return address.substring(0, underscore) + ":" + address.substring(underscore + 1);
        }
        boolean fourDots = address.chars().filter(c -> c == '.').count() == 4;
        return fourDots ? address.substring(0, dot) + ":" + address.substring(dot + 1) : address;
    }

    /** What keyspaces count that is not a sum over their tables. */
    private static final class KeyspaceOnly {
        static boolean has(String name) {
            switch (name) {
                case "IdealCLWriteLatency": case "IdealCLWriteTotalLatency":
                case "WriteFailedIdealCL":
                case "PaxosOutOfRangeToken": case "ReadOutOfRangeToken":
                case "WriteOutOfRangeToken":
                case "RepairTime": case "RepairPrepareTime":
                    return true;
                default:
                    return false;
            }
        }
    }
}
