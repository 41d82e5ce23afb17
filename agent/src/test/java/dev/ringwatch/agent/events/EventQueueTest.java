package dev.ringwatch.agent.events;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.ringwatch.agent.frame.Event;
import dev.ringwatch.agent.frame.Event.Severity;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** The bounds of events, and that none is lost on its way into a frame. */
class EventQueueTest {
    private long now = 1_000_000;
    private final EventQueue queue = new EventQueue(() -> now);

    private Event add(EventKind kind, String text, String... labels) {
        Map<String, String> all = new HashMap<>();
        for (int i = 0; i < labels.length; i += 2) {
            all.put(labels[i], labels[i + 1]);
        }
        Event event = new Event(now, kind.word, kind.usual[0], all, text);
        queue.add(kind, event);
        return event;
    }

    private int drain() {
        int all = 0;
        for (List<Event> next = queue.next(now); !next.isEmpty(); next = queue.next(now)) {
            assertTrue(next.size() <= EventQueue.PER_FRAME);
            all += next.size();
            queue.sent(next);
        }
        return all;
    }

    @Test
    void aFrameHasTwentyAndAMinuteTwoHundred() {
        for (int i = 0; i < 5_000; i++) {
            add(EventKind.values()[i % 18], "text " + i);
        }
        assertEquals(EventQueue.PER_FRAME, queue.next(now).size());
        assertEquals(EventQueue.PER_MINUTE, drain());
        assertEquals(4_800, queue.dropped().get(EventQueue.MINUTE));
        now += 59_999;
        add(EventKind.SCHEMA, "too soon");
        assertEquals(0, drain());
        now += 1;
        for (int i = 0; i < 5_000; i++) {
            add(EventKind.values()[i % 18], "another " + i);
        }
        assertEquals(EventQueue.PER_MINUTE, drain());
    }

    @Test
    void aFloodOfOneKindLeavesRoomForOthers() {
        for (int i = 0; i < 1_000; i++) {
            add(EventKind.WARNING, "warning " + i);
        }
        add(EventKind.ERROR, "it matters");
        assertEquals(EventQueue.PER_KIND + 1, drain());
    }

    @Test
    void nothingWaitsWithoutBound() {
        for (int minute = 0; minute < 5; minute++) {
            for (int i = 0; i < 300; i++) {
                add(EventKind.values()[i % 9], "text " + i + " " + minute);
            }
            now += 60_000;
            queue.look();
        }
        assertTrue(queue.dropped().get(EventQueue.FULL) > 0);
        assertEquals(EventQueue.WAITING, drain());
    }

    @Test
    void theSameIsToldOnceAndThenHowOften() {
        add(EventKind.SLOW_QUERY, "SELECT", "keyspace", "a", "times", "3", "slowest_seconds", "2");
        for (int i = 0; i < 10_000; i++) {
            add(EventKind.SLOW_QUERY, "SELECT", "keyspace", "a", "times", "2", "slowest_seconds",
                    i == 5_000 ? "7.5" : "1");
        }
        add(EventKind.SLOW_QUERY, "SELECT", "keyspace", "b", "times", "1", "slowest_seconds", "1");
        List<Event> first = queue.next(now);
        assertEquals(2, first.size());
        assertEquals("3", first.get(0).labels.get("times"));
        queue.sent(first);
        now += 60_000;
        queue.look();
        List<Event> again = queue.next(now);
        assertEquals(1, again.size());
        assertEquals("20000", again.get(0).labels.get("times"));
        assertEquals("7.5", again.get(0).labels.get("slowest_seconds"));
        queue.sent(again);
        now += 60_000;
        queue.look();
        assertTrue(queue.isEmpty());
        assertEquals(0, queue.dropped().get(EventQueue.MINUTE));
        add(EventKind.DROPPED, "", "verb", "READ_REQ", "messages", "5");
        add(EventKind.DROPPED, "", "verb", "READ_REQ", "messages", "6");
        add(EventKind.DROPPED, "", "verb", "READ_REQ", "messages", "7");
        queue.flush();
        List<Event> dropped = queue.next(now);
        assertEquals("13", dropped.get(1).labels.get("messages"));
        assertEquals("2", dropped.get(1).labels.get("times"));
    }

    @Test
    void whatComesInTurnsIsNeverMerged() {
        add(EventKind.NODE_DOWN, "", "peer", "p");
        add(EventKind.NODE_UP, "", "peer", "p");
        add(EventKind.NODE_DOWN, "", "peer", "p");
        assertEquals(3, drain());
    }

    @Test
    void whatAFrameLostIsInTheNext() {
        Event event = add(EventKind.SCHEMA, "once");
        assertSame(event, queue.next(now).get(0));
        assertSame(event, queue.next(now + 5_000).get(0));
        queue.sent(queue.next(now));
        assertTrue(queue.next(now).isEmpty());
    }

    @Test
    void whatHappenedBehindAFrameIsTheNextOnes() {
        now = 20_000_000;
        add(EventKind.SCHEMA, "later");
        assertTrue(queue.next(now - 300).isEmpty());
        assertFalse(queue.next(now).isEmpty());
        // a clock that was set back must not hold it for ever
        List<Event> set = queue.next(now - 3_600_000);
        assertEquals(now - 3_600_000, EventQueue.inFrame(set, now - 3_600_000).get(0).at);
    }

    @Test
    void timesAscendWithinAFrame() {
        now = 2_000;
        add(EventKind.START, "second");
        now = 1_000;
        add(EventKind.SCHEMA, "first");
        List<Event> frame = EventQueue.inFrame(queue.next(5_000), 5_000);
        assertEquals("first", frame.get(0).text);
        assertEquals("second", frame.get(1).text);
    }

    @Test
    void aFramesEventsAreBoundInBytes() {
        String long0 = "\ud83d\ude00".repeat(2_000);
        for (int i = 0; i < 20; i++) {
            add(EventKind.SCHEMA, i + long0, "a", long0, "b", long0, "c", long0, "d", long0);
        }
        int bytes = 0;
        for (Event event : queue.next(now)) {
            bytes += event.text.getBytes(StandardCharsets.UTF_8).length
                    + 4 * 1_024;
        }
        assertTrue(bytes > 20_000 && bytes < 65_536, bytes + " bytes");
        assertEquals(20, drain());
    }

    @Test
    void textsAreCutAtACharacter() {
        for (String c : List.of("a", "ß", "☃", "\ud83d\ude00")) {
            for (int offset = 0; offset < 4; offset++) {
                Event event = new Event(1, "x", Severity.INFO,
                        Map.of("label", "x".repeat(offset) + c.repeat(2_000), "empty", ""),
                        "x".repeat(offset) + c.repeat(2_000));
                byte[] bytes = event.text.getBytes(StandardCharsets.UTF_8);
                assertTrue(bytes.length > 1_020 && bytes.length <= 1_024, bytes.length + "");
                assertTrue(event.text.endsWith(c));
                assertEquals(event.text, event.labels.get("label"));
                assertFalse(event.labels.containsKey("empty"));
            }
        }
        assertEquals("a b ?c",
                new Event(1, "x", Severity.INFO, Map.of(), "a\nb \ud83dc\u0007").text);
    }
}
