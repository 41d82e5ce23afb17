package dev.ringwatch.agent.cql;

import java.nio.ByteBuffer;
import org.apache.cassandra.db.marshal.AbstractType;
import org.apache.cassandra.db.marshal.DoubleType;
import org.apache.cassandra.db.marshal.LongType;
import org.apache.cassandra.db.marshal.MapType;
import org.apache.cassandra.db.marshal.UTF8Type;

/**
 * What the tables have beside {@code name}: Cassandra 6's columns, {@code p50th} and {@code
 * buckets}.
 */
final class Columns {
    /** A cell's bytes; null or a throw: there is no such cell in this row. */
    interface Reader {
        ByteBuffer read(MetricRow row) throws Exception;
    }

    static final class Column {
        final String name;
        final AbstractType<?> type;
        final Reader reader;

        Column(String name, AbstractType<?> type, Reader reader) {
            this.name = name;
            this.type = type;
            this.reader = reader;
        }
    }

    private static final AbstractType<?> TEXT = UTF8Type.instance;
    private static final AbstractType<?> BIGINT = LongType.instance;
    private static final AbstractType<?> DOUBLE = DoubleType.instance;
    private static final AbstractType<?> BUCKETS =
            MapType.getInstance(DoubleType.instance, LongType.instance, false);

    private static final Column SCOPE = new Column("scope", TEXT, MetricRow::scope);
    private static final Column COUNT = new Column("count", BIGINT, MetricRow::count);
    private static final Column[] GROUP = {
        SCOPE, new Column("type", TEXT, MetricRow::type),
        new Column("value", TEXT, MetricRow::value),
    };

    private Columns() {}

    static Column[] ofGroup() {
        return GROUP;
    }

    static Column[] of(Kind kind) {
        switch (kind) {
            case COUNTER:
                return new Column[] {SCOPE, new Column("value", BIGINT, MetricRow::count)};
            case GAUGE:
                return new Column[] {SCOPE, new Column("value", TEXT, MetricRow::gauge)};
            case METER:
                return join(new Column[] {SCOPE, COUNT}, rates());
            case HISTOGRAM:
                return join(new Column[] {SCOPE}, distribution(BIGINT));
            default:
                return join(join(new Column[] {SCOPE, COUNT}, rates()), distribution(DOUBLE));
        }
    }

    private static Column[] rates() {
        return new Column[] {
            new Column("mean_rate", DOUBLE, row -> row.rate(0)),
            new Column("one_minute_rate", DOUBLE, row -> row.rate(1)),
            new Column("five_minute_rate", DOUBLE, row -> row.rate(5)),
            new Column("fifteen_minute_rate", DOUBLE, row -> row.rate(15)),
        };
    }

    private static Column[] distribution(AbstractType<?> extreme) {
        return new Column[] {
            new Column("min", extreme, MetricRow::min),
            new Column("max", extreme, MetricRow::max),
            new Column("mean", DOUBLE, MetricRow::mean),
            new Column("p50th", DOUBLE, row -> row.quantile(0.5)),
            new Column("p75th", DOUBLE, row -> row.quantile(0.75)),
            new Column("p95th", DOUBLE, row -> row.quantile(0.95)),
            new Column("p98th", DOUBLE, row -> row.quantile(0.98)),
            new Column("p99th", DOUBLE, row -> row.quantile(0.99)),
            new Column("p999th", DOUBLE, row -> row.quantile(0.999)),
            new Column("buckets", BUCKETS, MetricRow::buckets),
        };
    }

    private static Column[] join(Column[] a, Column[] b) {
        Column[] both = java.util.Arrays.copyOf(a, a.length + b.length);
        System.arraycopy(b, 0, both, a.length, b.length);
        return both;
    }
}
