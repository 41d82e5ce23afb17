package dev.ringwatch.agent;

import dev.ringwatch.agent.cassandra.NodeBeans;
import dev.ringwatch.agent.delivery.FrameQueue;
import dev.ringwatch.agent.delivery.Sender;
import dev.ringwatch.agent.pull.MetricsServer;
import java.io.IOException;
import java.net.BindException;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.attribute.FileTime;
import java.util.function.Supplier;

/** The agent's thread: waits for Cassandra, then samples until the JVM ends. */
final class Life implements Runnable {
    private static final long LOOK_AGAIN_MS = 500;
    /** So that a clock that is set is noticed. */
    private static final long LONGEST_SLEEP_MS = 1_000;

    private final Config config;

    Life(Config config) {
        this.config = config;
    }

    @Override
    public void run() {
        try {
            ServerSocket listening = listen(config);
            NodeBeans beans = waitForCassandra();
            String version = beans.releaseVersion();
            if (!supported(version)) {
                Agent.complain("Cassandra " + version + " is not supported: 4.0 to 6.x are");
                return;
            }
            FrameQueue queue = new FrameQueue(config.queueBytes);
            Sender sender = null;
            Thread sending = null;
            if (!config.urls.isEmpty()) {
                sender = new Sender(queue, config.urls, key(config));
                sending = Agent.thread(sender, "ringwatch-agent-sender");
                sending.start();
            }
            Collector collector = new Collector(config, beans, queue, sender, sending);
            if (config.cql) {
                VirtualTables.register(collector.model(), version);
            }
            Agent.say("version " + Agent.version() + ", node " + beans.hostId() + ", " + config);
            MetricsServer metrics = null;
            if (listening != null) {
                metrics = new MetricsServer(listening, collector.model());
                Agent.thread(metrics, "ringwatch-agent-metrics").start();
            }
            passes(collector, metrics, new Ticker(config.intervalMs, beans.hostId(), System::currentTimeMillis));
        } catch (InterruptedException stop) {
            Thread.currentThread().interrupt();
        } catch (Throwable e) {
            Agent.complain(e instanceof BindException ? config.listenHost + ":" + config.listenPort + ": " + e.getMessage() : e.toString());
        }
    }

    private static ServerSocket listen(Config config) throws IOException {
        return config.listenHost == null ? null : MetricsServer.bind(config.listenHost, config.listenPort);
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

    private static void passes(Collector collector, MetricsServer metrics, Ticker ticker) throws InterruptedException {
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
            } catch (Throwable failed) { // this pass is lost; the next may do better
                collector.passFailed();
                if (!complained) {
                    complained = true;
                    Agent.say("a pass failed, going on: " + failed);
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
                        key = Files.readString(config.keyFile).trim();
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
