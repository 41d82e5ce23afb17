package dev.ringwatch.agent.cql;

import com.codahale.metrics.Metric;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import org.apache.cassandra.db.DataRange;
import org.apache.cassandra.db.DecoratedKey;
import org.apache.cassandra.db.EmptyIterators;
import org.apache.cassandra.db.PartitionPosition;
import org.apache.cassandra.db.filter.ClusteringIndexFilter;
import org.apache.cassandra.db.filter.ColumnFilter;
import org.apache.cassandra.db.marshal.UTF8Type;
import org.apache.cassandra.db.partitions.PartitionUpdate;
import org.apache.cassandra.db.partitions.SingletonUnfilteredPartitionIterator;
import org.apache.cassandra.db.partitions.UnfilteredPartitionIterator;
import org.apache.cassandra.db.virtual.VirtualTable;
import org.apache.cassandra.dht.AbstractBounds;
import org.apache.cassandra.dht.LocalPartitioner;
import org.apache.cassandra.exceptions.InvalidRequestException;
import org.apache.cassandra.schema.TableMetadata;

/**
 * The metrics of one group or of one kind. The order of its partitions is that of their names, so a
 * table of a group is a stretch of {@link Names}, and {@code token(name)} reads a stretch of that.
 */
final class MetricTable implements VirtualTable {
    private final TableMetadata metadata;
    private final Columns.Column[] columns;
    private final Names names;
    private final Reads reads;
    /** All names begin so; empty: any. */
    private final String prefix;
    /** Null: of any kind. */
    private final Kind kind;

    private MetricTable(String table, String comment, Columns.Column[] columns, Names names,
            Reads reads, String prefix, Kind kind) {
        this.columns = columns;
        this.names = names;
        this.reads = reads;
        this.prefix = prefix;
        this.kind = kind;
        TableMetadata.Builder builder = TableMetadata.builder(CqlFace.KEYSPACE, table)
                .kind(TableMetadata.Kind.VIRTUAL)
                .comment(comment)
                .partitioner(new LocalPartitioner(UTF8Type.instance))
                .addPartitionKeyColumn("name", UTF8Type.instance);
        for (Columns.Column column : columns) {
            builder.addRegularColumn(column.name, column.type);
        }
        metadata = builder.build();
    }

    static MetricTable ofGroup(String group, Names names, Reads reads) {
        return new MetricTable(Groups.table(group),
                "All metrics for \"" + group + "\" metric group", Columns.ofGroup(),
                names, reads, Groups.PREFIX + group + ".", null);
    }

    static MetricTable ofKind(Kind kind, Names names, Reads reads) {
        return new MetricTable("type_" + kind.word, "All metrics with type \"" + kind.title + "\"",
                Columns.of(kind), names, reads, "", kind);
    }

    @Override
    public TableMetadata metadata() {
        return metadata;
    }

    @Override
    public UnfilteredPartitionIterator select(DecoratedKey key, ClusteringIndexFilter clusterings,
            ColumnFilter filter) {
        ByteBuffer bytes = key.getKey();
        String name = StandardCharsets.UTF_8.decode(bytes.duplicate()).toString();
        Metric metric = metric(name);
        return metric == null ? EmptyIterators.unfilteredPartition(metadata)
                : new SingletonUnfilteredPartitionIterator(select(filter).row(key, name, metric));
    }

    @Override
    public UnfilteredPartitionIterator select(DataRange range, ColumnFilter filter) {
        Names.Sorted sorted = names.sorted();
        int from = sorted.from(prefix);
        int to = prefix.isEmpty() ? sorted.names.length : sorted.from(prefix + Character.MAX_VALUE);
        AbstractBounds<PartitionPosition> bounds = range.keyRange();
        int left = bounds.left.isMinimum()
                ? from : position(sorted, from, to, bounds.left, !bounds.inclusiveLeft());
        int right = bounds.right.isMinimum()
                ? to : position(sorted, left, to, bounds.right, bounds.inclusiveRight());
        return new MetricScan(this, sorted, left, right, select(filter));
    }

    /** What this table shows under {@code name} now, or null. */
    Metric metric(String name) {
        Metric metric = name.startsWith(prefix) ? names.metric(name) : null;
        Kind found = Kind.of(metric);
        return found == null || kind != null && kind != found ? null : metric;
    }

    boolean shows(byte ordinal) {
        return kind == null || kind.ordinal() == ordinal;
    }

    private Reads.Select select(ColumnFilter filter) {
        return reads.new Select(metadata, columns, filter);
    }

    DecoratedKey key(String name) {
        return metadata.partitioner.decorateKey(Values.text(name));
    }

    /** The first position after {@code bound}, or, unless {@code after}, at it. */
    private int position(Names.Sorted sorted, int from, int to, PartitionPosition bound,
            boolean after) {
        int low = from;
        int high = to;
        while (low < high) {
            int middle = (low + high) >>> 1;
            int order = key(sorted.names[middle]).compareTo(bound);
            if (order < 0 || order == 0 && after) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        return low;
    }

    @Override
    public void apply(PartitionUpdate update) {
        throw new InvalidRequestException("Modification is not supported by table " + metadata);
    }

    @Override
    public void truncate() {
        throw new InvalidRequestException("Truncation is not supported by table " + metadata);
    }
}
