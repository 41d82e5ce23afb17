package dev.ringwatch.agent;

import dev.ringwatch.agent.cassandra.NodeBeans;
import dev.ringwatch.agent.delivery.ApiKey;
import dev.ringwatch.agent.delivery.FrameQueue;
import dev.ringwatch.agent.delivery.Sender;
import dev.ringwatch.agent.delivery.Tls;
import dev.ringwatch.agent.pull.MetricsServer;
import java.io.IOException;
import java.net.BindException;
import java.nio.channels.ServerSocketChannel;

/** The agent's thread: waits for Cassandra, then samples until the JVM ends. */
final class Life implements Runnable {
    private static final long LOOK_AGAIN_MS = 500;
    /** So that a clock that is set is noticed. */
    private static final long LONGEST_SLEEP_MS = 1_000;
    private static final long LONGEST_FINISH_MS = 2_000;

    private final Config config;

    Life(Config config) {
        this.config = config;
    }

    @Override
    public void run() {
        try {
            ServerSocketChannel listening = listen(config);
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
                sender = new Sender(queue, config.urls, config.keyFile == null ? ApiKey.fixed(config.key) : ApiKey.in(config.keyFile),
                        new Tls(config.caFile, config.certFile, config.certKeyFile), config.spool, config.spoolBytes, Agent.version(), Agent::say);
                sending = Agent.thread(sender, "ringwatch-agent-sender");
                sending.start();
                finishAtShutdown(sender, sending);
            }
            Collector collector = new Collector(config, beans, queue, sender, sending);
            if (config.cql) {
                VirtualTables.register(collector.model(), version);
            }
            Agent.say("version " + Agent.version() + ", node " + beans.hostId() + ", " + config);
            if (listening != null) {
                MetricsServer metrics = new MetricsServer(listening, collector.model(), config.profiles, collector.cluster());
                Agent.thread(metrics, "ringwatch-agent-metrics").start();
            }
            passes(collector, new Ticker(config.intervalMs, beans.hostId(), System::currentTimeMillis));
        } catch (InterruptedException stop) {
            Thread.currentThread().interrupt();
        } catch (Throwable e) {
            Agent.complain(e instanceof BindException ? config.listenHost + ":" + config.listenPort + ": " + e.getMessage() : e.toString());
        }
    }

    /** What memory still holds goes to the spool; the JVM's end waits for that so long and no longer. */
    private static void finishAtShutdown(Sender sender, Thread sending) {
        try {
            Runtime.getRuntime().addShutdownHook(new Thread(() -> {
                sender.stop();
                try {
                    sending.join(LONGEST_FINISH_MS);
                } catch (InterruptedException enough) {
                    return;
                }
            }, "ringwatch-agent-finish"));
        } catch (IllegalStateException ending) {
            sender.stop();
        }
    }

    private static ServerSocketChannel listen(Config config) throws IOException {
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

    private static void passes(Collector collector, Ticker ticker) throws InterruptedException {
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
}
