package dev.ringwatch.agent.cql;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.codahale.metrics.Counter;
import com.codahale.metrics.Gauge;
import com.codahale.metrics.Histogram;
import com.codahale.metrics.MetricRegistry;
import com.codahale.metrics.UniformReservoir;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.cassandra.config.DatabaseDescriptor;
import org.apache.cassandra.db.DataRange;
import org.apache.cassandra.db.filter.ColumnFilter;
import org.apache.cassandra.db.partitions.UnfilteredPartitionIterator;
import org.apache.cassandra.db.rows.Cell;
import org.apache.cassandra.db.rows.Row;
import org.apache.cassandra.db.rows.UnfilteredRowIterator;
import org.apache.cassandra.schema.ColumnMetadata;
import org.apache.cassandra.schema.TableMetadata;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/**
 * What a running Cassandra does not show on demand: metrics that throw, and when metrics are read.
 */
class MetricTableTest {
    private final MetricRegistry registry = new MetricRegistry();
    private final Reads reads = new Reads(1);
    private final AtomicInteger gaugeReads = new AtomicInteger();

    @BeforeAll
    static void cassandra() {
        DatabaseDescriptor.clientInitialization();
    }

    @Test
    void aMetricThatThrowsLosesItsCell() {
        gauge("A", () -> 1);
        gauge("B", () -> {
            throw new IllegalStateException("its table is gone");
        });
        gauge("C", () -> {
            throw new StackOverflowError();
        });
        gauge("D", () -> null);
        gauge("E", () -> new long[] {1, 2});
        MetricTable table = MetricTable.ofGroup("G", new Names(registry), reads);
        assertEquals("A gauge 1, B gauge -, C gauge -, D gauge null, E gauge [1, 2]", rows(table));
        assertEquals(2, reads.errors());
        assertEquals(5, reads.rows());
        table = MetricTable.ofKind(Kind.GAUGE, new Names(registry), reads);
        assertEquals(5, rows(table).split(", [A-E]").length, rows(table));
    }

    @Test
    void aValueIsReadOnlyWhenItsRowIsTaken() {
        for (String name : "ABCDE".split("")) {
            gauge(name, gaugeReads::incrementAndGet);
        }
        MetricTable table = MetricTable.ofGroup("G", new Names(registry), reads);
        UnfilteredPartitionIterator scan = all(table);
        assertTrue(scan.hasNext());
        UnfilteredRowIterator first = scan.next();
        scan.next();
        assertEquals(0, gaugeReads.get(), "nothing was asked of a row yet");
        assertTrue(first.hasNext());
        assertEquals(1, gaugeReads.get(), "one row was made");
        scan.close();
        assertEquals(1, gaugeReads.get());
    }

    @Test
    void onlyWhatWasAskedFor() {
        gauge("A", gaugeReads::incrementAndGet);
        MetricTable table = MetricTable.ofGroup("G", new Names(registry), reads);
        ColumnMetadata scope = table.metadata()
                .getColumn(java.nio.ByteBuffer.wrap("scope".getBytes(StandardCharsets.UTF_8)));
        ColumnFilter filter = ColumnFilter.selectionBuilder().add(scope).build();
        try (UnfilteredPartitionIterator scan =
                table.select(DataRange.allData(table.metadata().partitioner), filter);
                UnfilteredRowIterator partition = scan.next()) {
            Row row = (Row) partition.next();
            assertEquals("undefined", text(row, table.metadata(), "scope"));
            assertNull(text(row, table.metadata(), "value"));
        }
        assertEquals(0, gaugeReads.get());
    }

    @Test
    void whatIsDroppedDuringAScanIsNotInIt() {
        for (String name : "ABC".split("")) {
            gauge(name, () -> 1);
        }
        MetricTable table = MetricTable.ofGroup("G", new Names(registry), reads);
        UnfilteredPartitionIterator scan = all(table);
        scan.next();
        registry.remove(Groups.PREFIX + "G.B");
        registry.register(Groups.PREFIX + "G.D", new Counter());
        assertTrue(scan.hasNext());
        assertEquals("C", name(scan.next()));
        assertFalse(scan.hasNext());
        assertEquals("A gauge 1, C gauge 1, D counter 0", rows(table));
    }

