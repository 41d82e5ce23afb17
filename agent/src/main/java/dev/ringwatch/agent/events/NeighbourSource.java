package dev.ringwatch.agent.events;

import java.util.Map;
import org.apache.cassandra.locator.InetAddressAndPort;
import org.apache.cassandra.service.IEndpointLifecycleSubscriber;
import org.apache.cassandra.service.StorageService;

/** What gossip says of other nodes, told by Cassandra's own list of who wants to know. */
public final class NeighbourSource implements EventSource, IEndpointLifecycleSubscriber {
    private final Inbox inbox;

    public NeighbourSource(Inbox inbox) {
        this.inbox = inbox;
    }

    @Override
    public void open() {
        StorageService.instance.register(this);
    }

    @Override
    public void close() {
        StorageService.instance.unregister(this);
    }

    @Override
    public void onJoinCluster(InetAddressAndPort endpoint) {
        tell(EventKind.NODE_JOINED, endpoint);
    }

    @Override
    public void onLeaveCluster(InetAddressAndPort endpoint) {
        tell(EventKind.NODE_LEFT, endpoint);
    }

    @Override
    public void onUp(InetAddressAndPort endpoint) {
        tell(EventKind.NODE_UP, endpoint);
    }

    @Override
    public void onDown(InetAddressAndPort endpoint) {
        tell(EventKind.NODE_DOWN, endpoint);
    }

    @Override
    public void onMove(InetAddressAndPort endpoint) {
        tell(EventKind.NODE_MOVED, endpoint);
    }

    /** On the thread of gossip. */
    private void tell(EventKind kind, InetAddressAndPort endpoint) {
        try {
            String peer = endpoint.toString();
            inbox.add(Seen.event(kind, kind.usual[0],
                    Map.of("peer", peer.substring(peer.indexOf('/') + 1)), ""));
        } catch (Throwable never) {
            return;
        }
    }
}
