/**
 * What a node is doing, beside what it counts: tasks, streams, repairs, clients, snapshots and
 * certificates, as entities that end with what they stand for.
 *
 * <p>{@link Activity} reads them in this order: what runs, from Cassandra's own registries, in each
 * pass; clients, in some passes; what is on disk or in a distributed table, on a thread of its own
 * and rarely. Each source has a bound, and what is beyond it is counted or left out as METRICS.md
 * says. Classes that name Cassandra's are {@link Compactions}, {@link StreamSessions}, {@link
 * Clients}, {@link ParentRepairs}, {@link Replicated} and {@link Encryption}; the others are held
 * by tests without one.
 */
package dev.ringwatch.agent.activity;
