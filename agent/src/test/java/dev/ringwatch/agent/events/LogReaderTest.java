package dev.ringwatch.agent.events;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;

import dev.ringwatch.agent.frame.Event;
import dev.ringwatch.agent.frame.Event.Severity;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.function.Predicate;
import org.junit.jupiter.api.Test;

/** Lines as the versions of Cassandra write them. */
class LogReaderTest {
    private static final SchemaNames SHOP = new SchemaNames() {
        @Override
        public boolean hasTable(String keyspace, String table) {
            if (table.equals("broken")) {
                throw new IllegalStateException();
            }
            return keyspace.equals("shop") && Set.of("orders", "items").contains(table);
        }

        @Override
        public Predicate<String> namesOf(String keyspace, String table) {
            return hasTable(keyspace, table) ? Set.of("shop", "orders", "items", "k", "v")::contains
                    : name -> false;
        }

        @Override
        public String token(String keyspace, String table, String partition) {
            return partition.equals("alice") ? "-42" : "";
        }
    };

    private final List<Event> events = new ArrayList<>();
    private LogReader reader = reader(false);

    private LogReader reader(boolean keys) {
        return new LogReader(SHOP, keys, kind -> false, (kind, event) -> events.add(event));
    }

    private String read(EventKind kind, Severity severity, String text) {
        return read(kind, severity, text, "");
    }

    private String read(EventKind kind, Severity severity, String text, String thrown) {
        events.clear();
        reader.read(Seen.logLine(5, kind, severity, text, thrown));
        List<String> all = new ArrayList<>();
        events.forEach(event -> all.add(event.toString()));
        return String.join("\n", all);
    }

    @Test
    void slowQueries() {
        assertEquals("slow_query warning {keyspace=shop, operation=select, slowest_seconds=0.611, "
                + "table=orders, times=1} SELECT * FROM shop.orders WHERE k = ?\n"
                + "slow_query warning {keyspace=shop, operation=select, slowest_seconds=1.5, "
                + "table=items, times=7} SELECT v FROM shop.items LIMIT ?",
                read(EventKind.SLOW_QUERY, Severity.INFO, "3 operations were slow in the last 5001 "
                        + "msecs:\n<SELECT * FROM shop.orders WHERE k = bob>, time 611 msec - slow "
                        + "timeout 500 msec\n<SELECT v FROM shop.items LIMIT 5000>, was slow 7 "
                        + "times: avg/min/max 700/501/1500 msec - slow timeout 500 "
                        + "msec/cross-node\n"
                        + "... (12 were dropped)"));
        assertEquals("", read(EventKind.SLOW_QUERY, Severity.INFO,
                "1 operations timed out in the last 5001 msecs:\n<SELECT * FROM shop.orders>, "
                        + "total "
                        + "time 10001 msec, timeout 10000 msec"));
        assertEquals("warning warning {} Some operations timed out, details available at debug "
                + "level"
                + " (debug.log)", read(EventKind.SLOW_QUERY, Severity.WARNING,
                "Some operations timed out, details available at debug level (debug.log)"));
    }

    @Test
    void aLiteralThatLooksLikeTheMonitorCountsLittle() {
        String end = " msec - slow timeout 1 msec";
        for (String times : List.of("9223372036854775807", "99999999999999999999")) {
            assertEquals("slow_query warning {keyspace=shop, operation=select, "
                    + "slowest_seconds=0.5, "
                    + "table=orders, times=1} SELECT v FROM shop.orders WHERE k = ?",
                    read(EventKind.SLOW_QUERY, Severity.INFO, "<SELECT v FROM shop.orders WHERE "
                            + "k = "
                            + "'>, was slow " + times + " times: avg/min/max 1/1/1" + end
                            + "'>, time 500" + end));
        }
    }

    @Test
    void oneUnreadableStatementTakesNoOtherAlong() {
        String end = ">, time 500 msec - slow timeout 1 msec\n";
        assertEquals("slow_query warning {slowest_seconds=0.5, times=1} \nslow_query warning "
                + "{keyspace=shop, operation=select, slowest_seconds=0.5, table=items, times=1} "
                + "SELECT v FROM shop.items", read(EventKind.SLOW_QUERY, Severity.INFO,
                "<SELECT v FROM shop.broken" + end + "<SELECT v FROM shop.items" + end));
    }

