/**
 * The machine and the JVM under Cassandra: {@code /proc}, and the platform's management beans
 * without JMX between. Every file is opened once and read into the same buffer again. Where a file
 * is missing, its metrics are.
 */
package dev.ringwatch.agent.host;
