package dev.ringwatch.agent.cassandra;

/**
 * When what follows from all SSTables of the node is to be read again: when some came or went, and
 * five minutes after it was read, to be sure. {@code Compaction.PendingTasks} asks every table, for
 * 0.7 MB of garbage at a thousand, and {@code MaxSSTableSize} of the node takes 27 ms there.
 */
public final class NodeSSTables {
    private static final int SURE_AFTER = 5;

    private long bytes = -1;
    private long readAt;

    /**
     * Whether it is to be read in this pass. It counts as read then.
     *
     * @param now bytes of all SSTables, see {@link Inventory#sstableBytes}
     */
    public boolean areOthers(long now, long pass, int passesPerMinute) {
        if (now == bytes && pass - readAt < (long) SURE_AFTER * passesPerMinute) {
            return false;
        }
        bytes = now;
        readAt = pass;
        return true;
    }
}