    @Test
    void aGuardrailsLineWithoutItsEndIsReadSoon() {
        String cut = "Guardrail partition_size violated: Partition shop.orders:"
                + " on sstable x has ".repeat(Seen.MAX_CHARS / 18);
        assertTimeoutPreemptively(Duration.ofSeconds(20), () ->
                assertEquals("warning warning {} Guardrail partition_size violated",
                        read(EventKind.LARGE_PARTITION, Severity.WARNING, cut)));
    }

    @Test
    void noKeyIsInALineOfAPartitionThatHasAnotherForm() {
        for (String line : List.of("Writing large partition shop/orders:bob",
                "Writing large partition shop/orders:bob\nbob (5 MB) into sstable x")) {
            assertEquals("warning warning {} Writing large partition shop/orders",
                    read(EventKind.LARGE_PARTITION, Severity.WARNING, line));
        }
    }

    @Test
    void aLineMadeToStopTheReaderDoesNot() {
        assertTimeoutPreemptively(Duration.ofSeconds(60), () -> {
            for (String part : List.of("<", "<SELECT ", "SELECT FROM ", ">, time ", "'", "$$", "{[",
                    "Read 5 live rows and ", "key ", "?,", "(?),", "\"\"", "a=@", "from a.",
                    ": [")) {
                String all = part.repeat(Seen.MAX_CHARS / part.length() + 9);
                for (EventKind kind : EventKind.values()) {
                    read(kind, Severity.WARNING, all, all);
                    read(kind, Severity.WARNING, "<" + all + ">, time 5 msec - slow timeout 1 "
                            + "msec");
                }
            }
        });
    }

    @Test
    void largePartitions() {
        String want = "large_partition warning {keyspace=shop, partition=token -42, "
                + "size_bytes=%s, table=orders} larger than the node's threshold";
        assertEquals(String.format(want, 135_266_304), read(EventKind.LARGE_PARTITION,
                Severity.WARNING, "Writing large partition shop/orders:alice (129.000MiB) to "
                        + "sstable /data/nb-5-big-Data.db"));
        assertEquals(String.format(want, 2_000_123), read(EventKind.LARGE_PARTITION,
                Severity.WARNING, "Guardrail partition_size violated: Partition "
                        + "shop.orders:alice on"
                        + " sstable /data/nb-5-big-Data.db has size 2000123, this exceeds the "
                        + "warning "
                        + "threshold of 1048576. Too large partitions can cause performance "
                        + "problems."));
        assertEquals("tombstones warning {keyspace=shop, partition=token -42, table=orders, "
                + "tombstones=7} one partition of an SSTable has more than the node's threshold",
                read(EventKind.LARGE_PARTITION, Severity.WARNING,
                        "Writing 7 tombstones to shop/orders:alice in sstable /data/x"));
        assertEquals("large_partition warning {keyspace=shop, size_bytes=7, table=orders} larger "
                + "than "
                + "the node's threshold", read(EventKind.LARGE_PARTITION, Severity.WARNING,
                "Guardrail partition_size violated: Partition shop.orders:a on sstable b on "
                        + "sstable "
                        + "/x has size 7, this exceeds the failure threshold of 5."));
        assertEquals("warning warning {} Guardrail items_per_collection violated",
                read(EventKind.LARGE_PARTITION, Severity.WARNING, "Guardrail items_per_collection "
                        + "violated: Detected collection v in row alice of size 7"));
        reader = reader(true);
        read(EventKind.LARGE_PARTITION, Severity.WARNING,
                "Writing large partition shop/orders:a (b) /x:c (1.500KiB) to sstable /data/x");
        assertEquals("a (b) /x:c", events.get(0).labels.get("partition"));
        assertEquals("1536", events.get(0).labels.get("size_bytes"));
    }

