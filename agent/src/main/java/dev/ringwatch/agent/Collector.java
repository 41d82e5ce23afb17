package dev.ringwatch.agent;

import dev.ringwatch.agent.cassandra.Inventory;
import dev.ringwatch.agent.cassandra.NodeBeans;
import dev.ringwatch.agent.cassandra.NodeSource;
import dev.ringwatch.agent.delivery.FrameQueue;
import dev.ringwatch.agent.delivery.Sender;
import dev.ringwatch.agent.frame.Bytes;
import dev.ringwatch.agent.frame.Compressor;
import dev.ringwatch.agent.frame.FrameEncoder;
import dev.ringwatch.agent.frame.Model;
import dev.ringwatch.agent.host.DiskSource;
import dev.ringwatch.agent.host.JvmSource;
import dev.ringwatch.agent.host.NetworkSource;
import dev.ringwatch.agent.host.OsSource;
import org.apache.cassandra.metrics.CassandraMetricsRegistry;

/**
 * One node's passes: every source writes into the model, the encoder turns what differs into a frame, the queue takes
 * the frame. The data path of the agent, one line per hop, is {@link #sampleAndSend}.
 */
final class Collector {
    private static final long MINUTE_MS = 60_000;
    /** A key frame that got lost is made good at once, but not over and over while ingest refuses them. */
    private static final long BETWEEN_FORCED_KEYS_MS = 60_000;

    /**
     * So many passes after its first minute an agent has read all slow gauges once, and sends a key frame: else every delta frame until
     * the window ends would repeat them all, 6 kB each at 1,000 tables.
     */
    private static final int SETTLED = 2;

    private final FrameQueue queue;
    private final Model model = new Model();
    private final FrameEncoder encoder;
    private final NodeSource node;
    private final Inventory inventory;
    private final OsSource os;
    private final NetworkSource network;
    private final DiskSource disks;
    private final JvmSource jvm;
    private final OwnCost cost;
    private final int passesPerMinute;
    /** False where frames are only served on {@code /metrics}. */
    private final boolean sends;

    private long started = System.currentTimeMillis();
    private long sequence;
    private long passes;
    private long keyWindow = -1;
    private long forcedKeyAt;

    Collector(Config config, NodeBeans beans, FrameQueue queue, Sender sender, Thread sending) {
        this.queue = queue;
        this.sends = sender != null;
        String cluster = config.cluster != null ? config.cluster : cleaned(beans.clusterName());
        encoder = new FrameEncoder(beans.hostId(), cluster, config.intervalMs, Compressor.best());
        passesPerMinute = (int) Math.max(1, MINUTE_MS / config.intervalMs);
        model.fact("agent_version", Agent.version());
        node = new NodeSource(beans, model);
        os = new OsSource(model);
        network = new NetworkSource(model);
        disks = new DiskSource(model, beans.directories());
        jvm = new JvmSource(model);
        cost = new OwnCost(model, queue, sender, sending);
        inventory = new Inventory(CassandraMetricsRegistry.Metrics, model);
    }

    void pass(long at, long skipped) {
        synchronized (model) { // a scrape of /metrics may be reading it
            sampleAndSend(at, skipped);
        }
    }

    Model model() {
        return model;
    }

    private void sampleAndSend(long at, long skipped) {
        boolean slowTurn = passes % passesPerMinute == 0;
        passes++;
        cost.sample(passes, skipped, inventory);
        node.sample(slowTurn);
        os.sample();
        network.sample();
        disks.sample();
        jvm.sample(slowTurn);
        inventory.sample(passesPerMinute);
        if (sends) {
            send(at);
        }
    }

    private void send(long at) {
        boolean key = at / FrameEncoder.WINDOW_MS != keyWindow || model.needsKeyFrame();
        key |= passes == passesPerMinute + SETTLED;
        if (!key && queue.needsKeyFrame() && at - forcedKeyAt >= BETWEEN_FORCED_KEYS_MS) {
            key = true;
            forcedKeyAt = at;
        }
        long ns = cost.lastPassNs();
        Bytes frame = key
                ? encoder.key(model, started, sequence, at, ns)
                : encoder.delta(model, started, sequence, at, ns);
        if (key) {
            keyWindow = at / FrameEncoder.WINDOW_MS;
        }
        sequence++;
        queue.add(frame.copy(), key);
    }

    /** The model may be half written: what a delta frame says of it would be right all the same, but begin cleanly. */
    void passFailed() {
        keyWindow = -1;
    }

    /** The clock was set back far: as if the agent had just been started. */
    void beginAnew() {
        started = System.currentTimeMillis();
        sequence = 0;
        keyWindow = -1;
        forcedKeyAt = 0;
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
