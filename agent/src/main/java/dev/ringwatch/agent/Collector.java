package dev.ringwatch.agent;

import dev.ringwatch.agent.beans.BeanProfile;
import dev.ringwatch.agent.beans.Beans;
import dev.ringwatch.agent.beans.CollectdNames;
import dev.ringwatch.agent.delivery.FrameQueue;
import dev.ringwatch.agent.delivery.Sender;
import dev.ringwatch.agent.events.EventKind;
import dev.ringwatch.agent.events.EventSource;
import dev.ringwatch.agent.events.Events;
import dev.ringwatch.agent.events.Inbox;
import dev.ringwatch.agent.events.SchemaNames;
import dev.ringwatch.agent.frame.Bytes;
import dev.ringwatch.agent.frame.Compressor;
import dev.ringwatch.agent.frame.Event;
import dev.ringwatch.agent.frame.FrameEncoder;
import dev.ringwatch.agent.frame.Model;
import dev.ringwatch.agent.frame.PausedFrames;
import dev.ringwatch.agent.host.DiskSource;
import dev.ringwatch.agent.host.HostName;
import dev.ringwatch.agent.host.JvmSource;
import dev.ringwatch.agent.host.NetworkSource;
import dev.ringwatch.agent.host.OsSource;
import dev.ringwatch.agent.host.PressureSource;
import dev.ringwatch.agent.pull.FrameRoom;
import dev.ringwatch.agent.pull.Profile;
import dev.ringwatch.agent.pull.SentNames;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * One node's passes: every source writes into the model, the encoder turns what differs into a
 * frame, the queue takes the frame. The data path of the agent, one line per hop, is {@link
 * #sampleAndSend}.
 */
final class Collector {
    private static final long MINUTE_MS = 60_000;
    /**
     * A key frame that got lost is made good at once, but not over and over while ingest refuses
     * them.
     */
    private static final long BETWEEN_FORCED_KEYS_MS = 60_000;

    /**
     * So many passes after its first minute an agent has read all slow gauges once, and sends a key
     * frame: else every delta frame until the window ends would repeat them all, 6 kB each at 1,000
     * tables.
     */
    private static final int SETTLED = 2;
    /** Frames when the JVM ends: there may be more events than one holds. */
    private static final int MAX_LAST = 10;

    private final FrameQueue queue;
    private final Model model;
    private final FrameEncoder encoder;
    private final PausedFrames pausedFrames;
    private final Software.Reads reads;
    private final OwnCost cost;
    private final FrameRoom room;
    private final int passesPerMinute;
    /** Null where frames are only served on {@code /metrics}. */
    private final Sender sender;
    /** Null where they are not wanted. */
    private final Events events;

    /** What is read in a pass, in this order. */
    private interface Source {
        /** @param slowTurn what changes slowly is read, too */
        void sample(boolean slowTurn);
    }

    private final List<Source> sources = new ArrayList<>();

    /** Reads of a whole source that threw. */
    private long lost;
    private long started = System.currentTimeMillis();
    private long sequence;
    private long lastAt;
    private boolean ended;
    private long passes;
    private long keyWindow = -1;
    private long forcedKeyAt;

    /** @param model locked by the caller */
    Collector(Config config, Software software, Model model, FrameQueue queue, Sender sender,
            Thread sending) {
        this.model = model;
        this.queue = queue;
        this.sender = sender;
        String cluster = config.cluster != null ? config.cluster : cleaned(software.clusterName());
        model.cluster(cluster);
        model.node(software.nodeId().toString());
        encoder = new FrameEncoder(software.nodeId(), cluster, config.intervalMs,
                Compressor.best());
        pausedFrames = new PausedFrames(software.nodeId(), cluster, config.intervalMs);
        passesPerMinute = (int) Math.max(1, MINUTE_MS / config.intervalMs);
        model.fact("agent_version", Agent.version());
        String hostName = HostName.read();
        if (!hostName.isEmpty()) {
            model.fact("hostname", hostName);
        }
        if (!config.filters.isEmpty()) {
            // those of keyspaces are asked for one by one, when they are registered
            model.show((template, metric) -> template.hasLabel("keyspace")
                    || config.filters.accepts(template.type, null, null, metric.name));
        }
        OsSource os = new OsSource(model);
        PressureSource pressure = new PressureSource(model);
        NetworkSource network = new NetworkSource(model);
        DiskSource disks = new DiskSource(model, software.directories());
        cost = new OwnCost(model, queue, sender, sending);
        reads = software.reads(config, model);
        Beans beans = software.beans(ofBeans(config), config);
        cost.also(beans, reads);
        beans.showCosts(model);
        events = config.events ? events(config, software) : null;
        sources.add(reads::sampleNode);
        sources.add(slowTurn -> os.sample());
        sources.add(slowTurn -> pressure.sample());
        sources.add(slowTurn -> network.sample());
        sources.add(slowTurn -> disks.sample());
        sources.add(new JvmSource(model)::sample);
        sources.add(slowTurn -> reads.sample(slowTurn, passesPerMinute));
        sources.add(slowTurn -> beans.pass(passes, passesPerMinute, reads.inventory()));
        for (Profile profile : shown(config)) {
            if (profile.collectd() != null) {
                CollectdNames names = profile.collectd();
                sources.add(slowTurn -> names.read(model, slowTurn));
            }
        }
        room = new FrameRoom(model, config.maxEntities, config.queueBytes, Agent::say);
        config.sends().forEach((profile, labels) -> sources.add(
                new SentNames(room, profile, labels, config.listenPort)::pass));
    }

    private static Set<Profile> shown(Config config) {
        Set<Profile> profiles = new LinkedHashSet<>(config.sends().keySet());
        if (config.listenHost != null) {
            profiles.addAll(config.profiles);
        }
        return profiles;
    }

    private Events events(Config config, Software software) {
        Inbox inbox = new Inbox();
        List<EventSource> noticed = new ArrayList<>();
        SchemaNames schema = software.eventSources(config, inbox, noticed);
        Events all = new Events(model, inbox, noticed, schema, config.partitionKeys,
                sender != null);
        all.happened(ManagementFactory.getRuntimeMXBean().getStartTime(), EventKind.START,
                Map.of("java_version", System.getProperty("java.version", "")),
                software.product());
        return all;
    }

    private static List<BeanProfile> ofBeans(Config config) {
        List<BeanProfile> profiles = new ArrayList<>();
        for (Profile profile : shown(config)) {
            if (profile.beans() != null) {
                profiles.add(profile.beans());
            }
        }
        return profiles;
    }

    void pass(long at, long skipped) {
        synchronized (model) { // a scrape of /metrics may be reading it
            if (!ended) {
                model.paused(false);
                sampleAndSend(at, skipped);
            }
        }
    }

    private void sampleAndSend(long at, long skipped) {
        boolean slowTurn = passes % passesPerMinute == 0;
        passes++;
        cost.sample(passes, skipped, lost + (events == null ? 0 : events.errors()), reads);
        for (int i = 0; i < sources.size(); i++) {
            try {
                sources.get(i).sample(slowTurn);
            } catch (Throwable thrown) { // what the others say is as true without this one
                lost++;
            }
        }
        if (events != null) {
            events.sample(slowTurn);
        }
        model.passed();
        if (sender != null) {
            send(at);
            sender.endSlowPost();
        } else {
            model.closeGaps(); // what key frames do elsewhere
        }
    }

    private void send(long at) {
        boolean key = at / FrameEncoder.WINDOW_MS != keyWindow || model.needsKeyFrame();
        key |= passes == passesPerMinute + SETTLED;
        if (!key && queue.needsKeyFrame() && at - forcedKeyAt >= BETWEEN_FORCED_KEYS_MS) {
            key = true;
            forcedKeyAt = at;
        }
        List<Event> happened = events == null ? List.of() : events.next(at);
        Bytes frame = encode(key, at, happened);
        if (!room.fits(frame.length(), encoder.rawLength())) {
            key = true;
            frame = encode(true, at, happened);
            room.ownFrame(frame.length(), encoder.rawLength());
        }
        if (key) {
            keyWindow = at / FrameEncoder.WINDOW_MS;
        }
        sequence++;
        lastAt = at;
        if (queue.add(frame.copy(), key) && events != null) {
            events.sent(happened); // else they are the next frame's
        }
    }

    private Bytes encode(boolean key, long at, List<Event> happened) {
        encoder.carry(Events.inFrame(happened, at));
        return key ? encoder.key(model, started, sequence, at, cost.lastPassNs())
                : encoder.delta(model, started, sequence, at, cost.lastPassNs());
    }

    /**
     * When the JVM ends: frames with all that has happened since the last pass. They read nothing
     * else; after them there is no pass.
     */
    void last() {
        synchronized (model) {
            if (ended || model.isPaused()) {
                return;
            }
            ended = true;
            try {
                sendStop();
            } finally {
                reads.rest();
            }
        }
    }

    private void sendStop() {
        if (events == null) {
            return;
        }
        events.close();
        if (sender != null && passes > 0) { // else a frame would not know where the node is
            long at = Math.max(System.currentTimeMillis(), lastAt + 1);
            events.happened(at, EventKind.STOP, Map.of(), "the JVM ends");
            events.last();
            for (int i = 0; i < MAX_LAST && !events.next(at).isEmpty(); i++) {
                send(at++);
            }
        }
    }

    /**
     * The model may be half written: what a delta frame says of it would be right all the same, but
     * begin cleanly.
     */
    void passFailed() {
        keyWindow = -1;
    }

    /** Until the next pass. */
    void pause() {
        synchronized (model) {
            model.paused(true);
            reads.rest();
            if (events != null) {
                events.close();
            }
            pausedFrames.begin();
        }
    }

    /** In a pause, in place of a pass: a frame says that the agent is paused. It reads nothing. */
    void sayPaused(long at) {
        synchronized (model) { // the JVM may be ending
            if (ended || sender == null) {
                return;
            }
            try {
                if (passes == 0 && sequence == 0) { // a frame says where the node is
                    reads.sampleNode(true);
                }
                boolean key = queue.needsKeyFrame() || pausedFrames.needKeyFrame(at);
                Bytes frame = pausedFrames.next(model, key, started, sequence, at);
                sequence++;
                lastAt = at;
                queue.add(frame.copy(), key);
            } catch (Throwable thrown) { // the next may do better
                lost++;
            }
        }
    }

    /** The clock was set back far, or there was a pause: as if the agent had just been started. */
    void beginAnew() {
        synchronized (model) { // the JVM may be ending
            started = System.currentTimeMillis();
            sequence = 0;
            keyWindow = -1;
            forcedKeyAt = 0;
            lastAt = 0;
        }
    }

    /** A frame's cluster has 1 to 255 bytes and no control characters. */
    private static String cleaned(String name) {
        StringBuilder clean = new StringBuilder();
        for (int i = 0; i < Math.min(name.length(), 63); i++) {
            char c = name.charAt(i);
            clean.append(Character.isISOControl(c) ? ' ' : c);
        }
        return clean.length() == 0 ? "unnamed" : clean.toString();
    }
}