    @Test
    void tombstones() {
        assertEquals("tombstones warning {keyspace=shop, operation=select, table=orders, "
                + "tombstones=1001} SELECT * FROM shop.orders WHERE k = ?",
                read(EventKind.TOMBSTONES, Severity.WARNING, "Read 3 live rows and 1001 tombstone "
                        + "cells for query SELECT * FROM shop.orders WHERE k = 'alice' AND v = 'bob"
                        + "; token -5 (see tombstone_warn_threshold)").replace(" AND v = ?", ""));
        String gaveUp = "Scanned over 100001 tombstones during query 'SELECT * FROM shop.orders "
                + "WHERE k = 'alice' LIMIT 100' (last scanned row token was 5 and partion key was "
                + "((alice), bob)); query aborted";
        String want = "tombstones error {keyspace=shop, operation=select, table=orders, "
                + "tombstones=100001} SELECT * FROM shop.orders WHERE k = ? LIMIT ?";
        assertEquals(want, read(EventKind.ERROR, Severity.ERROR, gaveUp));
        assertEquals(want, read(EventKind.ERROR, Severity.ERROR, "Exception in thread",
                "org.apache.TombstoneOverwhelmingException: " + gaveUp));
    }

    @Test
    void batches() {
        assertEquals("batch warning {keyspace=shop, size_bytes=7680, table=orders,items} larger "
                + "than"
                + " batch_size_warn_threshold", read(EventKind.BATCH, Severity.WARNING,
                "Batch for [shop.orders, shop.items] is of size 7.500KiB, exceeding specified "
                        + "threshold of 5.000KiB by 2.500KiB."));
        assertEquals("batch error {keyspace=shop, size_bytes=53687091, table=orders} larger than "
                + "batch_size_fail_threshold", read(EventKind.BATCH, Severity.ERROR,
                "Batch for [shop.orders] is of size 51.200MiB, exceeding specified threshold of "
                        + "50.000KiB by 2.500KiB. (see batch_size_fail_threshold)"));
        assertEquals("batch warning {keyspace=shop, partitions=12, table=items} an unlogged "
                + "batch of"
                + " many partitions", read(EventKind.BATCH, Severity.WARNING,
                "Unlogged batch covering 12 partitions detected against table [shop.items]. You "
                        + "should use a logged batch for atomicity, or asynchronous writes for "
                        + "performance."));
    }

    @Test
    void pausesDropsAndRepairs() {
        assertEquals("gc_pause info {duration_seconds=0.312, gc=G1 Young Generation} ",
                read(EventKind.GC_PAUSE, Severity.INFO, "G1 Young Generation GC in 312ms.  G1 Eden "
                        + "Space: 100 -> 0; G1 Old Gen: 5 -> 6; "));
        assertEquals("dropped warning {messages=5, verb=READ_REQ} ", read(EventKind.DROPPED,
                Severity.INFO, "READ_REQ messages were dropped in last 5000 ms: 3 internal and 2 "
                        + "cross node. Mean internal dropped latency: 5 ms and Mean cross-node "
                        + "dropped latency: 0 ms"));
        String id = "6f9619ff-8b86-d011-b42d-00c04fc964ff";
        assertEquals("repair info {command=3, keyspace=shop} started, full", read(EventKind.REPAIR,
                Severity.INFO, "Starting repair command #3 (" + id + "), repairing keyspace shop "
                        + "with repair options (parallelism: parallel, incremental: false, …)"));
        assertEquals("repair info {command=3, keyspace=shop} finished in 2 seconds",
                read(EventKind.REPAIR, Severity.INFO, "[repair #" + id
                        + "]Repair command #3 finished in 2 seconds"));
        assertEquals("repair error {command=4} failed", read(EventKind.REPAIR, Severity.INFO,
                "[repair #" + id + "]Repair command #4 finished with error"));
        assertEquals("", read(EventKind.REPAIR, Severity.INFO, "Repair session x for range y"));
    }

    @Test
    void allOtherWarningsAndErrors() {
        assertEquals("error error {} Exception in thread ? java.io.IOException: no space left",
                read(EventKind.ERROR, Severity.ERROR, "Exception in thread \"Compaction:1\"\n at x",
                        "java.io.IOException: no space left\n at y"));
        assertEquals("stop info {} it is drained", read(EventKind.STOP, Severity.INFO,
                "DRAINING: starting drain process"));
        assertEquals("", read(EventKind.STOP, Severity.INFO, "Node x state jump to NORMAL"));
        assertEquals("warning warning {} Trying to move", read(EventKind.STOP, Severity.WARNING,
                "Trying to move"));
        assertFalse(read(EventKind.WARNING, Severity.WARNING, "Slow: password=hunter2")
                .contains("hunter2"));
    }
}
