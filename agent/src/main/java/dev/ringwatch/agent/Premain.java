package dev.ringwatch.agent;

import java.lang.instrument.Instrumentation;

/**
 * Where the JVM enters. An agent class that the JVM cannot load or that throws ends the JVM before
 * Cassandra or Kafka has begun, so this class needs nothing but the JDK's and is the one that is
 * compiled for Java 8, on which Cassandra 4 may still run.
 */
public final class Premain {
    private static final String CASSANDRA = "org.apache.cassandra.service.CassandraDaemon";
    private static final String KAFKA = "kafka.Kafka";
    /** Confluent's, which begins Kafka. */
    private static final String SUPPORTED_KAFKA =
            "io.confluent.support.metrics.SupportedKafka";

    private Premain() {}

    public static void premain(String arguments, Instrumentation instrumentation) {
        try {
            if (!isServer(System.getProperty("sun.java.command", ""))) {
                // nodetool, kafka-topics.sh and their like inherit the JVM's flags: silent, off, no
                // other class loaded
                return;
            }
            String java = System.getProperty("java.specification.version", "");
            if (java.startsWith("1.")) {
                System.err.println("ringwatch-agent: off: this is Java " + java
                        + " and the agent needs 11: run this software on Java 11 or later");
                return;
            }
            Class.forName("dev.ringwatch.agent.Agent").getMethod("start", String.class)
                    .invoke(null, arguments);
        } catch (Throwable e) {
            System.err.println("ringwatch-agent: off: could not start: " + e + "; the jar may be "
                    + "damaged, so copy it again");
        }
    }

    static boolean isServer(String command) {
        int blank = command.indexOf(' ');
        String main = blank < 0 ? command : command.substring(0, blank);
        return main.equals(CASSANDRA) || main.equals(KAFKA) || main.equals(SUPPORTED_KAFKA);
    }
}
