/**
 * What Cassandra counts, read straight from its Dropwizard registry.
 *
 * <p>A listener only notes which names came or went; the sampler's thread looks up what is true of
 * each name now, keeps an array of sources per column, and on each pass reads a few counts per
 * table: what stood still is not read further.
 *
 * <p>What bites: a table registers its metrics one by one and before it is in the schema, so a pass
 * can meet half a table; gauges may throw at any time; a table dropped and created again keeps its
 * names and gets new objects.
 */
package dev.ringwatch.agent.cassandra;
