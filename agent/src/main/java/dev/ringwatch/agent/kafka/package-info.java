/**
 * What a broker or a controller of Kafka counts, read in its own JVM: Yammer's registry, whose
 * listener only notes which names came or went, and the beans of Kafka's own metrics, which have no
 * registry that could be reached.
 *
 * <p>Names follow one rule ({@link dev.ringwatch.agent.kafka.Naming}), so that metrics of later
 * versions have names, too. {@link dev.ringwatch.agent.kafka.BrokerMetrics} is the pass.
 */
package dev.ringwatch.agent.kafka;
