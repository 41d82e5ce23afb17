package dev.ringwatch.agent;

import dev.ringwatch.agent.delivery.FrameQueue;
import dev.ringwatch.agent.delivery.Sender;
import dev.ringwatch.agent.frame.Kind;
import dev.ringwatch.agent.frame.Metric;
import dev.ringwatch.agent.frame.Model;
import dev.ringwatch.agent.frame.Template;
import java.util.HashSet;
import java.util.Set;

/**
 * What the agent is doing: one word, and when something is wrong one sentence with the remedy. It
 * is told wherever someone may look: each trouble once on standard error, every change that lasts
 * in the log of the JVM's software (a daemon's standard error is closed), and as it stands in
 * {@code /metrics} and in the frames.
 *
 * <p>Used by the agent's own thread only, but for {@link #word}, {@link #trouble} and {@link #say}.
 */
final class State {
    static final String STARTING = "starting";
    /** Frames arrive at ingest. */
    static final String SENDING = "sending";
    /** No ingest is configured: passes are for {@code /metrics} alone. */
    static final String SERVING = "serving";
    /** Frames wait, and nobody answers. */
    static final String UNREACHABLE = "unreachable";
    /** Frames wait, and ingest says that it cannot take them now. */
    static final String BUSY = "busy";
    /**
     * Ingest says that it will not take them: a wrong key or address, or a frame that breaks a
     * rule.
     */
    static final String REFUSED = "refused";
    /** The configuration says so. */
    static final String PAUSED = "paused";
    static final String OFF = "off";

    /** A restart of ingest is shorter. */
    private static final long TROUBLE_AFTER_NS = 20_000_000_000L;
    private static final long BETWEEN_LOG_LINES_NS = 60_000_000_000L;
    private static final int MAX_LENGTH = 500;
    private static final int MAX_TOLD = 20;

    private final Model model;
    private final Metric wordMetric;
    private final Metric troubleMetric;
    private final Set<String> toldOnStderr = new HashSet<>();
    private final Set<String> toldInLog = new HashSet<>();
    private volatile String word = STARTING;
    private volatile String trouble = "";
    /** Of that log: its last line, and whether there is another to write. */
    private String logged = "";
    private boolean behind;
    private String told = STARTING;
    private long loggedAt;
    private volatile boolean softwareIsUp;
    private String unlogged = "";
    private final FrameQueue.Ledger ledger = new FrameQueue.Ledger();
    private boolean waits;
    private long waitsSince;
    private long sent;

    State(Model model) {
        this.model = model;
        Template template = model.add(new Template("agent_state"));
        wordMetric = template.add(Metric.scalar("ringwatch_agent_state_info", Kind.STRING, "", 0));
        troubleMetric = template.add(
                Metric.scalar("ringwatch_agent_trouble_info", Kind.STRING, "", 0));
        template.addEntity(null);
        wordMetric.setText(0, STARTING);
        model.passed();
    }

    String word() {
        return word;
    }

    /** Empty when all is well. */
    String trouble() {
        return trouble;
    }

    /** @param why what is wrong and what to do about it, or empty */
    void become(String now, String why) {
        become(now, now, why);
    }

    /**
     * @param kind of trouble, of which standard error gets one line, however its sentence changes
     */
    private void become(String now, String kind, String why) {
        if (now.equals(word) && why.equals(trouble)) {
            return;
        }
        String sentence = why.length() > MAX_LENGTH ? why.substring(0, MAX_LENGTH) + "…" : why;
        synchronized (model) {
            wordMetric.setText(0, now);
            if (sentence.isEmpty()) {
                troubleMetric.absent(0);
            } else {
                troubleMetric.setText(0, sentence.replace('\n', ' '));
            }
            model.passed(); // an agent that is off has no passes and is asked all the same
        }
        word = now;
        trouble = sentence;
        told = kind;
        behind = true;
        if (!sentence.isEmpty() && toldOnStderr.size() < MAX_TOLD && toldOnStderr.add(kind)) {
            Agent.say(now.equals(OFF) ? "off: " + sentence : sentence);
        }
        log();
    }

    /** Something that is worth one line and changes no state. */
    void say(String sentence) {
        Agent.say(sentence);
        if (softwareIsUp) {
            HostLog.write(true, "ringwatch-agent: " + sentence);
        } else {
            unlogged = sentence;
        }
    }

    /** Before that its logging must not be touched: it would be set up by us. */
    void softwareIsUp() {
        softwareIsUp = true;
        if (!unlogged.isEmpty()) {
            HostLog.write(true, "ringwatch-agent: " + unlogged);
        }
        log();
    }

    /** Once a pass. */
    void look(FrameQueue queue, Sender sender, long intervalMs) {
        long now = System.nanoTime();
        queue.read(ledger);
        int status = sender.lastStatus();
        boolean arrived = ledger.sent != sent;
        boolean refused = !arrived && status >= 300 && status < 500 && status != 429;
        sent = ledger.sent;
        if (arrived || refused || ledger.queued + ledger.spooled == 0) {
            waits = false;
        } else if (!waits) {
            waits = true;
            waitsSince = now;
        }
        String reason = sender.lastReason();
        if (refused) {
            become(REFUSED, REFUSED + status, "ingest refuses frames with status " + status + ": "
                    + (reason == null ? remedy(status) : reason));
        } else if (arrived) {
            become(SENDING, "");
        } else if (waits && now - waitsSince > Math.max(TROUBLE_AFTER_NS, 3_000_000 * intervalMs)) {
            if (status == 429 || status >= 500) {
                become(BUSY, "ingest answers " + status + ", so frames wait on this node: "
                        + (reason == null ? "the log of ingest says why" : reason));
            } else {
                become(UNREACHABLE,
                        "frames do not reach ingest and wait on this node: " + sender.problem());
            }
        }
        if (behind) {
            log();
        }
    }

    private static String remedy(int status) {
        if (status == 401 || status == 403) {
            return "check the key in agent.yaml: it needs the scope write and an account that has "
                    + "this cluster";
        }
        if (status < 400) {
            return "the agent follows no redirects, so put the final address into ingest.urls";
        }
        return "run ringwatch doctor on this node; ingest counts the reason in "
                + "ringwatch_ingest_frames_dropped_total";
    }

    /** What is news gets its line at once; what goes to and fro, one a minute. */
    private void log() {
        if (!softwareIsUp || !behind) {
            return;
        }
        String line = "ringwatch-agent: " + word + (trouble.isEmpty() ? "" : ": " + trouble);
        long now = System.nanoTime();
        boolean news = toldInLog.size() < MAX_TOLD && toldInLog.add(told);
        if (!news && now - loggedAt < BETWEEN_LOG_LINES_NS) {
            return;
        }
        behind = false;
        if (!line.equals(logged)) {
            logged = line;
            loggedAt = now;
            HostLog.write(!trouble.isEmpty(), line);
        }
    }

    /** Loaded when the software is up, so never before its logging is. */
    private static final class HostLog {
        static void write(boolean warning, String line) {
            try {
                org.slf4j.Logger log = org.slf4j.LoggerFactory.getLogger("dev.ringwatch.agent");
                if (warning) {
                    log.warn(line);
                } else {
                    log.info(line);
                }
            } catch (Throwable noLog) { // standard error has it
                return;
            }
        }
    }
}
