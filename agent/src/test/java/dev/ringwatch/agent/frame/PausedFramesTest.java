package dev.ringwatch.agent.frame;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Instant;
import java.util.List;
import java.util.UUID;
import org.junit.jupiter.api.Test;

class PausedFramesTest {
    private static final long AT = 10 * FrameEncoder.WINDOW_MS;

    private final Model node = new Model();
    private final PausedFrames frames = new PausedFrames(new UUID(1, 2), "c", 5_000);
    private ReferenceDecoder.State key;
    private int length;

    PausedFramesTest() {
        node.place("dc1", "r1");
        node.fact("address", "10.0.0.7:7000");
        node.fact("not_serving", "drained");
        Template table = node.add(new Template("table", "table"));
        table.add(Metric.scalar("cassandra_table_live_sstables", Kind.GAUGE, "", 0))
                .set(table.addEntity(null, "t"), 7);
    }

    private ReferenceDecoder.State next(long at) {
        byte[] frame = frames.next(node, frames.needKeyFrame(at), 1, 2, at).copy();
        length = frame.length;
        ReferenceDecoder.State state = ReferenceDecoder.decode(frame, key);
        key = state.isKey() ? state : key;
        return state;
    }

    @Test
    void theySayWhoIsPausedAndSinceWhen() {
        Instant before = Instant.now().minusSeconds(1);
        frames.begin();
        ReferenceDecoder.State first = next(AT);
        assertTrue(first.isKey());
        assertEquals("dc1", first.datacenter);
        assertEquals("r1", first.rack);
        assertEquals("10.0.0.7:7000", first.facts.get("address"));
        assertNull(first.facts.get("not_serving"), "that may have changed since");
        Instant since = Instant.parse(first.facts.get("paused_since"));
        assertTrue(since.isAfter(before) && !since.isAfter(Instant.now()), since.toString());
        assertEquals(List.of("ringwatch_agent_state_info[]"),
                List.copyOf(RandomNode.seen(first).keySet()), "of tables nothing is known");
        assertFalse(next(AT + 5_000).isKey());
        assertTrue(length < 100, length + " bytes");
        assertTrue(next(AT + FrameEncoder.WINDOW_MS).isKey());
        assertTrue(next(AT).isKey(), "the clock went back");
        frames.begin();
        assertTrue(next(AT + 5_000).isKey(), "another pause");
    }
}
