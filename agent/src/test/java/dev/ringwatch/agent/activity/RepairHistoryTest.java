package dev.ringwatch.agent.activity;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.ringwatch.agent.filter.Filters;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import org.junit.jupiter.api.Test;

class RepairHistoryTest {
    private static final int DAY = 86_400;
    private static final int NOW = 20_000 * DAY;
    private static final int GRACE = 10 * DAY;
    private static final Set<String> RING = Set.of("(-9223372036854775808,0]",
            "(0,-9223372036854775808]");
    private static final Map<String, String> FULL = Map.of("incremental", "false", "hosts", "",
            "dataCenters", "");
    private static final Map<String, String> INCREMENTAL = Map.of("incremental", "true");

    private final RepairHistory history = new RepairHistory();

    private void tables(int created, int grace, String... names) {
        List<Replicated> all = new ArrayList<>();
        for (String name : names) {
            all.add(new Replicated("ks", name, grace, created, Set.of("dc1", "dc2")));
        }
        history.tables(all);
    }

    private void repaired(String table, int at, Set<String> ranges, Map<String, String> options) {
        history.repaired("ks", Set.of(table), at * 1000L, ranges, options);
    }

    private void read() {
        history.begins();
        history.ends();
    }

    /** full, incremental, due */
    private String known(String table) {
        for (RepairHistory.Known known : history.known(NOW)) {
            if (known.table.table.equals(table)) {
                return known.full + " " + known.incremental + " " + known.due;
            }
        }
        return "";
    }

    @Test
    void aSuccessIsOneOfAllRanges() {
        tables(1000, GRACE, "t", "u");
        read();
        repaired("t", NOW - DAY, Set.of("(-9223372036854775808,0]"), FULL);
        assertEquals("0 0 " + (1000 + GRACE), known("t"), "half of it");
        repaired("t", NOW - 5 * DAY, Set.of("(0,-9223372036854775808]", ""), FULL);
        assertEquals(NOW - 5 * DAY + " 0 " + (NOW - 5 * DAY + GRACE), known("t"));
        repaired("t", NOW - 2 * DAY, Set.of("(0,-9223372036854775808]"), FULL);
        assertEquals(NOW - 2 * DAY + " 0 " + (NOW - 2 * DAY + GRACE), known("t"));
        assertEquals("0 0 " + (1000 + GRACE), known("u"));
    }

    /** Both kinds bring deletions everywhere, so a range may have had either. */
    @Test
    void incrementalOnesCountForWhatIsDue() {
        tables(1000, GRACE, "t");
        read();
        repaired("t", NOW - DAY, RING, INCREMENTAL);
        assertEquals("0 " + (NOW - DAY) + " " + (NOW - DAY + GRACE), known("t"));
        repaired("t", NOW - 9 * DAY, RING, FULL);
        assertEquals(NOW - 9 * DAY + " " + (NOW - DAY) + " " + (NOW - DAY + GRACE), known("t"));
    }

    @Test
    void someReplicasAreNotAll() {
        tables(1000, GRACE, "t");
        read();
        repaired("t", NOW - DAY, RING, Map.of("hosts", "10.0.0.1,10.0.0.2"));
        repaired("t", NOW - DAY, RING, Map.of("dataCenters", "dc1"));
        assertEquals("0 0 " + (1000 + GRACE), known("t"));
        repaired("t", NOW - DAY, RING, Map.of("dataCenters", "dc2,dc1"));
        assertEquals(NOW - DAY + " 0 " + (NOW - DAY + GRACE), known("t"));
    }

    /** What is not there is told only when all rows have been read. */
    @Test
    void nothingIsToldOfWhatWasNotRead() {
        tables(1000, GRACE, "t");
        history.begins();
        repaired("t", NOW - DAY, RING, FULL);
        assertEquals("0 0 0", known("t"));
        tables(1000, GRACE, "t", "new");
        history.ends();
        assertEquals(NOW - DAY + " 0 " + (NOW - DAY + GRACE), known("t"));
        assertEquals("0 0 0", known("new"), "it came while they were read");
        read();
        assertEquals("0 0 " + (1000 + GRACE), known("new"));
    }

    @Test
    void aTableThatWasMadeAgainHasNoHistory() {
        tables(1000, GRACE, "t");
        read();
        repaired("t", NOW - DAY, RING, FULL);
        tables(NOW - 100, GRACE, "t");
        read();
        repaired("t", NOW - DAY, RING, FULL); // of the one before
        assertEquals("0 0 " + (NOW - 100 + GRACE), known("t"));
        history.tables(List.of());
        assertEquals("", known("t"));
    }

    /** Cassandra keeps its history for thirty days. */
    @Test
    void whatCannotBeKnownIsNotTold() {
        tables(1000, 40 * DAY, "longer");
        read();
        assertEquals("0 0 0", known("longer"));
        tables(NOW - DAY, 40 * DAY, "young");
        read();
        assertEquals("0 0 " + (NOW + 39 * DAY), known("young"));
        tables(0, GRACE, "ageless");
        read();
        assertEquals("0 0 0", known("ageless"));
        tables(1000, 0, "graceless");
        read();
        repaired("graceless", NOW - DAY, RING, FULL);
        assertEquals(NOW - DAY + " 0 0", known("graceless"));
    }

    @Test
    void hostileRangesAreNone() {
        tables(1000, GRACE, "t");
        read();
        repaired("t", NOW - DAY, Set.of("", "(", "(,]", "(1,2", "1,2]", "(a,b]", "(1,]", "(,1]",
                "(99999999999999999999,0]", "(1;2]", "(00ff,01]"), FULL);
        history.repaired("other", Set.of("t"), 0, RING, FULL);
        assertEquals("0 0 " + (1000 + GRACE), known("t"));
    }

    @Test
    void aTableTellsWhenItWasCreated() {
        assertEquals(1_790_123_677, Replicated.created(
                UUID.fromString("8ea9b410-b6e6-11f1-8080-808080808080")));
        assertEquals(0, Replicated.created(
                UUID.fromString("00000000-0000-4000-8000-000000000000")));
    }

    @Test
    void entitiesComeAndGoWithinTheirBound() {
        ModelUnderTest under = new ModelUnderTest();
        RepairTables shown = new RepairTables(under.model, Filters.NONE, 2);
        tables(1000, GRACE, "a", "b", "c");
        read();
        repaired("a", NOW - DAY, RING, FULL);
        shown.show(history.known(NOW));
        assertEquals(2, under.entities("repair_table"));
        assertEquals(1, shown.leftOut());
        assertEquals(Integer.toString(NOW - DAY + GRACE),
                under.values().get("cassandra_repair_due_timestamp_seconds|ks|a"));
        assertEquals(Integer.toString(GRACE),
                under.values().get("cassandra_repair_gc_grace_seconds|ks|b"));
        tables(1000, GRACE, "b", "c");
        shown.show(history.known(NOW));
        assertEquals(2, under.entities("repair_table"));
        assertEquals(Integer.toString(GRACE),
                under.values().get("cassandra_repair_gc_grace_seconds|ks|c"));
        shown.clear();
        assertEquals(0, under.entities("repair_table"));
    }
}
