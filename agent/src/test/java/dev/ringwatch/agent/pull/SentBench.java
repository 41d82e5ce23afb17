package dev.ringwatch.agent.pull;

import dev.ringwatch.agent.frame.Compressor;
import dev.ringwatch.agent.frame.FrameEncoder;
import dev.ringwatch.agent.frame.Metric;
import dev.ringwatch.agent.frame.Template;
import java.io.IOException;
import java.util.Map;
import java.util.UUID;

/**
 * {@code SentBench [TABLES [PROFILE]]}: what sending a profile costs a pass and a frame, of a node
 * that stands still and of one whose tables all move. Best of many, in µs; ends in a {@code RESULT}
 * line. Without a profile it is what the frame has anyway.
 */
public final class SentBench {
    private SentBench() {}

    public static void main(String[] args) throws IOException {
        int tables = args.length > 0 ? Integer.parseInt(args[0]) : 1000;
        SyntheticNode node = new SyntheticNode(tables);
        for (int t = 0; t < node.model.templateCount(); t++) {
            Template template = node.model.template(t);
            for (int m = 0; m < template.metricCount(); m++) {
                Metric metric = template.metric(m);
                metric.origin = metric.name;
                metric.originTimes = metric.hasSum;
            }
        }
        SentNames sent = args.length < 2 ? null : new SentNames(
                new FrameRoom(node.model, 20_000, 16 << 20, System.out::println),
                Profile.named(args[1]), Map.of("job", "cassandra"), 0);
        FrameEncoder encoder = new FrameEncoder(UUID.randomUUID(), "bench", 5000,
                Compressor.best());
        pass(sent, true);
        int key = encoder.key(node.model, 1, 1, 5000, 0).length();
        int cells = 0;
        for (int t = 0; t < node.model.templateCount(); t++) {
            Template template = node.model.template(t);
            for (int m = 0; m < template.metricCount() && template.sent; m++) {
                for (int slot = 0; slot < template.slots(); slot++) {
                    cells += template.isLive(slot) && template.metric(m).isPresent(slot) ? 1 : 0;
                }
            }
        }
        long idle = Long.MAX_VALUE;
        long busy = Long.MAX_VALUE;
        int idleBytes = 0;
        int busyBytes = 0;
        long at = 5000;
        for (int round = 2; round < 42; round++) {
            idle = Math.min(idle, pass(sent, false));
            idleBytes = encoder.delta(node.model, 1, round, at += 1000, 0).length();
        }
        for (int round = 2; round < 42; round++) {
            node.move(round);
            busy = Math.min(busy, pass(sent, false));
            busyBytes = encoder.delta(node.model, 1, round, at += 1000, 0).length();
        }
        System.out.println("RESULT tables=" + tables + " profile="
                + (sent == null ? "none" : args[1]) + " cells=" + cells + " entities="
                + (sent == null ? 0 : sent.entities()) + " idle_us=" + idle / 1000 + " busy_us="
                + busy / 1000 + " key_bytes=" + key + " idle_bytes=" + idleBytes + " busy_bytes="
                + busyBytes);
    }

    private static long pass(SentNames sent, boolean slowTurn) {
        long start = System.nanoTime();
        if (sent != null) {
            sent.pass(slowTurn);
        }
        return System.nanoTime() - start;
    }
}
