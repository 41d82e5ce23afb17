package dev.ringwatch.agent.activity;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.ringwatch.agent.filter.Filters;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;

class RunningTest {
    private static final long SECOND = 1_000_000_000L;
    private static final long NOW_MS = 1_790_000_000_000L;

    private final ModelUnderTest under = new ModelUnderTest();
    private final Running running = new Running(under.model, Filters.NONE, "task", false, "task",
            "keyspace", "table");

    private boolean see(Object key, String id, long done, long size) {
        return running.see(key, () -> id, true, done, size, "compaction", "ks", "t");
    }

    private void pass(long second, Object[]... tasks) {
        running.begin(NOW_MS + second * 1000, second * SECOND);
        for (Object[] task : tasks) {
            see(task[0], "id of " + task[0], (Long) task[1], (Long) task[2]);
        }
        running.end();
    }

    private String value(String metric, int slot) {
        return under.values().get("cassandra_task_" + metric + "|compaction|ks|t|" + slot);
    }

    private static Object[] task(Object key, long done, long size) {
        return new Object[] {key, done, size};
    }

    @Test
    void aSlotIsTheLowestThatIsFree() {
        pass(0, task("a", 1, 9), task("b", 2, 9), task("c", 3, 9));
        assertEquals("id of b", value("id_info", 1));
        pass(1, task("a", 1, 9), task("c", 3, 9));
        assertNull(value("id_info", 1));
        assertEquals("id of c", value("id_info", 2));
        pass(2, task("a", 1, 9), task("c", 3, 9), task("d", 1, 9), task("e", 1, 9));
        assertEquals("id of d", value("id_info", 1));
        assertEquals("id of e", value("id_info", 3));
        pass(3);
        assertEquals(0, under.entities("task"));
        assertTrue(running.isIdle());
        pass(4, task("f", 1, 9));
        assertEquals("id of f", value("id_info", 0));
    }

    /** Thousands of passes with what comes and goes, also beyond the bound. */
    @Test
    void saysWhatRunsAndHasABound() {
        Random random = new Random(5);
        List<Integer> now = new ArrayList<>();
        int next = 0;
        for (int pass = 0; pass < 3000; pass++) {
            now.removeIf(task -> random.nextInt(8) == 0);
            for (int more = random.nextInt(20); more > 0; more--) {
                now.add(next++);
            }
            running.begin(NOW_MS, pass * SECOND);
            int shown = 0;
            Set<Integer> left = new HashSet<>();
            for (Integer task : now) {
                if (running.see(task, () -> "id " + task, task % 2 == 0, 5, 10, "compaction", "ks",
                        "t" + task % 3)) {
                    shown++;
                } else {
                    left.add(task);
                }
            }
            running.end();
            assertEquals(Math.min(Running.MAX, now.size()), shown + endedButHeld(shown, now));
            assertTrue(under.entities("task") <= Running.MAX);
            assertEquals(now.size(), shown + left.size());
            under.model.closeGaps();
            Map<String, String> values = under.values(); // holds that no two are alike
            assertEquals(shown, values.keySet().stream()
                    .filter(key -> key.startsWith("cassandra_task_id_info")).count());
        }
    }

    /** What has ended is let go of after what begins was looked at: so much may be shown later. */
    private static int endedButHeld(int shown, List<Integer> now) {
        return Math.min(Running.MAX, now.size()) - shown;
    }

    @Test
    void nothingIsHeldThroughAPause() {
        pass(0, task("a", 1, 9), task("b", 2, 9));
        running.clear();
        assertTrue(running.isIdle());
        assertEquals(0, under.entities("task"));
        pass(1, task("b", 3, 9));
        assertEquals("id of b", value("id_info", 0));
    }

    @Test
    void anEndIsToldByTheSpeed() {
        pass(0, task("a", 0, 1000));
        assertNull(value("remaining_seconds", 0), "nothing is known yet");
        pass(10, task("a", 100, 1000));
        assertEquals(90, Double.parseDouble(value("remaining_seconds", 0)), 0.01);
        assertEquals(0.1, Double.parseDouble(value("done_ratio", 0)));
        for (int second = 20; second <= 900; second += 10) { // its throttle was turned down
            pass(second, task("a", 100 + second / 10, 1000));
        }
        assertEquals(810 * 10, Double.parseDouble(value("remaining_seconds", 0)), 100);
        for (int second = 910; second < 4000; second += 10) { // it stands still
            pass(second, task("a", 190, 1000));
        }
        assertNull(value("remaining_seconds", 0), "no end in a year");
        pass(4000, task("a", 1001, 1000)); // more than there is
        assertEquals(1, Double.parseDouble(value("done_ratio", 0)));
        assertEquals(0, Double.parseDouble(value("remaining_seconds", 0)));
        pass(4001, task("a", 5, 0)); // of how much is not known
        assertNull(value("done_ratio", 0));
        assertNull(value("remaining_seconds", 0));
    }

