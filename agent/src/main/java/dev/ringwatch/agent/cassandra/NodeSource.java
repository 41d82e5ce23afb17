package dev.ringwatch.agent.cassandra;

import dev.ringwatch.agent.frame.Kind;
import dev.ringwatch.agent.frame.Metric;
import dev.ringwatch.agent.frame.Model;
import dev.ringwatch.agent.frame.Template;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/** The node's state in its ring, its few textual facts, and which of its peers it sees up. */
public final class NodeSource {
    /** A node with 256 tokens has 5 kB of them; what is cut is not missed in a first look. */
    private static final int MAX_TOKENS_LENGTH = 8192;
    /** Beyond that many peers only the sums are sent. */
    private static final int MAX_PEERS = 2048;

    private static final class Peer extends Template.Entity {
        boolean seen;
    }

    private final NodeBeans beans;
    private final Model model;
    private final Metric mode;
    private final Metric normal;
    private final Metric gossip;
    private final Metric nativeTransport;
    private final Metric peersUp;
    private final Metric peersDown;
    private final Metric streams;
    private final Metric schema;
    private final Metric version;
    private final Metric tokens;
    private final Metric tokenCount;
    private final Template template;
    private final Template peerTemplate;
    private final Metric up;
    private final Metric down;
    private final Metric connectionsMax;
    private final Metric hintWindow;
    private final Replication replication;
    private final Map<String, Peer> peers = new HashMap<>();
    private int lastUp = -1;
    private int lastDown = -1;
    private String own = "";
    private String datacenter = "";

    public NodeSource(NodeBeans beans, Model model) {
        this.beans = beans;
        this.model = model;
        Template node = model.add(new Template("node"));
        mode = node.add(Metric.scalar("cassandra_node_operation_mode_info", Kind.STRING, "", 0));
        normal = node.add(Metric.scalar("cassandra_node_normal", Kind.GAUGE, "", 0));
        gossip = node.add(Metric.scalar("cassandra_node_gossip_running", Kind.GAUGE, "", 0));
        nativeTransport = node.add(
                Metric.scalar("cassandra_node_native_transport_running", Kind.GAUGE, "", 0));
        peersUp = node.add(Metric.scalar("cassandra_node_peers_up", Kind.GAUGE, "", 0));
        peersDown = node.add(Metric.scalar("cassandra_node_peers_down", Kind.GAUGE, "", 0));
        streams = node.add(Metric.scalar("cassandra_node_streams", Kind.GAUGE, "", 0));
        schema = node.add(Metric.scalar("cassandra_node_schema_version_info", Kind.STRING, "", 0));
        version = node.add(Metric.scalar("cassandra_node_version_info", Kind.STRING, "", 0));
        tokens = node.add(Metric.scalar("cassandra_node_tokens_info", Kind.STRING, "", 0));
        tokenCount = node.add(Metric.scalar("cassandra_node_tokens", Kind.GAUGE, "", 0));
        connectionsMax = node.add(
                Metric.scalar("cassandra_node_native_connections_max", Kind.GAUGE, "", 0));
        hintWindow = node.add(
                Metric.scalar("cassandra_node_hint_window_seconds", Kind.GAUGE, "seconds", 0));
        node.addEntity(null);
        template = node;
        peerTemplate = model.add(new Template("peer", "peer"));
        up = peerTemplate.add(Metric.scalar("cassandra_peer_up", Kind.GAUGE, "", 0));
        down = peerTemplate.add(Metric.scalar("cassandra_peer_down", Kind.GAUGE, "", 0));
        replication = new Replication(model);
    }

    /** Whose one entity is the node: others have more to say of it. */
    public Template template() {
        return template;
    }

    /** @param slowTurn once a minute: facts that rarely change and cost an answer to ask for */
    public void sample(boolean slowTurn) {
        String modeNow = beans.operationMode();
        if (!modeNow.equals(mode.text(0))) {
            mode.setText(0, modeNow);
        }
        normal.set(0, modeNow.equals("NORMAL") ? 1 : 0);
        boolean gossips = beans.gossipRunning();
        boolean takesClients = beans.nativeTransportRunning();
        gossip.set(0, gossips ? 1 : 0);
        nativeTransport.set(0, takesClients ? 1 : 0);
        String lacks = notServing(modeNow, gossips, takesClients);
        if (lacks.isEmpty()) {
            model.forget(Model.NOT_SERVING);
        } else {
            model.fact(Model.NOT_SERVING, lacks);
        }
        String schemaNow = beans.schemaVersion();
        if (!schemaNow.equals(schema.text(0))) {
            schema.setText(0, schemaNow);
        }
        if (slowTurn) {
            sampleFacts();
        }
        replication.sample(schemaNow, datacenter, slowTurn);
        int upNow = beans.peersUp();
        int downNow = beans.peersDown();
        peersUp.set(0, Math.max(0, upNow - 1)); // the node counts itself
        peersDown.set(0, Math.max(0, downNow));
        if (upNow != lastUp || downNow != lastDown || slowTurn) {
            lastUp = upNow;
            lastDown = downNow;
            samplePeers();
        }
    }

