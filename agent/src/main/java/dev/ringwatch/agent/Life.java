package dev.ringwatch.agent;

import dev.ringwatch.agent.delivery.ApiKey;
import dev.ringwatch.agent.delivery.FrameQueue;
import dev.ringwatch.agent.delivery.Sender;
import dev.ringwatch.agent.delivery.Tls;
import dev.ringwatch.agent.frame.Model;
import dev.ringwatch.agent.pull.MetricsServer;
import java.io.IOException;

/**
 * The agent's thread: reads the configuration, waits until the software of this JVM is up, then
 * samples until the JVM ends.
 */
final class Life implements Runnable {
    private static final long LOOK_AGAIN_MS = 500;
    /** So that a clock that is set is noticed. */
    private static final long LONGEST_SLEEP_MS = 1_000;
    /** For the last frame: a pass may be on its way, and ingest busy. */
    private static final long LONGEST_LAST_MS = 4_000;
    private static final long LONGEST_FINISH_MS = 2_000;

    private final String arguments;
    private final Model model = new Model();
    private final State state = new State(model);
    /** False where the configuration forbids them; one that cannot be read forbids nothing. */
    private boolean wantsTables = true;

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
                why = e.getMessage() + "; correct it, check it with ringwatch doctor, and restart "
                        + "this node when it suits you";
            } catch (RuntimeException | Error e) {
                why = e + "; report this";
            }
            stayOff(why);
        } catch (InterruptedException stop) {
            Thread.currentThread().interrupt();
        }
    }

    /** Says why wherever someone may look; the thread that serves /metrics goes on telling. */
    private void stayOff(String why) throws InterruptedException {
        state.become(State.OFF, why);
        Software software = waitUntilUp();
        state.softwareIsUp();
        if (wantsTables && software.unsupported() == null) { // else its internals are unknown
            software.showState(model);
        }
    }

    /** Returns only where there is nothing to do: why. */
    private String live() throws Config.Invalid, InterruptedException {
        if (arguments == null || arguments.isEmpty()) {
            return "the -javaagent line names no configuration file: write "
                    + "-javaagent:ringwatch-agent.jar=/path/agent.yaml";
        }
        Config config = Config.load(arguments);
        wantsTables = config.cql;
        String busy = config.listenHost == null ? null : listen(config);
        if (busy != null && config.urls.isEmpty()) {
            return busy;
        }
        if (busy != null) {
            state.say("/metrics is off, and frames are still sent: " + busy);
        }
        Software software = waitUntilUp();
        if (software.unsupported() != null) {
            return software.unsupported();
        }
        state.softwareIsUp();
        FrameQueue queue = new FrameQueue(config.queueBytes);
        Sender sender = null;
        Thread sending = null;
        if (!config.urls.isEmpty()) {
            sender = new Sender(queue, config.urls,
                    config.keyFile == null ? ApiKey.fixed(config.key) : ApiKey.in(config.keyFile),
                    new Tls(config.caFile, config.certFile, config.certKeyFile), config.spool,
                    config.spoolBytes, Agent.version(), state::say);
            sending = Agent.thread(sender, "ringwatch-agent-sender");
            sending.start();
        }
        Collector collector;
        synchronized (model) { // it may be scraped already
            collector = new Collector(config, software, model, queue, sender, sending);
        }
        if (sender != null) {
            finishAtShutdown(collector, queue, sender, sending);
        }
        if (config.cql) {
            wantsTables = false; // from here on they are there
            software.showMetrics(model);
        }
        Agent.say("version " + Agent.version() + ", node " + software.nodeId() + ", " + config);
        passes(config, collector, queue, sender,
                new Ticker(config.intervalMs, software.nodeId(), System::currentTimeMillis),
                new PauseSwitch(arguments, config.paused, state::say));
        return "stopped";
    }

    /**
     * The last frame says that the node stops. It is sent if ingest takes frames, and what memory
     * still holds goes to the spool; the JVM's end waits for each of that so long and no longer.
     */
    private static void finishAtShutdown(Collector collector, FrameQueue queue, Sender sender,
            Thread sending) {
        try {
            Runtime.getRuntime().addShutdownHook(new Thread(() -> {
                try {
                    long until = System.nanoTime() + LONGEST_LAST_MS * 1_000_000;
                    Thread last = Agent.thread(collector::last, "ringwatch-agent-last");
                    last.start(); // a pass may hang in the middle
                    last.join(LONGEST_LAST_MS);
                    if (sender.isWell()) {
                        queue.awaitEmpty((until - System.nanoTime()) / 1_000_000);
                    }
                    sender.stop();
                    sending.join(LONGEST_FINISH_MS);
                } catch (InterruptedException enough) {
                    sender.stop();
                }
            }, "ringwatch-agent-finish"));
        } catch (IllegalStateException ending) {
            sender.stop();
        }
    }

    /**
     * From the beginning on, so that scrapes are answered while a node takes long to start. Returns
     * why it cannot, or null.
     */
    private String listen(Config config) {
        try {
            MetricsServer metrics = new MetricsServer(
                    MetricsServer.bind(config.listenHost, config.listenPort), model,
                    config.profiles);
            Agent.thread(metrics, "ringwatch-agent-metrics").start();
            return null;
        } catch (IOException | RuntimeException e) {
            return "cannot listen on " + config.listenHost + ":" + config.listenPort
                    + " (" + e.getMessage() + "): stop the process that uses this port, "
                    + "or set another listen in " + arguments;
        }
    }

    private static Software waitUntilUp() throws InterruptedException {
        for (;;) {
            Software software = Software.ifUp();
            if (software != null) {
                return software;
            }
            Thread.sleep(LOOK_AGAIN_MS);
        }
    }

    private void passes(Config config, Collector collector, FrameQueue queue, Sender sender,
            Ticker ticker, PauseSwitch pause) throws InterruptedException {
        String beginning = sender == null ? State.SERVING : State.STARTING;
        state.become(beginning, "");
        boolean complained = false;
        for (;;) {
            if (pause.look()) {
                rest(collector, sender, ticker, pause);
                ticker.restart();
                collector.beginAnew();
                state.become(beginning, "");
            }
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
                if (sender != null) {
                    state.look(queue, sender, config.intervalMs);
                }
            } catch (Throwable failed) { // this pass is lost; the next may do better
                collector.passFailed();
                if (!complained) {
                    complained = true;
                    state.say("one pass failed, its values are missing, and the agent goes on: "
                            + failed + "; report this");
                }
            }
        }
    }

    /**
     * While the configuration says so. Frames that wait are sent all the same, and a frame where a
     * pass would have been says that the agent is paused: else the node would count as down.
     */
    private void rest(Collector collector, Sender sender, Ticker ticker, PauseSwitch pause)
            throws InterruptedException {
        collector.pause();
        state.become(State.PAUSED, arguments + " says paused: true, so the agent reads nothing: "
                + "remove that line to go on");
        do {
            Thread.sleep(Math.min(ticker.waitMs() + 1, LONGEST_SLEEP_MS));
            if (ticker.clockWentBack()) {
                ticker.restart();
                collector.beginAnew();
            }
            long at = ticker.waitMs() > 0 ? -1 : ticker.begin();
            if (at >= 0) {
                collector.sayPaused(at);
            }
            if (sender != null) {
                sender.endSlowPost();
            }
        } while (pause.look());
    }
}