    /** A time-based UUID tells when it was made, unless the clock was set since. */
    @Test
    void aBeginningIsToldByTheId() {
        String id = "8ea9b410-b6e6-11f1-8080-808080808080"; // 23 September 2026, 00:34:37 UTC
        long made = Pace.started(id, NOW_MS + 30L * 86_400_000);
        assertEquals(1_790_123_677_741L, made);
        assertEquals(made - 1, Pace.started(id, made - 1), "a clock that was set back");
        assertEquals(made + 91L * 86_400_000, Pace.started(id, made + 91L * 86_400_000),
                "so long ago is a clock that was set");
        for (String other : new String[] {"", "nonsense", "00000000-0000-4000-8000-000000000000",
            "-", "1-1-1-1-1"}) {
            assertEquals(NOW_MS, Pace.started(other, NOW_MS), other);
        }
        running.begin(made + 10_000, SECOND);
        see("a", id, 100, 1000);
        running.end();
        assertEquals(Long.toString(made), value("started_timestamp_seconds", 0));
        assertEquals(90, Double.parseDouble(value("remaining_seconds", 0)), 0.01);
        running.begin(made - 999_999, 2 * SECOND); // set back: what is known stays
        see("a", id, 110, 1000);
        running.end();
        assertEquals(Long.toString(made), value("started_timestamp_seconds", 0));
        assertTrue(Double.parseDouble(value("remaining_seconds", 0)) > 0);
    }

    @Test
    void whatCountsNoBytesHasNone() {
        running.begin(NOW_MS, 0);
        running.see("a", () -> "id", false, 3, 4, "view_build", "ks", "t");
        running.end();
        Map<String, String> values = under.values();
        assertFalse(values.containsKey("cassandra_task_done_bytes|view_build|ks|t|0"));
        assertEquals("0.75", values.get("cassandra_task_done_ratio|view_build|ks|t|0"));
    }

    @Test
    void filtersLeaveTasksOut() {
        List<String> errors = new ArrayList<>();
        Filters filters = Filters.parse(List.of(
                Map.of("exclude", Map.of("keyspace", "secret")),
                Map.of("exclude", Map.of("metric", "cassandra_task_done_*"))), errors);
        assertEquals(List.of(), errors);
        Running filtered = new Running(under.model, filters, "task", false, "task", "keyspace",
                "table");
        filtered.begin(NOW_MS, 0);
        filtered.see("a", () -> "id", true, 3, 4, "compaction", "secret", "t");
        filtered.see("b", () -> "id", true, 3, 4, "compaction", "open", "t");
        filtered.end();
        Map<String, String> values = under.values();
        assertEquals("4", values.get("cassandra_task_size_bytes|compaction|open|t|0"));
        assertTrue(values.keySet().stream().noneMatch(key -> key.contains("secret")
                || key.contains("_done_")), values.toString());
        filtered.begin(NOW_MS, SECOND);
        filtered.end();
        assertTrue(under.values().isEmpty());
    }

    @Test
    void kindsCountAllOfThem() {
        Kinds kinds = new Kinds(under.model, Filters.NONE);
        kinds.begin();
        kinds.add("compaction", false);
        kinds.add("compaction", true);
        kinds.add("stream_repair", false);
        kinds.end();
        Map<String, String> want = new TreeMap<>(Map.of(
                "cassandra_tasks_running|compaction", "2",
                "cassandra_tasks_left_out|compaction", "1",
                "cassandra_tasks_running|stream_repair", "1",
                "cassandra_tasks_left_out|stream_repair", "0"));
        assertEquals(want, under.values());
        kinds.begin();
        kinds.end();
        want.replaceAll((key, value) -> "0");
        assertEquals(want, under.values());
    }
}
