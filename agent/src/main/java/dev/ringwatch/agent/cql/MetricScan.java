package dev.ringwatch.agent.cql;

import com.codahale.metrics.Metric;
import java.util.NoSuchElementException;
import org.apache.cassandra.db.partitions.AbstractUnfilteredPartitionIterator;
import org.apache.cassandra.db.rows.UnfilteredRowIterator;
import org.apache.cassandra.schema.TableMetadata;

/**
 * A range read under way: holds a stretch of names, looks a metric up when its partition is next,
 * reads it when its row is.
 */
final class MetricScan extends AbstractUnfilteredPartitionIterator {
    private final MetricTable table;
    private final Names.Sorted sorted;
    private final int to;
    private final Reads.Select select;
    private int at;
    private Metric next;

    MetricScan(MetricTable table, Names.Sorted sorted, int from, int to, Reads.Select select) {
        this.table = table;
        this.sorted = sorted;
        this.at = from;
        this.to = to;
        this.select = select;
    }

    @Override
    public TableMetadata metadata() {
        return table.metadata();
    }

    @Override
    public boolean hasNext() {
        while (next == null && at < to) {
            next = table.shows(sorted.kinds[at]) ? table.metric(sorted.names[at]) : null;
            at += next == null ? 1 : 0;
        }
        return next != null;
    }

    @Override
    public UnfilteredRowIterator next() {
        if (!hasNext()) {
            throw new NoSuchElementException();
        }
        String name = sorted.names[at++];
        Metric metric = next;
        next = null;
        return select.row(table.key(name), name, metric);
    }
}
