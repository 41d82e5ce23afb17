package dev.ringwatch.agent.activity;

import dev.ringwatch.agent.filter.Filters;
import dev.ringwatch.agent.frame.Model;
import java.lang.reflect.Field;
import java.util.Collections;
import java.util.Map;
import org.apache.cassandra.streaming.SessionInfo;
import org.apache.cassandra.streaming.StreamManager;
import org.apache.cassandra.streaming.StreamOperation;
import org.apache.cassandra.streaming.StreamResultFuture;
import org.apache.cassandra.streaming.StreamState;

/**
 * What goes to and comes from other nodes: the plans behind {@code nodetool netstats}, of which
 * Cassandra's bean makes a table for each file. When there are none, a look costs two questions.
 */
final class StreamSessions {
    private final Running running;
    private final Kinds kinds;
    private final boolean replaces;
    private Map<?, ?> initiated = Collections.emptyMap();
    private Map<?, ?> followed = Collections.emptyMap();
    /** Their types are not the same in 4.0 as later. */
    private Field planId;
    private Field peer;

    /** @param replaces this node takes the place of another, so its bootstrap is called so */
    StreamSessions(Model model, Filters filters, Kinds kinds, boolean replaces) {
        this.running = new Running(model, filters, "stream", true, "operation", "peer",
                "direction");
        this.kinds = kinds;
        this.replaces = replaces;
        try {
            planId = StreamResultFuture.class.getField("planId");
            peer = SessionInfo.class.getField("peer");
            initiated = plans("initiatorStreams");
            followed = plans("followerStreams");
        } catch (ReflectiveOperationException | RuntimeException otherVersion) {
            initiated = Collections.emptyMap(); // no streams are sent, and all else is
            followed = initiated;
        }
    }

    private static Map<?, ?> plans(String name) throws ReflectiveOperationException {
        Field field = StreamManager.class.getDeclaredField(name);
        field.setAccessible(true);
        return (Map<?, ?>) field.get(StreamManager.instance);
    }

    void sample(long nowMs, long nanos) throws ReflectiveOperationException {
        if (running.isIdle() && initiated.isEmpty() && followed.isEmpty()) {
            return;
        }
        running.begin(nowMs, nanos);
        try {
            for (Object plan : initiated.values()) {
                see((StreamResultFuture) plan, replaces);
            }
            for (Object plan : followed.values()) {
                see((StreamResultFuture) plan, false);
            }
        } finally {
            running.end();
        }
    }

    void clear() {
        running.clear();
    }

    private void see(StreamResultFuture plan, boolean replacing)
            throws ReflectiveOperationException {
        String id = String.valueOf(planId.get(plan));
        StreamState state = plan.getCurrentState();
        String operation = operation(state.streamOperation, replacing);
        for (SessionInfo session : state.sessions) {
            if (session.state.isFinalState()) {
                continue;
            }
            String other = address(peer.get(session));
            see(operation, other, "in", id, session.sessionIndex, session.getTotalSizeReceived(),
                    session.getTotalSizeToReceive(), session.getTotalFilesReceived(),
                    session.getTotalFilesToReceive());
            see(operation, other, "out", id, session.sessionIndex, session.getTotalSizeSent(),
                    session.getTotalSizeToSend(), session.getTotalFilesSent(),
                    session.getTotalFilesToSend());
        }
    }

    private void see(String operation, String other, String direction, String id, int index,
            long done, long size, long doneFiles, long files) {
        if (files == 0) { // nothing goes that way, or it is not known yet
            return;
        }
        String key = id + direction + index + other;
        boolean shown = running.see(key, () -> id, true, done, size, operation, other, direction);
        if (shown) {
            running.seeFiles(key, doneFiles, files);
        }
        kinds.add("stream_" + operation, !shown);
    }

    private static String operation(StreamOperation operation, boolean replacing) {
        switch (operation.name()) {
            case "BOOTSTRAP":
                return replacing ? "replace" : "bootstrap";
            case "REBUILD":
                return "rebuild";
            case "DECOMMISSION":
                return "decommission";
            case "REPAIR":
                return "repair";
            case "RELOCATION":
                return "move";
            case "BULK_LOAD":
                return "bulk_load";
            default:
                return "other";
        }
    }

    /** As the entity type {@code peer} has it: without a name, and with the port. */
    private static String address(Object peer) {
        String text = String.valueOf(peer);
        return Rows.label(text.substring(text.lastIndexOf('/') + 1), "unknown");
    }
}
