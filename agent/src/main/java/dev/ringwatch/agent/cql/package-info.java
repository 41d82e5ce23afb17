/**
 * Cassandra's metrics as tables: keyspace {@code system_metrics} on 4.0 to 5.0, with Cassandra 6's names, tables and
 * columns, plus {@code p50th} and {@code buckets} where there is a histogram.
 *
 * <p>It promises to be lazy: a table is its schema and nothing else until it is read. A row by name is one look into
 * Cassandra's registry, so what is dropped there is gone here; a range read walks one sorted array of names that all
 * tables share (9 bytes a metric, made by the first range read, afterwards only merged with what came and went) and
 * reads a metric when its row is taken. Whatever fails in one metric loses that cell and is counted.
 *
 * <p>What bites: all of this runs in Cassandra's read threads. 4.0, 4.1 and 5.0 have the same classes here but for one
 * method ({@link dev.ringwatch.agent.cql.Liveness}); 6.0 has others, and its own {@code system_metrics}, which is left
 * alone: only {@link dev.ringwatch.agent.cql.StateTable} is made of what 4.0 to 6.0 share.
 */
package dev.ringwatch.agent.cql;
