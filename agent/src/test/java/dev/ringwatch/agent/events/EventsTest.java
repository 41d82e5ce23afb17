package dev.ringwatch.agent.events;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.ringwatch.agent.frame.Bytes;
import dev.ringwatch.agent.frame.Compressor;
import dev.ringwatch.agent.frame.Event;
import dev.ringwatch.agent.frame.Event.Severity;
import dev.ringwatch.agent.frame.FrameEncoder;
import dev.ringwatch.agent.frame.Model;
import dev.ringwatch.agent.frame.ReferenceDecoder;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.junit.jupiter.api.Test;

/** From what is seen to a frame's bytes. */
class EventsTest {
    private static final long AT = 1_700_000_100_000L;

    private final Model model = new Model();
    private final Inbox inbox = new Inbox();
    private final List<String> calls = new ArrayList<>();
    private long now = 5_000_000;

    private final EventSource source = new EventSource() {
        @Override
        public void open() {
            calls.add("open");
        }

        @Override
        public void look(boolean slowTurn) {
            throw new NoSuchMethodError("of another version");
        }

        @Override
        public void close() {
            calls.add("close");
        }
    };

    private Events events(boolean sends) {
        return new Events(model, inbox, List.of(source), SchemaNames.NONE, false, sends, () -> now);
    }

    private void warn(int count) {
        for (int i = 0; i < count; i++) {
            inbox.add(Seen.logLine(AT - 7, EventKind.WARNING, Severity.WARNING, "text " + i, ""));
        }
    }

    @Test
    void framesSayWhatHappened() {
        Events events = events(true);
        FrameEncoder encoder = new FrameEncoder(new UUID(1, 2), "c", 1_000, Compressor.best());
        events.happened(AT - 600_000, EventKind.START, Map.of("java_version", "17"), "Cassandra 5");
        warn(30);
        events.sample(true);
        ReferenceDecoder.State key = null;
        List<Event> told = new ArrayList<>();
        for (int i = 0; i < 4; i++) {
            List<Event> next = events.next(AT + i);
            encoder.carry(Events.inFrame(next, AT + i));
            Bytes frame = i == 0 ? encoder.key(model, 1, i, AT, 0)
                    : encoder.delta(model, 1, i, AT + i, 0);
            if (i == 1) {
                continue; // this one got lost: what it said is in the next
            }
            events.sent(next);
            ReferenceDecoder.State state = ReferenceDecoder.decode(frame.copy(), key);
            key = state.isKey() ? state : key;
            told.addAll(state.events);
        }
        assertEquals(31, told.size());
        assertEquals("start info {java_version=17} Cassandra 5", told.get(0).toString());
        assertEquals(AT - 600_000, told.get(0).at);
        assertEquals("warning warning {} text 29", told.get(30).toString());
        assertEquals(30L, key.value("ringwatch_events_total", "warning", "warning"));
        assertEquals(1L, key.value("ringwatch_events_total", "start", "info"));
        assertEquals(0L, key.value("ringwatch_events_total", "error", "error"));
        assertEquals(0L, key.value("ringwatch_agent_events_dropped_total", "minute"));
        assertTrue(events.errors() > 0, "a source that throws is counted");
    }

    @Test
    void whereNothingIsSentEventsAreOnlyCounted() {
        Events events = events(false);
        for (int round = 0; round < 50; round++) {
            warn(200);
            events.sample(false);
            assertTrue(events.next(AT).isEmpty());
            now += 5_000;
        }
        FrameEncoder encoder = new FrameEncoder(new UUID(1, 2), "c", 1_000, null);
        ReferenceDecoder.State state =
                ReferenceDecoder.decode(encoder.key(model, 1, 0, AT, 0).copy(), null);
        assertEquals(10_000L, state.value("ringwatch_events_total", "warning", "warning"));
        assertTrue(state.events.isEmpty());
    }

    @Test
    void whatFindsNoRoomIsCountedByReason() {
        Events events = events(true);
        warn(1_000);
        events.sample(false);
        FrameEncoder encoder = new FrameEncoder(new UUID(1, 2), "c", 1_000, null);
        ReferenceDecoder.State state =
                ReferenceDecoder.decode(encoder.key(model, 1, 0, AT, 0).copy(), null);
        assertEquals(1_000L, state.value("ringwatch_events_total", "warning", "warning"));
        assertEquals(1_000L - Inbox.MAX,
                state.value("ringwatch_agent_events_dropped_total", "inbox_full"));
        assertEquals((long) Inbox.MAX - EventQueue.PER_KIND,
                state.value("ringwatch_agent_events_dropped_total", "minute"));
    }

    /** To look for a text's like it would have to be redacted. */
    @Test
    void whatIsAboveTheRateIsOnlyCounted() {
        Events events = events(true);
        warn(EventQueue.PER_KIND + 1);
        warn(1);
        events.sample(false);
        FrameEncoder encoder = new FrameEncoder(new UUID(1, 2), "c", 1_000, null);
        ReferenceDecoder.State state =
                ReferenceDecoder.decode(encoder.key(model, 1, 0, AT, 0).copy(), null);
        assertEquals(2L, state.value("ringwatch_agent_events_dropped_total", "minute"));
        assertEquals(EventQueue.PER_KIND + 2L,
                state.value("ringwatch_events_total", "warning", "warning"));
    }

    @Test
    void aLineThatFindsNoRoomIsNoEventUntilItIsRead() {
        Events events = events(true);
        warn(Inbox.MAX);
        for (EventKind kind : List.of(EventKind.STOP, EventKind.GC_PAUSE, EventKind.SLOW_QUERY)) {
            inbox.add(Seen.logLine(AT, kind, Severity.INFO, "of whatever", ""));
        }
        inbox.add(Seen.logLine(AT, EventKind.STOP, Severity.WARNING, "of whatever", ""));
        inbox.add(Seen.event(EventKind.SCHEMA, Severity.INFO, Map.of(), "that happened"));
        events.sample(false);
        FrameEncoder encoder = new FrameEncoder(new UUID(1, 2), "c", 1_000, null);
        ReferenceDecoder.State state =
                ReferenceDecoder.decode(encoder.key(model, 1, 0, AT, 0).copy(), null);
        assertEquals(5L, state.value("ringwatch_agent_events_dropped_total", "inbox_full"));
        assertEquals(0L, state.value("ringwatch_events_total", "stop", "info"));
        assertEquals(0L, state.value("ringwatch_events_total", "gc_pause", "info"));
        assertEquals(1L, state.value("ringwatch_events_total", "slow_query", "warning"));
        assertEquals(1L, state.value("ringwatch_events_total", "schema", "info"));
        assertEquals(Inbox.MAX + 1L, state.value("ringwatch_events_total", "warning", "warning"));
    }

    @Test
    void aPauseClosesWhatAPassOpens() {
        Events events = events(true);
        events.sample(false);
        events.sample(false);
        events.close();
        events.close();
        events.sample(false);
        assertEquals(List.of("open", "close", "open"), calls);
    }
}
