package dev.ringwatch.agent.beans;

import dev.ringwatch.agent.cassandra.NodeSSTables;
import java.util.ArrayList;
import java.util.List;

/**
 * Beans that are read together, as long as what they count moves: those of a table, of a keyspace,
 * or all others.
 */
final class BeanGroup {
    /** Null of what is no keyspace's. */
    final String keyspace;
    /** Empty of what is the keyspace's. */
    final String table;
    final List<MetricBean> beans = new ArrayList<>();
    /** Some have not been read yet. */
    boolean fresh = true;
    boolean moved;
    /** Something in it has quantiles or rates that go down. */
    boolean fading;
    /** Since it moved, its dear gauges have had no turn. */
    boolean owing;
    /** Its slow gauges have not been read since it moved. */
    boolean stale = true;
    private final NodeSSTables nodeSSTables = new NodeSSTables();

    BeanGroup(String keyspace, String table) {
        this.keyspace = keyspace;
        this.table = table;
    }

    void add(MetricBean bean) {
        beans.add(bean);
        fresh = true;
    }

    void remove(MetricBean bean) {
        beans.remove(bean);
    }

    /**
     * Whether what follows from SSTables is to be read again: of a table when that has moved, of
     * the node when its SSTables are others.
     */
    boolean hasOtherSSTables(long bytes, long pass, int passesPerMinute) {
        return keyspace != null || nodeSSTables.areOthers(bytes, pass, passesPerMinute);
    }
}
