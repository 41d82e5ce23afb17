package dev.ringwatch.agent.frame;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;

/**
 * {@code DumpFrames FILE [METRIC-PREFIX]}: what a recording says, frame by frame; with a prefix,
 * the last state's values.
 */
public final class DumpFrames {
    private DumpFrames() {}

    public static void main(String[] args) throws Exception {
        byte[] all = Files.readAllBytes(Path.of(args[0]));
        ReferenceDecoder.State key = null;
        ReferenceDecoder.State state = null;
        long lastAllocated = 0;
        for (int from = 0; from < all.length;) {
            int length = (all[from + 8] & 0xff) | (all[from + 9] & 0xff) << 8
                    | (all[from + 10] & 0xff) << 16 | all[from + 11] << 24;
            state = ReferenceDecoder.decode(Arrays.copyOfRange(all, from, from + length), key);
            key = state.isKey() ? state : key;
            from += length;
            int cells = 0;
            int entities = 0;
            for (ReferenceDecoder.Type type : state.types) {
                entities += type.live().size();
                cells += type.live().size() * type.metrics.size() - type.absent.size();
            }
            Object total = state.value("ringwatch_agent_allocated_bytes_total");
            long allocated = total == null ? 0 : (Long) total;
            System.out.printf("%s %d at %d: %d bytes, raw %d, compression %d, cost %.3f ms, "
                    + "allocated %d, %d types, %d entities, %d series%n",
                    state.isKey() ? "key" : "delta", state.sequence, state.at, length,
                    state.rawLength, state.compression, state.cost / 1e6, allocated - lastAllocated,
                    state.types.size(), entities, cells);
            lastAllocated = allocated;
        }
        if (args.length > 1) {
            for (ReferenceDecoder.Type type : state.types) {
                for (int m = 0; m < type.metrics.size(); m++) {
                    Metric metric = type.metrics.get(m);
                    for (int e : type.live()) {
                        if (metric.name.startsWith(args[1])
                                && !type.absent.contains(ReferenceDecoder.cell(m, e))) {
                            System.out.println(metric.name + Arrays.toString(type.entities.get(e))
                                    + " " + metric.kind + " " + metric.unit + " e" + metric.exponent
                                    + " = " + type.get(m, e));
                        }
                    }
                }
            }
        }
    }
}
