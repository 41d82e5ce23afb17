package dev.ringwatch.agent.delivery;

import dev.ringwatch.agent.frame.FrameEncoder;
import dev.ringwatch.agent.frame.Kind;
import dev.ringwatch.agent.frame.Metric;
import dev.ringwatch.agent.frame.Model;
import dev.ringwatch.agent.frame.ReferenceDecoder;
import dev.ringwatch.agent.frame.Template;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import java.util.UUID;

/**
 * Real frames of a node with one counter, which says the number of the pass; and the reading of
 * what arrived.
 */
final class TestFrames {
    static final long BEGIN = 1_767_225_600_000L;
    /** What {@code started} is more in the next life, and the numbers of its passes. */
    static final long LIFE_MS = 86_400_000;
    static final long LIFE = 1_000_000;
    private static final String COUNTER = "test_passes_total";

    private final FrameEncoder encoder = new FrameEncoder(new UUID(1, 2), "test", 1_000, null);
    private final Model model = new Model();
    private final Metric counter;
    private final int perWindow;
    private final int padding;
    private final long started;
    private int made;

    /** @param perWindow frames between key frames */
    TestFrames(int perWindow, int padding, long started) {
        this.perWindow = perWindow;
        this.padding = padding;
        this.started = started;
        Template test = model.add(new Template("test", "padding"));
        counter = test.add(Metric.scalar(COUNTER, Kind.COUNTER, "", 0));
        test.addEntity(null, "x".repeat(Math.min(1000, padding)));
        for (int p = 1000; p < padding; p += 1000) {
            test.addEntity(null, p + "x".repeat(900));
        }
    }

    TestFrames(int perWindow) {
        this(perWindow, 0, BEGIN);
    }

    boolean nextIsKey() {
        return made % perWindow == 0;
    }

    byte[] next() {
        boolean key = nextIsKey();
        long at = (started / FrameEncoder.WINDOW_MS + made / perWindow) * FrameEncoder.WINDOW_MS
                + made % perWindow * 1000L;
        counter.set(0, ++made);
        return (key ? encoder.key(model, started, made - 1, at, 0)
                : encoder.delta(model, started, made - 1, at, 0)).copy();
    }

    /** Adds so many more to a queue. */
    void add(FrameQueue queue, int count) {
        for (int i = 0; i < count; i++) {
            boolean key = nextIsKey();
            queue.add(next(), key);
        }
    }

    int made() {
        return made;
    }

    /**
     * The numbers of the passes that can be read from these frames in the order in which they came.
     */
    static TreeSet<Long> readable(Collection<byte[]> frames) {
        return new TreeSet<>(inOrder(frames));
    }

    /** The same, where a key frame may come after its delta frames. */
    static TreeSet<Long> readableInTheEnd(Collection<byte[]> frames) {
        List<byte[]> keysFirst = new ArrayList<>(frames);
        keysFirst.sort((a, b) -> Boolean.compare(FrameHead.of(b).isKey, FrameHead.of(a).isKey));
        return readable(keysFirst);
    }

    /** The number of a frame's pass, readable or not. */
    static long number(byte[] frame) {
        int at = 29 + 1 + frame[29]; // FORMAT.md §3: cluster, started, sequence
        long[] values = new long[2];
        for (int i = 0; i < 2; i++) {
            for (int shift = 0;; shift += 7) {
                values[i] |= (long) (frame[at] & 0x7F) << shift;
                if (frame[at++] >= 0) {
                    break;
                }
            }
        }
        return (values[0] - BEGIN) / LIFE_MS * LIFE + values[1] + 1;
    }

    /** {@code 1-17 19 21-30}. */
    static String ranges(TreeSet<Long> passes) {
        StringBuilder out = new StringBuilder();
        Long from = null;
        for (Long pass : passes) {
            from = from == null ? pass : from;
            if (!passes.contains(pass + 1)) {
                out.append(out.length() > 0 ? " " : "").append(from)
                        .append(from.equals(pass) ? "" : "-" + pass);
                from = null;
            }
        }
        return out.toString();
    }

    /**
     * The same in the order in which they came; those that need a frame which came later or never
     * are left out.
     */
    static List<Long> inOrder(Collection<byte[]> frames) {
        Map<Integer, ReferenceDecoder.State> keys = new HashMap<>();
        List<Long> passes = new ArrayList<>();
        for (byte[] frame : frames) {
            FrameHead head = FrameHead.of(frame);
            ReferenceDecoder.State state;
            if (head.isKey) {
                state = ReferenceDecoder.decode(frame, null);
                keys.put(head.key, state);
            } else if (keys.containsKey(head.key)) {
                state = ReferenceDecoder.decode(frame, keys.get(head.key));
            } else {
                continue;
            }
            long pass = (Long) state.value(COUNTER, state.type("test").entities.get(0));
            if (pass != state.sequence + 1) {
                throw new AssertionError("pass " + (state.sequence + 1)
                        + " says that it is " + pass);
            }
            passes.add((state.started - BEGIN) / LIFE_MS * LIFE + pass);
        }
        return passes;
    }
}
