package dev.ringwatch.agent.pull;

import dev.ringwatch.agent.frame.Kind;
import dev.ringwatch.agent.frame.Metric;
import dev.ringwatch.agent.frame.Model;
import dev.ringwatch.agent.frame.Template;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;

/**
 * How much all sent profiles of a node may add to its frames. Ingest refuses a frame that exceeds
 * one of the limits of FORMAT.md §6 or of its own, with all that it says of the node, so profiles
 * leave room for what the node's own metrics may grow by.
 */
public final class FrameRoom {
    private static final int MAX_TEMPLATES = 900;
    private static final long MAX_CELLS = 3_000_000;
    private static final int MAX_SLOTS = 1 << 19;
    /** Half of what a frame may have, and what ingest takes unless it is told otherwise. */
    private static final int MAX_BYTES = 8 << 20;
    /** For each byte ingest needs 8 of its max_frame_memory, 128 MiB. */
    private static final int MAX_RAW = 16 << 20;
    /** Of a frame, whoever fills it: more cells are more than ingest's max_series. */
    private static final int ALL_TEMPLATES = 1_024;
    private static final long ALL_CELLS = 4_000_000;
    private static final int ALL_SLOTS = 1 << 20;
    /** Entities differ in size, and values grow. */
    private static final double MARGIN = 0.9;

    private final Model model;
    private final int maxEntities;
    private final int maxBytes;
    private final Consumer<String> say;
    private final List<SentNames> senders = new ArrayList<>();
    private Metric leftOut;
    /** Of entities: {@link #maxEntities}, or fewer since frames had too many bytes. */
    private int bound;
    private int entities;
    private boolean said;
    /** Of the whole frame, removed entities included. */
    private long cells;
    private int slots;
    /** Of the frame that had too many bytes: its part of what it may have, and its entities. */
    private double fullness;
    private int wanted;

    /**
     * @param maxEntities that all sent profiles together may have
     * @param queueBytes of the agent's queue, which drops a frame that is larger
     */
    public FrameRoom(Model model, int maxEntities, long queueBytes, Consumer<String> say) {
        this.model = model;
        this.maxEntities = maxEntities;
        maxBytes = (int) Math.min(MAX_BYTES, queueBytes / 2);
        this.say = say;
        bound = maxEntities;
    }

    Model add(SentNames sender) {
        if (senders.isEmpty()) {
            Template agent = model.add(new Template("agent_sent"));
            leftOut = agent.add(
                    Metric.scalar("ringwatch_agent_sent_left_out", Kind.GAUGE, "", 0));
            agent.addEntity(null);
        }
        senders.add(sender);
        return model;
    }

    void say(String line) {
        say.accept(line);
    }

    void measure() {
        cells = 0;
        slots = 0;
        for (int t = 0; t < model.templateCount(); t++) {
            Template template = model.template(t);
            cells += (long) template.slots() * template.metricCount();
            slots += template.slots();
        }
    }

    /** Whether the node's own have grown until the frame cannot have what profiles send. */
    boolean isExceeded() {
        return cells > ALL_CELLS || slots > ALL_SLOTS || model.templateCount() > ALL_TEMPLATES;
    }

    /** Whether not even a name has room. */
    boolean isClosed() {
        return bound == 0;
    }

    /** Whether there are as many entities as there may be. */
    boolean isFull() {
        return entities >= bound;
    }

    boolean hasTemplate() {
        return model.templateCount() < MAX_TEMPLATES;
    }

    /** Room for an entity of that template, unless there is none. */
    boolean take(Template template, List<String> values) {
        if (isFull()) {
            full(values, "than max_entities " + maxEntities + " entities in send_profiles",
                    "or raise max_entities");
            return false;
        }
        if (cells + template.metricCount() > MAX_CELLS || slots >= MAX_SLOTS) {
            full(values, "entities in send_profiles than a frame has room for",
                    "or filter metrics");
            return false;
        }
        entities++;
        cells += template.metricCount();
        slots++;
        return true;
    }

    /** Of entities that have gone. */
    void give(int gone) {
        entities -= gone;
    }

    private void full(List<String> values, String what, String remedy) {
        if (!said) {
            said = true;
            say.accept("there are more " + what + ": " + values + " and all after it are not "
                    + "sent; send fewer profiles, " + remedy);
        }
    }

    /**
     * Whether ingest and the queue take a frame of so many bytes, packed and not. If they do not,
     * profiles have left the model: a key frame takes that frame's place, and {@link #ownFrame}
     * hears of it.
     */
    public boolean fits(int bytes, int rawBytes) {
        double full = fullness(bytes, rawBytes);
        if (full <= 1 || entities == 0) { // without profiles it is the node's own affair
            return true;
        }
        fullness = full;
        wanted = entities;
        senders.forEach(SentNames::leave);
        show();
        return false;
    }

    /** Of the node without profiles: they get in again, as many as have room beside it. */
    public void ownFrame(int bytes, int rawBytes) {
        double own = fullness(bytes, rawBytes);
        bound = own >= 1 ? 0 : (int) (wanted * MARGIN * (1 - own) / (fullness - own));
        said = true; // this line says more
        say.accept("with the " + wanted + " entities of send_profiles a frame has "
                + Math.round(fullness * 100) + " % of the bytes that it may have, and without "
                + "them " + Math.round(own * 100) + " %: until the agent starts anew, at most "
                + bound + " of them are sent; send fewer profiles, or filter metrics");
    }

    private double fullness(int bytes, int rawBytes) {
        return Math.max((double) bytes / maxBytes, (double) rawBytes / MAX_RAW);
    }

    /** At the end of a pass. */
    void show() {
        leftOut.set(0, senders.stream().mapToInt(SentNames::leftOut).sum());
    }
}
