package dev.ringwatch.agent.cassandra;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import javax.management.JMException;
import javax.management.MBeanServer;
import javax.management.MBeanServerFactory;
import javax.management.NotificationListener;
import javax.management.ObjectName;
import org.apache.cassandra.utils.FBUtilities;

/**
 * The few things of a node that are no metrics, through Cassandra's own management beans in this
 * process: their names have stayed the same from 4.0 on, where the classes behind them have not.
 */
public final class NodeBeans {
    private static final ObjectName STORAGE = name("org.apache.cassandra.db:type=StorageService");
    private static final ObjectName SNITCH =
            name("org.apache.cassandra.db:type=EndpointSnitchInfo");
    private static final ObjectName FAILURES =
            name("org.apache.cassandra.net:type=FailureDetector");
    private static final ObjectName PROXY = name("org.apache.cassandra.db:type=StorageProxy");
    private static final ObjectName STREAMS = name("org.apache.cassandra.net:type=StreamManager");

    private final MBeanServer server;

    private NodeBeans(MBeanServer server) {
        this.server = server;
    }

    /**
     * Null until Cassandra has come up far enough to have a host id and to be in its ring (or to be
     * joining it). Looks for a server that Cassandra has made and makes none: doing so early would
     * pick the JVM's logging and JMX settings before Cassandra does.
     */
    public static NodeBeans ifStarted() {
        for (MBeanServer server : MBeanServerFactory.findMBeanServer(null)) {
            if (server.isRegistered(STORAGE)) {
                NodeBeans beans = new NodeBeans(server);
                boolean up = Boolean.TRUE.equals(beans.get(STORAGE, "Initialized"))
                        && beans.get(STORAGE, "LocalHostId") != null;
                return up ? beans : null;
            }
        }
        return null;
    }

    public UUID hostId() {
        return UUID.fromString((String) get(STORAGE, "LocalHostId"));
    }

    public String clusterName() {
        return text(STORAGE, "ClusterName");
    }

    public String datacenter() {
        return text(SNITCH, "Datacenter");
    }

    public String rack() {
        return text(SNITCH, "Rack");
    }

    public String releaseVersion() {
        return text(STORAGE, "ReleaseVersion");
    }

    public String schemaVersion() {
        return text(STORAGE, "SchemaVersion");
    }

    public String operationMode() {
        return text(STORAGE, "OperationMode");
    }

    public boolean gossipRunning() {
        return Boolean.TRUE.equals(get(STORAGE, "GossipRunning"));
    }

    public boolean nativeTransportRunning() {
        return Boolean.TRUE.equals(get(STORAGE, "NativeTransportRunning"));
    }

    public List<?> tokens() {
        Object tokens = get(STORAGE, "Tokens");
        return tokens instanceof List ? (List<?>) tokens : Collections.emptyList();
    }

    public boolean incrementalBackups() {
        return Boolean.TRUE.equals(get(STORAGE, "IncrementalBackupsEnabled"));
    }

    public boolean partitionsByMurmur3() {
        return text(STORAGE, "PartitionerName").endsWith("Murmur3Partitioner");
    }

    /**
     * Whether this node is the one with the lowest id of those that are up and normal. Nodes that
     * see the same of each other agree on it without a word.
     */
    public boolean isFirstOfCluster() {
        Object ids = get(STORAGE, "HostIdToEndpointWithPort");
        Object live = get(STORAGE, "LiveNodesWithPort");
        String own = text(STORAGE, "LocalHostId");
        if (!(ids instanceof Map) || !(live instanceof List)
                || !operationMode().equals("NORMAL")) {
            return false;
        }
        Set<Object> normal = new HashSet<>((List<?>) live);
        for (String attribute : new String[] {"JoiningNodesWithPort", "LeavingNodesWithPort",
            "MovingNodesWithPort"}) {
            Object some = get(STORAGE, attribute);
            if (some instanceof List) {
                ((List<?>) some).forEach(normal::remove);
            }
        }
        for (Map.Entry<?, ?> other : ((Map<?, ?>) ids).entrySet()) {
            if (other.getKey().toString().compareTo(own) < 0 && normal.contains(other.getValue())) {
                return false;
            }
        }
        return true;
    }