    @Test
    void aGroupIsOnlyItsOwnNames() {
        gauge("A", () -> 1);
        registry.register(Groups.PREFIX + "Go.A", new Counter());
        registry.register(Groups.PREFIX + "F.A", new Counter());
        registry.register(Groups.PREFIX + "G", new Counter());
        registry.register("other.G.A", new Counter());
        Names names = new Names(registry);
        assertEquals("A gauge 1", rows(MetricTable.ofGroup("G", names, reads)));
        assertEquals("", rows(MetricTable.ofGroup("H", names, reads)));
    }

    @Test
    void aHistogramOfAnotherMakeHasNoBuckets() {
        Histogram histogram = new Histogram(new UniformReservoir());
        histogram.update(3);
        registry.register(Groups.PREFIX + "G.H.ks.t", histogram);
        MetricTable table = MetricTable.ofKind(Kind.HISTOGRAM, new Names(registry), reads);
        try (UnfilteredPartitionIterator scan = all(table);
                UnfilteredRowIterator partition = scan.next()) {
            Row row = (Row) partition.next();
            assertEquals("ks.t", text(row, table.metadata(), "scope"));
            assertNull(row.getCell(column(table.metadata(), "buckets")));
            assertEquals(3, row.getCell(column(table.metadata(), "p50th")).buffer().getDouble(0));
            assertEquals(3, row.getCell(column(table.metadata(), "max")).buffer().getLong(0));
        }
        assertEquals(0, reads.errors());
    }

    @Test
    void groupsOf6AndThoseThatAreThere() {
        Set<String> groups = Groups.all(Arrays.asList("x", Groups.PREFIX + "Table.A.b",
                Groups.PREFIX + "NewOne.A", Groups.PREFIX + "NewOne.B", Groups.PREFIX + "short"));
        assertTrue(groups.contains("Table") && groups.contains("NewOne")
                && groups.contains("autorepair") && !groups.contains("short"), groups.toString());
        Set<String> tables = new TreeSet<>();
        for (String group : groups) {
            tables.add(Groups.table(group));
        }
        assertEquals(groups.size(), tables.size());
        assertTrue(tables.contains("cidr_authorizer_group") && tables.contains("cql_group")
                && tables.contains("mutual_tls_group"), tables.toString());
        assertEquals("undefined", Groups.scope(Groups.PREFIX + "Client.AuthFailure"));
        assertEquals("ks.t.i", Groups.scope(Groups.PREFIX + "IndexTable.ReadLatency.ks.t.i"));
        assertEquals("undefined", Groups.scope("jvm"));
    }

    private void gauge(String name, Gauge<?> gauge) {
        registry.register(Groups.PREFIX + "G." + name, gauge);
    }

    private static UnfilteredPartitionIterator all(MetricTable table) {
        return table.select(DataRange.allData(table.metadata().partitioner),
                ColumnFilter.all(table.metadata()));
    }

    /** Last part of each name, type and value. */
    private static String rows(MetricTable table) {
        StringBuilder all = new StringBuilder();
        try (UnfilteredPartitionIterator scan = all(table)) {
            while (scan.hasNext()) {
                try (UnfilteredRowIterator partition = scan.next()) {
                    Row row = (Row) partition.next();
                    assertFalse(row.isEmpty());
                    assertFalse(partition.hasNext());
                    String value = text(row, table.metadata(), "value");
                    String type = column(table.metadata(), "type") == null
                            ? "" : " " + text(row, table.metadata(), "type");
                    all.append(all.length() > 0 ? ", " : "").append(name(partition)).append(type)
                            .append(' ').append(value == null ? "-" : value);
                }
            }
        }
        return all.toString();
    }

    private static String name(UnfilteredRowIterator partition) {
        String name = StandardCharsets.UTF_8.decode(partition.partitionKey().getKey().duplicate())
                .toString();
        return name.substring(name.lastIndexOf('.') + 1);
    }

    private static ColumnMetadata column(TableMetadata metadata, String name) {
        return metadata.getColumn(java.nio.ByteBuffer.wrap(name.getBytes(StandardCharsets.UTF_8)));
    }

    private static String text(Row row, TableMetadata metadata, String column) {
        Cell<?> cell = row.getCell(column(metadata, column));
        return cell == null
                ? null : StandardCharsets.UTF_8.decode(cell.buffer().duplicate()).toString();
    }
}
