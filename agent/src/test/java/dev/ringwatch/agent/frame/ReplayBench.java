package dev.ringwatch.agent.frame;

import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * {@code ReplayBench FILE…}: what the agent's encoder costs on recorded frames. The states of each
 * recording are put into a model again and written; only the writing is timed. A value is a cell
 * that a frame names. Prints one {@code RESULT} line whose keys begin with the files' names.
 */
public final class ReplayBench {
    private static final int ROUNDS = 9;

    private ReplayBench() {}

    public static void main(String[] args) throws Exception {
        StringBuilder result = new StringBuilder("RESULT");
        for (String arg : args) {
            Path file = Paths.get(arg);
            String name = file.getFileName().toString().replaceAll("\\..*", "");
            List<ReferenceDecoder.State> states = read(Files.readAllBytes(file));
            long[] nanos = new long[ROUNDS];
            long[] allocated = new long[ROUNDS];
            long values = 0;
            for (int round = -3; round < ROUNDS; round++) { // three to warm up
                Replay replay = new Replay();
                for (ReferenceDecoder.State state : states) {
                    replay.write(state);
                }
                values = replay.values;
                if (round >= 0) {
                    nanos[round] = replay.nanos;
                    allocated[round] = replay.allocated;
                }
            }
            Arrays.sort(nanos);
            Arrays.sort(allocated);
            result.append(String.format(" %s_encode_ns_per_value=%.1f"
                    + " %s_encode_us_per_frame=%.1f %s_alloc_bytes_per_frame=%d",
                    name, (double) nanos[ROUNDS / 2] / values, name,
                    nanos[ROUNDS / 2] / 1e3 / states.size(), name,
                    allocated[ROUNDS / 2] / states.size()));
        }
        System.out.println(result);
    }

    private static List<ReferenceDecoder.State> read(byte[] file) {
        List<ReferenceDecoder.State> states = new ArrayList<>();
        ReferenceDecoder.State key = null;
        for (int at = 0; at < file.length;) {
            int length = (file[at + 8] & 255) | (file[at + 9] & 255) << 8
                    | (file[at + 10] & 255) << 16 | (file[at + 11] & 255) << 24;
            ReferenceDecoder.State state =
                    ReferenceDecoder.decode(Arrays.copyOfRange(file, at, at + length), key);
            if (state.isKey()) {
                key = state;
            }
            states.add(state);
            at += length;
        }
        return states;
    }

    /** One pass over a recording. */
    private static final class Replay {
        private final com.sun.management.ThreadMXBean threads =
                (com.sun.management.ThreadMXBean) ManagementFactory.getThreadMXBean();
        private final long thread = Thread.currentThread().getId();
        private final Map<String, Template> templates = new HashMap<>();
        private final Map<String, Integer> slots = new HashMap<>();
        private Model model;
        private FrameEncoder encoder;
        private ReferenceDecoder.State key;
        long nanos;
        long allocated;
        long values;

        void write(ReferenceDecoder.State state) {
            if (state.isKey()) {
                begin(state);
            }
            for (ReferenceDecoder.Type type : state.types) {
                fill(type);
            }
            long bytes = threads.getThreadAllocatedBytes(thread);
            long start = System.nanoTime();
            if (state.isKey()) {
                encoder.key(model, state.started, state.sequence, state.at, state.cost);
            } else {
                encoder.delta(model, state.started, state.sequence, state.at, state.cost);
            }
            nanos += System.nanoTime() - start;
            allocated += threads.getThreadAllocatedBytes(thread) - bytes;
        }

        /**
         * A recording has one key frame a window; each begins a model of its own, as after a
         * restart, which is the dearer case.
         */
        private void begin(ReferenceDecoder.State state) {
            key = state;
            model = new Model();
            model.place(state.datacenter, state.rack);
            encoder = new FrameEncoder(state.node, state.cluster, state.interval,
                    Compressor.best());
            templates.clear();
            slots.clear();
            for (ReferenceDecoder.Type type : state.types) {
                template(type);
            }
        }

        private Template template(ReferenceDecoder.Type type) {
            Template known = templates.get(type.name);
            if (known != null) {
                return known;
            }
            Template template = new Template(type.name, type.labels);
            for (Metric m : type.metrics) {
                template.add(m.bounds == null ? Metric.scalar(m.name, m.kind, m.unit, m.exponent)
                        : Metric.histogram(m.name, m.kind, m.unit, m.exponent,
                                model.bounds(m.bounds.exponent, uppers(m.bounds)), m.hasSum));
            }
            model.add(template);
            templates.put(type.name, template);
            return template;
        }

        private void fill(ReferenceDecoder.Type type) {
            Template template = template(type);
            for (int e = 0; e < type.entities.size(); e++) {
                String[] labels = type.entities.get(e);
                if (labels == null) {
                    continue;
                }
                String name = type.name + Arrays.toString(labels);
                Integer slot = slots.get(name);
                if (slot == null) {
                    slot = template.addEntity(null, labels);
                    slots.put(name, slot);
                }
                for (int m = 0; m < type.metrics.size(); m++) {
                    if (type.absent.contains(ReferenceDecoder.cell(m, e))) {
                        template.metric(m).absent(slot);
                    } else {
                        set(template.metric(m), slot, type.get(m, e));
                        values += named(type, m, e) ? 1 : 0;
                    }
                }
            }
        }

        private void set(Metric metric, int slot, Object value) {
            if (value instanceof Double) {
                metric.setDouble(slot, (Double) value);
            } else if (value instanceof String) {
                metric.setText(slot, (String) value);
            } else if (value instanceof Long) {
                metric.set(slot, (Long) value);
            } else {
                ReferenceDecoder.Histogram h = (ReferenceDecoder.Histogram) value;
                long[] counts = metric.buckets(slot);
                if (counts == null ? h.count() == 0 : Arrays.equals(counts, h.buckets)) {
                    // the sampler does not touch a histogram that stood still either
                    metric.setEmpty(slot);
                    return;
                }
                System.arraycopy(h.buckets, 0, metric.writeBuckets(slot), 0, h.buckets.length);
                if (metric.hasSum) {
                    metric.setSum(slot, h.sum);
                }
            }
        }

        /**
         * Whether the frame names the cell: its value is not the key frame's, or not zero where
         * there is none.
         */
        private boolean named(ReferenceDecoder.Type type, int metric, int entity) {
            ReferenceDecoder.Type base = key.type(type.name);
            Object value = type.get(metric, entity);
            boolean inKey = base != null && base != type && entity < base.entities.size()
                    && !base.absent.contains(ReferenceDecoder.cell(metric, entity));
            Object before = inKey ? base.get(metric, entity)
                    : ReferenceDecoder.Type.zero(type.metrics.get(metric));
            return !value.equals(before);
        }

        private static long[] uppers(Bounds bounds) {
            long[] uppers = new long[bounds.size()];
            for (int i = 0; i < uppers.length; i++) {
                uppers[i] = bounds.bound(i);
            }
            return uppers;
        }
    }
}