    /** What a node that runs does not do, in the words of FORMAT.md §4; empty if it serves. */
    static String notServing(String mode, boolean gossips, boolean takesClients) {
        switch (mode) {
            case "STARTING":
            case "JOINING":
            case "JOINING_FAILED":
            case "LEAVING":
            case "DRAINED":
                return mode.toLowerCase(Locale.ROOT);
            case "DRAINING":
                return "drained";
            case "DECOMMISSIONED": // it has left, which says more
                return "";
            default:
                return (gossips ? "" : "no_gossip") + (gossips || takesClients ? "" : ",")
                        + (takesClients ? "" : "no_clients");
        }
    }

    private void sampleFacts() {
        String address = beans.address();
        if (!address.isEmpty()) { // a node that was decommissioned has none any more
            own = address;
        }
        datacenter = beans.datacenter();
        identity(model, beans, own);
        version.setText(0, beans.releaseVersion());
        streams.set(0, beans.streams());
        setOrAbsent(connectionsMax, 0, beans.nativeConnectionsMax());
        setOrAbsent(hintWindow, 0, beans.hintWindowMillis() / 1000);
        List<?> now = beans.tokens();
        tokenCount.set(0, now.size());
        StringBuilder joined = new StringBuilder();
        for (Object token : now) {
            if (joined.length() > MAX_TOKENS_LENGTH) {
                joined.append(",…");
                break;
            }
            joined.append(joined.length() > 0 ? "," : "").append(token);
        }
        tokens.setText(0, joined.toString());
    }

    /** What goes into the identity section of key frames; a change makes the next frame one. */
    static void identity(Model model, NodeBeans beans, String address) {
        model.place(limited(beans.datacenter()), limited(beans.rack()));
        model.fact("address", address);
        model.fact("rpc_address", beans.rpcAddress());
        String replaces = replaces();
        if (!replaces.isEmpty()) {
            model.fact("replaces", replaces);
        }
        model.fact("cassandra_version", beans.releaseVersion());
        model.fact("java_version", System.getProperty("java.version", ""));
        model.fact("os", System.getProperty("os.name", "")
                + " " + System.getProperty("os.version", "")
                + " " + System.getProperty("os.arch", ""));
    }

    /** The address of the node that this one replaces, as Cassandra knows it, or "". */
    public static String replaces() {
        for (String property : new String[] {"cassandra.replace_address_first_boot",
                "cassandra.replace_address"}) {
            String address = System.getProperty(property, "").trim();
            if (!address.isEmpty()) {
                return limited(address);
            }
        }
        return "";
    }

    private static String limited(String value) {
        return value.length() > 255 ? value.substring(0, 255) : value;
    }

    /** What is not above 0 is not there. */
    private static void setOrAbsent(Metric metric, int slot, long value) {
        if (value > 0) {
            metric.set(slot, value);
        } else {
            metric.absent(slot);
        }
    }

    private void samplePeers() {
        for (Peer peer : peers.values()) {
            peer.seen = false;
        }
        for (Map.Entry<?, ?> state : beans.peerStates().entrySet()) {
            String address = state.getKey().toString();
            address = address.startsWith("/") ? address.substring(1) : address;
            if (address.equals(own)) {
                continue;
            }
            Peer peer = peers.get(address);
            if (peer == null) {
                if (peers.size() >= MAX_PEERS) {
                    continue;
                }
                peer = new Peer();
                peerTemplate.addEntity(peer, address);
                peers.put(address, peer);
            }
            peer.seen = true;
            boolean isUp = "UP".equals(state.getValue());
            up.set(peer.slot(), isUp ? 1 : 0);
            setOrAbsent(down, peer.slot(), isUp ? 0 : 1);
        }
        for (Iterator<Peer> all = peers.values().iterator(); all.hasNext();) {
            Peer peer = all.next();
            if (!peer.seen) {
                peerTemplate.removeEntity(peer.slot());
                all.remove();
            }
        }
    }
}
