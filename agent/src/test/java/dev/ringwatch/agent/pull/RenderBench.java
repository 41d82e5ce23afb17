package dev.ringwatch.agent.pull;

import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.function.IntConsumer;

/**
 * {@code RenderBench [TABLES]}: what a page costs. {@code text}: all lines written anew; {@code
 * busy}: the same with deflating, every table having moved; {@code idle}: no table has moved;
 * {@code one}: one has; {@code plain}: sending the page as plain text. Best of many, in µs; ends in
 * a {@code RESULT} line.
 */
public final class RenderBench {
    private RenderBench() {}

    public static void main(String[] args) throws IOException {
        int tables = args.length > 0 ? Integer.parseInt(args[0]) : 1000;
        SyntheticNode node = new SyntheticNode(tables);
        Pages pages = PagesTest.pages(node.model, List.of(Profile.RINGWATCH), "bench");
        Page page = pages.page(true);
        StringBuilder result = new StringBuilder("RESULT tables=" + tables);
        int[] lines = {0};
        Text text = new Text(64 * 1024);
        result.append(measure("text", 30, round -> { }, round -> lines[0] = render(node, text)));
        result.append(" lines=").append(lines[0]);
        result.append(measure("busy", 20, node::move, round -> pages.page(true)));
        page = pages.page(true);
        result.append(
                measure("idle", 200, round -> node.model.passed(), round -> pages.page(true)));
        result.append(measure("one", 200, round -> {
            node.move(7, round);
            node.model.passed();
        }, round -> pages.page(true)));
        Page last = page;
        ByteBuffer out = ByteBuffer.allocate(32 * 1024);
        result.append(measure("plain", 20, round -> { }, round -> send(last, out)));
        result.append(" bytes=").append(page.rawLength).append(" gzip_bytes=")
                .append(page.gzipLength).append(" pieces=").append(page.chunks.length);
        System.out.println(result);
    }

    /** All the text of a page, a family at a time; the number of its lines. */
    static int render(SyntheticNode node, Text text) {
        Layout layout = new Layout(node.model, List.of(Profile.RINGWATCH),
                new java.util.IdentityHashMap<>());
        Lines writer = new Lines(text, true);
        int lines = 0;
        for (Family family : layout.families) {
            text.clear();
            writer.begin(family);
            for (Family.Source source : family.sources) {
                writer.slots(family, source, 0, source.template.slots(), 0);
            }
            for (int i = 0; i < text.length(); i++) {
                lines += text.array()[i] == '\n' ? 1 : 0;
            }
        }
        return lines;
    }

    private static void send(Page page, ByteBuffer out) {
        Body body = new Body(page, false);
        try {
            do {
                out.clear();
            } while (body.fill(out));
        } catch (java.util.zip.DataFormatException e) {
            throw new IllegalStateException(e);
        } finally {
            body.end();
        }
    }

    private static String measure(String name, int rounds, IntConsumer before, IntConsumer work) {
        com.sun.management.ThreadMXBean threads =
                (com.sun.management.ThreadMXBean) ManagementFactory.getThreadMXBean();
        long id = Thread.currentThread().getId();
        long best = Long.MAX_VALUE;
        long allocated = Long.MAX_VALUE;
        for (int i = 2; i < rounds + 2; i++) {
            before.accept(i);
            long bytes = threads.getThreadAllocatedBytes(id);
            long start = System.nanoTime();
            work.accept(i);
            best = Math.min(best, System.nanoTime() - start);
            allocated = Math.min(allocated, threads.getThreadAllocatedBytes(id) - bytes);
        }
        return " " + name + "_us=" + best / 1000 + " " + name + "_alloc_kb=" + allocated / 1024;
    }
}
