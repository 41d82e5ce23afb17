package dev.ringwatch.agent;

import java.lang.instrument.Instrumentation;
import java.nio.file.Path;

/**
 * {@code -javaagent:ringwatch-agent.jar=/path/agent.yaml}: the JVM calls {@link #premain} before Cassandra's main class.
 * Nothing of Cassandra may be touched here; a thread waits for it to come up by itself.
 */
public final class Agent {
    private static final String DAEMON = "org.apache.cassandra.service.CassandraDaemon";

    private Agent() {}

    public static void premain(String arguments, Instrumentation instrumentation) {
        try {
            if (!isCassandraDaemon(System.getProperty("sun.java.command", ""))) {
                return; // nodetool and its like inherit the JVM's flags: silent and off
            }
            if (arguments == null || arguments.isEmpty()) {
                complain("no configuration file: use -javaagent:ringwatch-agent.jar=/path/agent.yaml");
                return;
            }
            Config config = Config.load(Path.of(arguments));
            thread(new Life(config), "ringwatch-agent").start();
        } catch (Config.Invalid e) {
            complain(e.getMessage());
        } catch (Throwable e) {
            complain("could not start: " + e);
        }
    }

    static boolean isCassandraDaemon(String command) {
        int blank = command.indexOf(' ');
        return (blank < 0 ? command : command.substring(0, blank)).equals(DAEMON);
    }

    static Thread thread(Runnable work, String name) {
        Thread thread = new Thread(work, name);
        thread.setDaemon(true);
        thread.setPriority(Thread.MIN_PRIORITY);
        thread.setUncaughtExceptionHandler((dead, thrown) -> complain(dead.getName() + " stopped: " + thrown));
        return thread;
    }

    /** The one way in which the agent speaks up; the only line it prints when it stays off. */
    static void complain(String why) {
        System.err.println("ringwatch-agent: off: " + why.replace('\n', ' '));
    }

    static void say(String what) {
        System.err.println("ringwatch-agent: " + what);
    }

    static String version() {
        String version = Agent.class.getPackage().getImplementationVersion();
        return version == null ? "dev" : version;
    }
}
