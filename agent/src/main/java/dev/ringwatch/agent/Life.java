package dev.ringwatch.agent;

import dev.ringwatch.agent.cassandra.NodeBeans;
import dev.ringwatch.agent.delivery.FrameQueue;
import dev.ringwatch.agent.delivery.Sender;
import dev.ringwatch.agent.frame.Model;
import dev.ringwatch.agent.pull.MetricsServer;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.util.function.Supplier;

/** The agent's thread: reads the configuration, waits for Cassandra, then samples until the JVM ends. */
final class Life implements Runnable {
    private static final long LOOK_AGAIN_MS = 500;
    /** So that a clock that is set is noticed. */
    private static final long LONGEST_SLEEP_MS = 1_000;
    private static final long OFF_SLEEP_MS = 5_000;
    private static final int MAX_KEY = 4096;

    private final String arguments;
    private final Model model = new Model();
    private final State state = new State(model);
    /** Null where nothing is served. */
    private MetricsServer metrics;

    Life(String arguments) {
        this.arguments = arguments;
    }

    @Override
    public void run() {
        try {
            String why;
            try {
                why = live();
            } catch (Config.Invalid e) {
                why = e.getMessage() + "; correct it (ringwatch doctor checks it) and restart this node when it suits";
            } catch (RuntimeException | Error e) {
                why = e + "; report this";
            }
            stayOff(why);
        } catch (InterruptedException stop) {
            Thread.currentThread().interrupt();
        }
    }

    /** Says why wherever someone may look, then does nothing but end scrapes that never end. */
    private void stayOff(String why) throws InterruptedException {
        state.become(State.OFF, why);
        waitForCassandra();
        state.cassandraIsUp();
        while (metrics != null) {
            Thread.sleep(OFF_SLEEP_MS);
            metrics.endSlowScrape();
        }
    }

    /** Returns only where there is nothing to do: why. */
    private String live() throws Config.Invalid, InterruptedException {
        if (arguments == null || arguments.isEmpty()) {
            return "no configuration file: use -javaagent:ringwatch-agent.jar=/path/agent.yaml";
        }
        Config config = Config.load(arguments);
        String busy = config.listenHost == null ? null : listen(config);
        if (busy != null && config.urls.isEmpty()) {
            return busy;
        }
        if (busy != null) {
            state.say("frames are sent but /metrics is off: " + busy);
        }
        NodeBeans beans = waitForCassandra();
        String version = beans.releaseVersion();
        if (!supported(version)) {
            return "Cassandra " + version + " is not supported, 4.0 to 6.x are: use an agent that knows it, or take the -javaagent line out";
        }
        FrameQueue queue = new FrameQueue(config.queueBytes);
        Sender sender = null;
        Thread sending = null;
        if (!config.urls.isEmpty()) {
            sender = new Sender(queue, config.urls, key(config));
            sending = Agent.thread(sender, "ringwatch-agent-sender");
            sending.start();
        }
        Collector collector;
        synchronized (model) { // it may be scraped already
            collector = new Collector(config, beans, model, queue, sender, sending);
        }
        Agent.say("version " + Agent.version() + ", node " + beans.hostId() + ", " + config);
        state.cassandraIsUp();
        passes(config, collector, queue, sender, new Ticker(config.intervalMs, beans.hostId(), System::currentTimeMillis));
        return "stopped";
    }

    /** From the beginning on, so that scrapes are answered while a node takes long to start. Returns why it cannot, or null. */
    private String listen(Config config) {
        try {
            metrics = new MetricsServer(MetricsServer.bind(config.listenHost, config.listenPort), model);
            Agent.thread(metrics, "ringwatch-agent-metrics").start();
            return null;
        } catch (IOException | RuntimeException e) {
            metrics = null;
            return "cannot listen on " + config.listenHost + ":" + config.listenPort + " (" + e.getMessage()
                    + "): stop what has it or set another listen in " + arguments;
        }
    }

    private static NodeBeans waitForCassandra() throws InterruptedException {
        for (;;) {
            NodeBeans beans = NodeBeans.ifStarted();
            if (beans != null) {
                return beans;
            }
            Thread.sleep(LOOK_AGAIN_MS);
        }
    }

    private void passes(Config config, Collector collector, FrameQueue queue, Sender sender, Ticker ticker) throws InterruptedException {
        if (sender == null) {
            state.become(State.SERVING, "");
        }
        boolean complained = false;
        for (;;) {
            long wait = ticker.waitMs();
            if (wait > 0) {
                Thread.sleep(Math.min(wait, LONGEST_SLEEP_MS));
                if (ticker.clockWentBack()) {
                    ticker.restart();
                    collector.beginAnew();
                }
                continue;
            }
            long at = ticker.begin();
            if (at < 0) {
                continue;
            }
            if (metrics != null) {
                metrics.endSlowScrape();
            }
            try {
                collector.pass(at, ticker.skipped());
                if (sender != null) {
                    state.look(queue, sender, config.urls, config.intervalMs);
                }
            } catch (Throwable failed) { // this pass is lost; the next may do better
                collector.passFailed();
                if (!complained) {
                    complained = true;
                    state.say("a pass failed and is lost, going on: " + failed + "; report this");
                }
            }
        }
    }

    static boolean supported(String version) {
        return version.matches("[456]\\.\\d.*");
    }

    /** The key, or what the key file holds now: it is rotated without a restart. */
    private static Supplier<String> key(Config config) {
        if (config.keyFile == null) {
            return () -> config.key;
        }
        return new Supplier<String>() {
            private FileTime read;
            private String key = "";

            @Override
            public String get() {
                try {
                    FileTime modified = Files.getLastModifiedTime(config.keyFile);
                    if (!modified.equals(read)) {
                        try (InputStream in = Files.newInputStream(config.keyFile)) { // whatever it is: memory that it fills is the host's
                            key = new String(in.readNBytes(MAX_KEY), StandardCharsets.UTF_8).trim();
                        }
                        read = modified;
                    }
                } catch (IOException unreadable) {
                    return key; // the last one we had
                }
                return key;
            }
        };
    }
}