    /** To what the node tells of its repairs while they run. */
    public void listen(NotificationListener listener) {
        try {
            server.addNotificationListener(STORAGE, listener, null, null);
        } catch (JMException | RuntimeException otherVersion) { // it tells nothing, then
            return;
        }
    }

    public void unlisten(NotificationListener listener) {
        try {
            server.removeNotificationListener(STORAGE, listener);
        } catch (JMException | RuntimeException gone) { // then it is told nothing either
            return;
        }
    }

    /** Address and storage port as others see this node, or empty. */
    public String address() {
        Object byId = get(STORAGE, "HostIdToEndpointWithPort");
        Object own = byId instanceof Map
                ? ((Map<?, ?>) byId).get(get(STORAGE, "LocalHostId")) : null;
        return own == null ? "" : own.toString();
    }

    /** Where clients connect, or empty. No bean tells; this method has stayed the same. */
    public String rpcAddress() {
        try {
            return FBUtilities.getBroadcastNativeAddressAndPort().getHostAddressAndPort();
        } catch (Throwable otherVersion) {
            return "";
        }
    }

    public List<String> dataDirectories() {
        Object data = get(STORAGE, "AllDataFileLocations");
        return data instanceof String[] ? Arrays.asList((String[]) data) : Collections.emptyList();
    }

    /** Directories of data, commit log, hints and saved caches. */
    public List<String> directories() {
        List<String> all = new ArrayList<>(dataDirectories());
        for (String attribute : new String[] {"CommitLogLocation", "SavedCachesLocation"}) {
            Object location = get(STORAGE, attribute);
            if (location != null) {
                all.add(location.toString());
            }
        }
        return all;
    }

    public int peersUp() {
        return number(FAILURES, "UpEndpointCount");
    }

    public int peersDown() {
        return number(FAILURES, "DownEndpointCount");
    }

    /** Address and port → {@code UP} or {@code DOWN}; this node is among them. */
    public Map<?, ?> peerStates() {
        Object states = get(FAILURES, "SimpleStatesWithPort");
        return states instanceof Map ? (Map<?, ?>) states : Collections.emptyMap();
    }

    /** Of another node, by its address and port; empty if it is not known. */
    public String datacenterOf(String peer) {
        return ofSnitch("getDatacenter", peer);
    }

    public String rackOf(String peer) {
        return ofSnitch("getRack", peer);
    }

    private String ofSnitch(String operation, String peer) {
        try {
            return String.valueOf(server.invoke(SNITCH, operation, new Object[] {peer},
                    new String[] {String.class.getName()}));
        } catch (JMException | RuntimeException unknown) {
            return "";
        }
    }

    /** Streaming operations under way. */
    public int streams() {
        Object streams = get(STREAMS, "CurrentStreams");
        return streams instanceof java.util.Collection
                ? ((java.util.Collection<?>) streams).size() : 0;
    }

    /** How many clients may connect at once; not above 0: there is no bound. */
    public int nativeConnectionsMax() {
        return number(PROXY, "NativeTransportMaxConcurrentConnections");
    }

    /** How long hints are kept for a node that is away; below 0: unknown. */
    public int hintWindowMillis() {
        return number(PROXY, "MaxHintWindow");
    }

    private int number(ObjectName bean, String attribute) {
        Object value = get(bean, attribute);
        return value instanceof Number ? ((Number) value).intValue() : -1;
    }

    private String text(ObjectName bean, String attribute) {
        Object value = get(bean, attribute);
        return value == null ? "" : value.toString();
    }

    private Object get(ObjectName bean, String attribute) {
        try {
            return server.getAttribute(bean, attribute);
        } catch (JMException | RuntimeException absent) { // not in this version, or not yet
            return null;
        }
    }

    private static ObjectName name(String name) {
        try {
            return new ObjectName(name);
        } catch (JMException e) {
            throw new IllegalArgumentException(e);
        }
    }
}
