package dev.ringwatch.agent;

import java.util.concurrent.atomic.AtomicBoolean;

/**
 * {@code -javaagent:ringwatch-agent.jar=/path/agent.yaml}: {@link Premain} calls {@link #start}
 * before Cassandra's main class. Nothing of Cassandra may be touched there and nothing read that
 * could block, be it the configuration on a hanging file system: all that happens is that a thread
 * is started, which waits for Cassandra to come up by itself.
 */
public final class Agent {
    private static final AtomicBoolean STARTED = new AtomicBoolean();

    private Agent() {}

    public static void start(String arguments) {
        try {
            if (STARTED.compareAndSet(false, true)) {
                thread(new Life(arguments), "ringwatch-agent").start();
            } else {
                say("the JVM's options name the agent twice, and the second one is ignored: "
                        + "remove one of the two -javaagent lines");
            }
        } catch (Throwable e) {
            complain("the agent could not start: " + e + "; report this");
        }
    }

    static Thread thread(Runnable work, String name) {
        Thread thread = new Thread(work, name);
        thread.setDaemon(true);
        thread.setPriority(Thread.MIN_PRIORITY);
        thread.setUncaughtExceptionHandler(
                (dead, thrown) -> complain(dead.getName() + " stopped: " + thrown));
        return thread;
    }

    /** The only line that the agent prints when it stays off. */
    static void complain(String why) {
        say("off: " + why);
    }

    static void say(String what) {
        System.err.println("ringwatch-agent: " + what.replace('\n', ' '));
    }

    static String version() {
        String version = Agent.class.getPackage().getImplementationVersion();
        return version == null ? "dev" : version;
    }
}
