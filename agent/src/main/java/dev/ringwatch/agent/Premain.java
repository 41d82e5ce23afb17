package dev.ringwatch.agent;

import java.lang.instrument.Instrumentation;

/**
 * Where the JVM enters. An agent class that the JVM cannot load or that throws ends the JVM before
 * Cassandra has begun, so this class needs nothing but the JDK's and is the one that is compiled
 * for Java 8, on which Cassandra 4 may still run.
 */
public final class Premain {
    private static final String DAEMON = "org.apache.cassandra.service.CassandraDaemon";

    private Premain() {}

    public static void premain(String arguments, Instrumentation instrumentation) {
        try {
            if (!isCassandraDaemon(System.getProperty("sun.java.command", ""))) {
                // nodetool and its like inherit the JVM's flags: silent, off, no other class loaded
                return;
            }
            String java = System.getProperty("java.specification.version", "");
            if (java.startsWith("1.")) {
                System.err.println("ringwatch-agent: off: this is Java " + java
                        + " and the agent needs 11: run Cassandra on Java 11 or later");
                return;
            }
            Class.forName("dev.ringwatch.agent.Agent").getMethod("start", String.class)
                    .invoke(null, arguments);
        } catch (Throwable e) {
            System.err.println("ringwatch-agent: off: could not start: " + e + "; the jar may be "
                    + "damaged, so copy it again");
        }
    }

    static boolean isCassandraDaemon(String command) {
        int blank = command.indexOf(' ');
        return (blank < 0 ? command : command.substring(0, blank)).equals(DAEMON);
    }
}
