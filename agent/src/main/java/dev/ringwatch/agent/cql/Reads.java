package dev.ringwatch.agent.cql;

import com.codahale.metrics.Metric;
import java.nio.ByteBuffer;
import java.util.concurrent.atomic.LongAdder;
import org.apache.cassandra.db.Clustering;
import org.apache.cassandra.db.DecoratedKey;
import org.apache.cassandra.db.DeletionTime;
import org.apache.cassandra.db.LivenessInfo;
import org.apache.cassandra.db.RegularAndStaticColumns;
import org.apache.cassandra.db.filter.ColumnFilter;
import org.apache.cassandra.db.rows.AbstractUnfilteredRowIterator;
import org.apache.cassandra.db.rows.BTreeRow;
import org.apache.cassandra.db.rows.BufferCell;
import org.apache.cassandra.db.rows.EncodingStats;
import org.apache.cassandra.db.rows.Row;
import org.apache.cassandra.db.rows.Rows;
import org.apache.cassandra.db.rows.Unfiltered;
import org.apache.cassandra.db.rows.UnfilteredRowIterator;
import org.apache.cassandra.schema.ColumnMetadata;
import org.apache.cassandra.schema.TableMetadata;

/** Makes rows of metrics, and counts. */
final class Reads {
    private final LongAdder rows = new LongAdder();
    private final LongAdder errors = new LongAdder();
    private final double timerScale;

    /** @param timerScale from what timers hold to microseconds */
    Reads(double timerScale) {
        this.timerScale = timerScale;
    }

    /** Rows made since the start. */
    long rows() {
        return rows.sum();
    }

    /** Cells that are missing from them because their metric threw. */
    long errors() {
        return errors.sum();
    }

    /** What one query, or one page of it, asks for. Of one thread. */
    final class Select {
        private final TableMetadata metadata;
        private final RegularAndStaticColumns queried;
        private final ColumnMetadata[] wanted;
        private final Columns.Reader[] readers;
        private final long now = System.currentTimeMillis() * 1000;
        private final LivenessInfo liveness = Liveness.at(now);
        private final Row.Builder builder = BTreeRow.sortedBuilder();

        Select(TableMetadata metadata, Columns.Column[] columns, ColumnFilter filter) {
            this.metadata = metadata;
            this.queried = filter.queriedColumns();
            int size = queried.regulars.size();
            wanted = new ColumnMetadata[size];
            readers = new Columns.Reader[size];
            int i = 0;
            for (ColumnMetadata column : queried.regulars) {
                wanted[i] = column;
                readers[i++] = reader(columns, column.name.toString());
            }
        }

        private Columns.Reader reader(Columns.Column[] columns, String name) {
            for (Columns.Column column : columns) {
                if (column.name.equals(name)) {
                    return column.reader;
                }
            }
            throw new IllegalArgumentException(name);
        }

        /** A partition of one row, which is made when it is asked for. */
        UnfilteredRowIterator row(DecoratedKey key, String name, Metric metric) {
            return new AbstractUnfilteredRowIterator(metadata, key, DeletionTime.LIVE, queried,
                    Rows.EMPTY_STATIC_ROW, false, EncodingStats.NO_STATS) {
                private boolean done;

                @Override
                protected Unfiltered computeNext() {
                    if (done) {
                        return endOfData();
                    }
                    done = true;
                    return make(new MetricRow(name, metric, timerScale));
                }
            };
        }

        private Row make(MetricRow metric) {
            rows.increment();
            builder.newRow(Clustering.EMPTY);
            builder.addPrimaryKeyLivenessInfo(liveness);
            for (int i = 0; i < wanted.length; i++) {
                ByteBuffer value = null;
                try {
                    value = readers[i].read(metric);
                } catch (Throwable failed) {
                    // a gauge of a table that is being dropped, a histogram that overflowed
                    errors.increment();
                }
                if (value != null) {
                    builder.addCell(BufferCell.live(wanted[i], now, value));
                }
            }
            return builder.build();
        }
    }
}
