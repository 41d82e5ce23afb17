package dev.ringwatch.agent.events;

import java.util.function.Predicate;

/** What the schema knows, for {@link Redaction} and {@link LogReader}. */
public interface SchemaNames {
    /** Where there is no schema. */
    SchemaNames NONE = new SchemaNames() {
        @Override
        public boolean hasTable(String keyspace, String table) {
            return false;
        }

        @Override
        public Predicate<String> namesOf(String keyspace, String table) {
            return name -> false;
        }

        @Override
        public String token(String keyspace, String table, String partition) {
            return "";
        }
    };

    boolean hasTable(String keyspace, String table);

    /** Whether a word is the keyspace's, the table's, or that of one of its columns. */
    Predicate<String> namesOf(String keyspace, String table);

    /** The token of a partition whose key stands in a log so; empty if it cannot be told. */
    String token(String keyspace, String table, String partition);
}
