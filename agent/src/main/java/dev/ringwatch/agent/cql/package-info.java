/**
 * Cassandra's metrics as tables: keyspace {@code system_metrics} on 4.0 to 5.0, with Cassandra 6's
 * names, tables and columns, plus {@code p50th} and {@code buckets} where there is a histogram.
 *
 * <p>It promises to be lazy: a table is its schema and nothing else until it is read. A row by name
 * is one look into Cassandra's registry, so what is dropped there is gone here; a range read walks
 * one sorted array of names that all tables share (5 bytes a metric, made by the first range read,
 * afterwards only merged with what came and went) and reads a metric when its row is taken.
 * Whatever fails in one metric loses that cell and is counted.
 *
 * <p>{@code buckets} is {@code frozen<map<double, bigint>>}: a bucket's upper bound and how often
 * it was hit since the start, without the empty ones; what lies beyond the last bound is at
 * infinity, and a reservoir without fixed bounds has none. It and the percentiles of a timer are in
 * microseconds, as JMX has them, also on 4.0, which counts nanoseconds. The partitions' order is
 * the names', so {@code token(name) >= token('org.apache.cassandra.metrics.Table.Read') AND
 * token(name) < token('org.apache.cassandra.metrics.Table.Reae')} reads what begins so, and reads
 * nothing else.
 *
 * <p>What bites: a filter (not a name, not a token) makes every row it looks at. Deprecated aliases
 * ({@code ColumnFamily}, {@code IndexColumnFamily}) are in no registry before 6.0: their tables are
 * there and empty. Cassandra takes {@code GRANT SELECT ON} each of these tables or on all
 * keyspaces, but not on this keyspace, before 6.0. All of this runs in Cassandra's read threads.
 * 4.0, 4.1 and 5.0 have the same classes here but for one method ({@link
 * dev.ringwatch.agent.cql.Liveness}); 6.0 has others, and its own {@code system_metrics}, which is
 * left alone: only {@link dev.ringwatch.agent.cql.StateTable} is made of what 4.0 to 6.0 share.
 */
package dev.ringwatch.agent.cql;
