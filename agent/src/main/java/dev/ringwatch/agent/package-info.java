/**
 * The Ringwatch agent: lives in Cassandra's JVM, reads what Cassandra and its machine count every
 * few seconds, and sends what differs to ingest as frames.
 *
 * <p>It promises never to harm its host: nothing it does throws into, blocks or stops Cassandra.
 * Whatever is wrong with it is one line on standard error that begins {@code ringwatch-agent:}, and
 * the agent stays off.
 */
package dev.ringwatch.agent;
