package dev.ringwatch.agent.frame;

import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.UUID;

/**
 * What an agent sends while it is paused: that the node is there, where it is, and since when
 * nothing of it is read. Such a frame has no values but the agent's state, so all other series of
 * the node have ended.
 */
public final class PausedFrames {
    /** The fact that says so, and since when. */
    static final String FACT = "paused_since";

    private final Model model = new Model();
    private final FrameEncoder encoder;
    private String since = "";
    private long keyAt;

    public PausedFrames(UUID node, String cluster, long interval) {
        encoder = new FrameEncoder(node, cluster, interval, null);
        Template state = model.add(new Template("agent_state"));
        Metric word = state.add(
                Metric.scalar("ringwatch_agent_state_info", Kind.STRING, "", 0));
        state.addEntity(null);
        word.setText(0, "paused");
    }

    /** A pause begins now. */
    public void begin() {
        since = Instant.now().truncatedTo(ChronoUnit.SECONDS).toString();
        keyAt = 0;
    }

    /** Whether the frame of that instant must be a key frame. */
    public boolean needKeyFrame(long at) {
        return keyAt == 0 || at <= keyAt
                || at / FrameEncoder.WINDOW_MS != keyAt / FrameEncoder.WINDOW_MS;
    }

    /** @param node what is known of the node's place and facts */
    public Bytes next(Model node, boolean key, long started, long sequence, long at) {
        if (!key) {
            return encoder.delta(model, started, sequence, at, 0);
        }
        model.identityOf(node);
        model.forget(Model.NOT_SERVING); // nothing is known of that
        model.fact(FACT, since);
        Bytes frame = encoder.key(model, started, sequence, at, 0);
        keyAt = at;
        return frame;
    }
}
