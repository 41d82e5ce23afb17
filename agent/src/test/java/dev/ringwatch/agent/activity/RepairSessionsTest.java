package dev.ringwatch.agent.activity;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.ringwatch.agent.HostileText;
import dev.ringwatch.agent.filter.Filters;
import dev.ringwatch.agent.frame.Template;
import java.util.List;
import java.util.Map;
import java.util.Random;
import javax.management.Notification;
import org.junit.jupiter.api.Test;

class RepairSessionsTest {
    private static final int START = 0;
    private static final int PROGRESS = 1;
    private static final int ERROR = 2;
    private static final int SUCCESS = 4;
    private static final int COMPLETE = 5;
    private static final String ID = "8ea9b410-b6e6-11f1-8080-808080808080";

    private final ModelUnderTest under = new ModelUnderTest();
    private final RepairSessions sessions = make();

    private RepairSessions make() {
        Template node = under.model.add(new Template("node"));
        node.addEntity(null);
        return new RepairSessions(under.model, Filters.NONE, node,
                keyspace -> List.of("b", "a"));
    }

    private static String starts(String keyspace, String tables) {
        return "Starting repair command #1 (" + ID + "), repairing keyspace " + keyspace
                + " with repair options (parallelism: parallel, primary range: false, incremental: "
                + "true, job threads: 1, ColumnFamilies: [" + tables + "], dataCenters: [], "
                + "hosts: [], previewKind: NONE, # of ranges: 16, pull repair: false)";
    }

    private Map<String, String> after(String tag, int type, int done, int total, String message) {
        sessions.hear(tag, type, done, total, message, 5_000);
        sessions.sample();
        return under.values();
    }

    @Test
    void aRepairIsThereWhileItRuns() {
        Map<String, String> values = after("repair:1", START, 0, 100, starts("ks", ""));
        assertEquals("0.0", values.get("cassandra_repair_session_done_ratio|ks|a,b|0"));
        assertEquals("5000",
                values.get("cassandra_repair_session_started_timestamp_seconds|ks|a,b|0"));
        assertEquals(ID, values.get("cassandra_repair_session_id_info|ks|a,b|0"));
        assertEquals("1", values.get("cassandra_repair_sessions_running"));
        values = after("repair:2", START, 0, 100, starts("ks", "t, s"));
        assertEquals("0.0", values.get("cassandra_repair_session_done_ratio|ks|s,t|0"));
        values = after("repair:1", PROGRESS, 3, 12, "");
        assertEquals("0.25", values.get("cassandra_repair_session_done_ratio|ks|a,b|0"));
        after("repair:1", SUCCESS, 12, 12, "");
        assertFalse(sessions.someEnded());
        values = after("repair:1", COMPLETE, 12, 12, "");
        assertTrue(sessions.someEnded());
        assertFalse(sessions.someEnded());
        assertFalse(values.containsKey("cassandra_repair_session_done_ratio|ks|a,b|0"));
        after("repair:2", ERROR, 4, 12, "broken");
        values = after("repair:2", COMPLETE, 4, 12, "");
        assertEquals(Map.of("cassandra_repair_sessions_running", "0",
                "cassandra_repair_failures_total", "1",
                "cassandra_repair_successes_total", "1"), values);
    }

    /** One that began and ended between two passes counts, and is nowhere else. */
    @Test
    void aShortOneCounts() {
        sessions.hear("repair:1", START, 0, 100, starts("ks", "t"), 1);
        sessions.hear("repair:1", SUCCESS, 1, 1, "", 2);
        Map<String, String> values = after("repair:1", COMPLETE, 1, 1, "");
        assertEquals("1", values.get("cassandra_repair_successes_total"));
        assertEquals(3, values.size(), values.toString());
    }

    @Test
    void oneThatWasThereBeforeIsNotCounted() {
        Map<String, String> values = after("repair:1", COMPLETE, 1, 1, "");
        assertEquals("0", values.get("cassandra_repair_failures_total"));
        assertTrue(sessions.someEnded());
    }

    @Test
    void manyTablesAreCutAndManySessionsAreLeftOut() {
        for (int i = 0; i < 500; i++) {
            sessions.hear("repair:" + i, START, 0, 100, starts("ks", "table".repeat(100)), 1);
        }
        sessions.sample();
        assertEquals(RepairSessions.MAX, under.entities("repair_session"));
        assertTrue(under.values().containsKey("cassandra_repair_session_done_ratio|ks|"
                + "table".repeat(40) + "|63"));
    }

    /** What ends while nobody listens is not known to run, however many. */
    @Test
    void aPauseEndsThem() {
        for (int round = 0; round < 300; round++) {
            sessions.hear("repair:" + round, START, 0, 100, starts("ks", "t"), 1);
            sessions.sample();
            sessions.clear();
            assertEquals(0, under.entities("repair_session"));
        }
        Map<String, String> values = after("repair:300", COMPLETE, 1, 1, "");
        assertEquals("0", values.get("cassandra_repair_sessions_running"));
        assertEquals("0", values.get("cassandra_repair_failures_total"));
    }

    /** Whatever is said, and in whatever order, nothing is thrown into Cassandra's thread. */
    @Test
    void hostileTalkDoesNoHarm() {
        HostileText hostile = new HostileText(3, new String[] {starts("ks", "t"),
            starts("ks", "")}, "ColumnFamilies: [", "]", ")", "\0", "repairing keyspace ", ID);
        Random random = new Random(4);
        for (int i = 0; i < 20_000; i++) {
            Notification said = new Notification("progress",
                    random.nextInt(20) == 0 ? "bootstrap" : "repair:" + random.nextInt(300), i,
                    random.nextInt(20) == 0 ? null : hostile.next(5000));
            said.setUserData(random.nextInt(20) == 0 ? "odd" : Map.of("type", random.nextInt(8) - 1,
                    "progressCount", random.nextInt(30) - 5, "total", random.nextInt(20) - 5));
            sessions.handleNotification(said, null);
            if (random.nextInt(10) == 0) {
                sessions.sample();
                under.values();
                under.model.closeGaps();
            }
        }
        assertTrue(under.entities("repair_session") <= RepairSessions.MAX);
        for (int tag = 0; tag < 300; tag++) {
            sessions.hear("repair:" + tag, COMPLETE, 1, 1, "", 1);
        }
        sessions.sample();
        assertEquals(0, under.entities("repair_session"));
        assertEquals("0", under.values().get("cassandra_repair_sessions_running"));
    }
}
