package dev.ringwatch.agent.cassandra;

import org.apache.cassandra.schema.Schema;
import org.apache.cassandra.schema.TableMetadata;

/**
 * What Cassandra's schema says of a table and no metric does. Empty where another version has it
 * otherwise.
 */
public final class TableFacts {
    private TableFacts() {}

    /** {@code table} or {@code view}. */
    public static String type(String keyspace, String table) {
        try {
            TableMetadata metadata = Schema.instance.getTableMetadata(keyspace, table);
            return metadata == null ? "" : metadata.isView() ? "view" : "table";
        } catch (RuntimeException | LinkageError otherVersion) {
            return "";
        }
    }

    /** The class of its compaction strategy, without its package. */
    public static String compactionStrategy(String keyspace, String table) {
        try {
            TableMetadata metadata = Schema.instance.getTableMetadata(keyspace, table);
            return metadata == null ? "" : metadata.params.compaction.klass().getSimpleName();
        } catch (RuntimeException | LinkageError otherVersion) {
            return "";
        }
    }
}
