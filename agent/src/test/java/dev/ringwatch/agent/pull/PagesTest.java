package dev.ringwatch.agent.pull;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.ringwatch.agent.frame.Compressor;
import dev.ringwatch.agent.frame.FrameEncoder;
import dev.ringwatch.agent.frame.Kind;
import dev.ringwatch.agent.frame.Metric;
import dev.ringwatch.agent.frame.Model;
import dev.ringwatch.agent.frame.Template;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.UUID;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Test;

/** What pages say is what the model holds, whatever was kept from the page before. */
class PagesTest {
    private static final String UNKNOWN =
            " Not described: neither Ringwatch nor an agent of this version gives it.\n";

    private static final List<Profile> OURS = List.of(Profile.RINGWATCH);

    static byte[] bytes(Page page, boolean gzip) throws Exception {
        Body body = new Body(page, gzip);
        byte[] all = new byte[(int) body.length()];
        ByteBuffer buffer = ByteBuffer.allocate(777);
        int length = 0;
        while (body.fill(buffer)) {
            buffer.flip();
            int n = buffer.remaining();
            buffer.get(all, length, n);
            length += n;
            buffer.clear();
        }
        body.end();
        assertEquals(all.length, length, "Content-Length");
        return all;
    }

    static String text(Pages pages, boolean open) throws Exception {
        return new String(bytes(pages.page(open), false), StandardCharsets.UTF_8);
    }

    /** Our profile's samples, from the model's cells alone. */
    private static Map<String, Object> expected(Model model, boolean open) {
        Map<String, Object> all = new HashMap<>();
        for (int t = 0; t < model.templateCount(); t++) {
            Template template = model.template(t);
            for (int slot = 0; slot < template.slots(); slot++) {
                Map<String, String> labels = new HashMap<>();
                for (int l = 0; template.isLive(slot) && l < template.labelCount(); l++) {
                    labels.put(template.label(l), template.labelValue(slot, l));
                }
                for (int m = 0; m < template.metricCount(); m++) {
                    if (template.isLive(slot) && template.metric(m).isPresent(slot)) {
                        cell(template.metric(m), slot, labels, open, all);
                    }
                }
            }
        }
        return all;
    }

    private static void cell(Metric metric, int slot, Map<String, String> labels, boolean open,
            Map<String, Object> all) {
        if (metric.kind == Kind.STRING) {
            Map<String, String> more = new HashMap<>(labels);
            more.put("value", metric.text(slot));
            all.put(StrictText.key(metric.name, more), BigDecimal.ONE);
        } else if (metric.bounds != null) {
            long[] counts = metric.buckets(slot);
            long total = 0;
            if (counts == null || java.util.Arrays.stream(counts).allMatch(n -> n == 0)) {
                return; // it has never counted
            }
            for (int b = 0; b < counts.length; b++) {
                total += counts[b];
                if (b < metric.bounds.size() && (b % 8 == 7 || b == metric.bounds.size() - 1)) {
                    Map<String, String> more = new HashMap<>(labels);
                    more.put("le", Text.bound(metric.bounds.bound(b), metric.bounds.exponent));
                    all.put(StrictText.key(metric.name + "_bucket", more),
                            StrictText.number(BigDecimal.valueOf(total)));
                }
            }
            Map<String, String> more = new HashMap<>(labels);
            more.put("le", "+Inf");
            all.put(StrictText.key(metric.name + "_bucket", more),
                    StrictText.number(BigDecimal.valueOf(total)));
            all.put(StrictText.key(metric.name
                            + (open && metric.kind == Kind.GAUGE_HISTOGRAM ? "_gcount" : "_count"),
                            labels),
                    StrictText.number(BigDecimal.valueOf(total)));
            if (metric.hasSum) {
                all.put(StrictText.key(metric.name + "_sum", labels),
                        StrictText.number(
                                BigDecimal.valueOf(metric.value(slot), -metric.exponent)));
            }
        } else if (metric.kind == Kind.GAUGE_DOUBLE) {
            double value = Double.longBitsToDouble(metric.value(slot));
            all.put(StrictText.key(metric.name, labels), Double.isInfinite(value)
                    ? (value > 0 ? "+Inf" : "-Inf")
                    : StrictText.number(new BigDecimal(Double.toString(value))));
        } else {
            BigInteger whole = metric.kind == Kind.COUNTER
                    ? new BigInteger(Long.toUnsignedString(metric.value(slot)))
                    : BigInteger.valueOf(metric.value(slot));
            all.put(StrictText.key(metric.name, labels),
                    StrictText.number(new BigDecimal(whole, -metric.exponent)));
        }
    }

    @Test
    void everySeriesIsTheFrames() throws Exception {
        long seed = System.nanoTime();
        System.out.println("PagesTest: seed " + seed);
        Random random = new Random(seed);
        SyntheticNode node = new SyntheticNode(60);
        Pages pages = pages(node.model, OURS, "c");
        FrameEncoder encoder = new FrameEncoder(new UUID(1, 2), "c", 1000, Compressor.best());
        long[] corners = {0, 1, -1, Long.MAX_VALUE, Long.MIN_VALUE, 10, 999_999, 1_000_000, -5};
        for (int round = 1; round < 25; round++) {
            for (int i = random.nextInt(60); i > 0; i--) {
                Template template = node.model.template(random.nextInt(node.model.templateCount()));
                int slot = template.slots() == 0 ? -1 : random.nextInt(template.slots());
                if (slot < 0 || !template.isLive(slot)) {
                    continue;
                }
                Metric metric = template.metric(random.nextInt(template.metricCount()));
                if (random.nextInt(8) == 0) {
                    metric.absent(slot);
                } else if (metric.kind == Kind.GAUGE_DOUBLE) {
                    metric.setDouble(slot, random.nextInt(5) == 0 ? Double.POSITIVE_INFINITY
                            : random.nextInt(5) == 0 ? Double.NaN : random.nextGaussian() * 1e9);
                } else if (metric.kind == Kind.STRING) {
                    metric.setText(slot, "a \"b\" \\ \n ü" + round);
                } else if (metric.bounds != null) {
                    metric.writeBuckets(slot)[random.nextInt(metric.bounds.buckets())]
                            += random.nextInt(1000);
                    if (metric.hasSum) {
                        metric.setSum(slot, random.nextInt());
                    }
                } else {
                    metric.set(slot, random.nextBoolean() ? corners[random.nextInt(corners.length)]
                            : random.nextLong());
                }
            }
            for (int i = random.nextInt(4); i > 0; i--) {
                int slot = random.nextInt(node.table.slots());
                if (node.table.isLive(slot)) {
                    node.table.removeEntity(slot);
                }
            }
            if (random.nextBoolean()) {
                int slot = node.table.addEntity(null, "new", "t\"" + round);
                node.table.metric(3).set(slot, round);
            }
            if (round % 5 == 0) {
                // closes the gaps
                encoder.key(node.model, 1, round,
                        1_000_000_000_000L + round * FrameEncoder.WINDOW_MS, 0);
            }
            if (round == 12) {
                node.table.add(Metric.scalar("cassandra_table_brand_new", Kind.GAUGE, "", -3));
            }
            node.model.passed();
            for (boolean open : new boolean[] {false, true}) {
                if (random.nextInt(3) > 0) {
                    StrictText text = StrictText.parse(text(pages, open), open);
                    assertEquals(expected(node.model, open), text.samples, "round " + round);
                    byte[] zipped = bytes(pages.page(open), true);
                    // checks CRC and length
                    byte[] unzipped = new java.util.zip.GZIPInputStream(
                            new java.io.ByteArrayInputStream(zipped)).readAllBytes();
                    assertEquals(text(pages, open), new String(unzipped, StandardCharsets.UTF_8));
                }
            }
        }
    }

    @Test
    void aThousandTables() throws Exception {
        SyntheticNode node = new SyntheticNode(1000);
        Pages pages = pages(node.model, OURS, "c");
        long start = System.nanoTime();
        Page page = pages.page(true);
        long took = System.nanoTime() - start;
        String text = text(pages, true);
        assertEquals(expected(node.model, true), StrictText.parse(text, true).samples);
        long pieces = pages.piecesMade();
        node.move(500, 2);
        node.model.passed();
        String again = text(pages, true);
        assertEquals(expected(node.model, true), StrictText.parse(again, true).samples);
        int moved = (int) (pages.piecesMade() - pieces);
        assertTrue(moved > 0 && moved <= node.table.metricCount(), moved + " pieces for one table");
        node.model.passed();
        Page still = pages.page(true);
        assertEquals(pieces + moved, pages.piecesMade(), "nothing moved, nothing is written");
        assertEquals(again, new String(bytes(still, false), StandardCharsets.UTF_8));
        System.out.printf("PagesTest: 1,000 tables: %d bytes, %d gzip, first page %.1f ms (cold)%n",
                page.rawLength, page.gzipLength, took / 1e6);
    }

    @Test
    void aPageIsOfOnePassAndPassesDoNotWaitForIt() throws Exception {
        Model model = new Model();
        Template table = model.add(new Template("table", "keyspace", "table"));
        for (int m = 0; m < 40; m++) {
            table.add(Metric.scalar("m" + m, Kind.GAUGE, "", 0));
        }
        for (int e = 0; e < 400; e++) {
            table.addEntity(null, "k", "t" + e);
        }
        Pages pages = pages(model, OURS, "c");
        Thread passing = new Thread(() -> {
            for (long pass = 1; !Thread.interrupted(); pass++) {
                synchronized (model) {
                    for (int m = 0; m < 40; m++) {
                        for (int e = 0; e < 400; e++) {
                            table.metric(m).set(e, pass);
                        }
                    }
                    model.passed();
                }
                // a monitor is unfair: without this gap no page would get it for seconds
                LockSupport.parkNanos(100_000);
            }
        });
        passing.start();
        try {
            while (model.passes() == 0) {
                Thread.onSpinWait();
            }
            for (int i = 0; i < 30; i++) {
                Map<String, Object> samples = StrictText.parse(text(pages, false), false).samples;
                assertEquals(16_000, samples.size());
                assertEquals(1, samples.values().stream().distinct().count(), "passes are mixed");
            }
        } finally {
            passing.interrupt();
            passing.join();
        }
    }

    @Test
    void exactText() throws Exception {
        Model model = new Model();
        Template table = model.add(new Template("table", "keyspace", "table"));
        Metric reads = table.add(Metric.scalar("reads_total", Kind.COUNTER, "", 0));
        table.add(Metric.scalar("reads", Kind.GAUGE, "", 0)).origin = "Reads";
        Metric load = table.add(Metric.scalar("load1", Kind.GAUGE, "", -2));
        Metric latency = table.add(Metric.histogram("latency_seconds", Kind.HISTOGRAM, "seconds",
                -6, model.bounds(-6, new long[] {1, 2, 1_500_000}), true));
        Metric version = table.add(Metric.scalar("version_info", Kind.STRING, "", 0));
        int slot = table.addEntity(null, "ks", "a \"b\" \\ ü");
        table.addEntity(null, "ks", "silent");
        reads.set(slot, -1);
        table.metric(1).set(slot, 4);
        load.set(slot, -5);
        latency.writeBuckets(slot)[0] = 3;
        latency.writeBuckets(slot)[2] = 4;
        latency.setSum(slot, 1_234_567);
        latency.setEmpty(slot + 1);
        version.setText(slot, "5.0.9");
        model.passed();
        String labels = "keyspace=\"ks\",table=\"a \\\"b\\\" \\\\ ü\"";
        String rest = "# HELP load1" + UNKNOWN + "# TYPE load1 gauge\n"
                + "load1{" + labels + "} -0.05\n"
                + "# HELP latency_seconds" + UNKNOWN + "# TYPE latency_seconds histogram\n%s"
                + "latency_seconds_bucket{" + labels + ",le=\"0.000001\"} 3\n"
                + "latency_seconds_bucket{" + labels + ",le=\"0.000002\"} 3\n"
                + "latency_seconds_bucket{" + labels + ",le=\"1.5\"} 7\n"
                + "latency_seconds_bucket{" + labels + ",le=\"+Inf\"} 7\n"
                + "latency_seconds_sum{" + labels + "} 1.234567\n"
                + "latency_seconds_count{" + labels + "} 7\n"
                + "# HELP version_info" + UNKNOWN + "# TYPE version_info gauge\n"
                + "version_info{" + labels + ",value=\"5.0.9\"} 1\n%s";
        String reading = "# HELP reads" + UNKNOWN + "# TYPE reads gauge\n"
                + "reads{" + labels + "} 4\n";
        Pages pages = pages(model, OURS, "c");
        assertEquals("# HELP reads_total" + UNKNOWN + "# TYPE reads_total counter\n"
                + "reads_total{" + labels + "} 18446744073709551615\n" + reading
                + String.format(rest, "", ""), text(pages, false));
        // a gauge has the name that OpenMetrics would give the counter
        assertEquals("# HELP reads_total" + UNKNOWN + "# TYPE reads_total unknown\n"
                + "reads_total{" + labels + "} 18446744073709551615\n" + reading
                + String.format(rest, "# UNIT latency_seconds seconds\n", "# EOF\n"),
                text(pages, true));
    }

    @Test
    void textBesideLabelsOfItsName() throws Exception {
        Model model = new Model();
        Template one = model.add(new Template("one", "value", "text"));
        Template two = model.add(new Template("two", "exported_value", "value"));
        Metric first = one.add(Metric.scalar("one_info", Kind.STRING, "", 0));
        Metric second = two.add(Metric.scalar("two_info", Kind.STRING, "", 0));
        first.setText(one.addEntity(null, "a", "b"), "c");
        second.setText(two.addEntity(null, "d", "e"), "f");
        model.passed();
        Pages pages = pages(model, OURS, "c");
        for (boolean open : new boolean[] {false, true}) {
            assertEquals(java.util.Set.of("one_info{exported_value=c, text=b, value=a}",
                    "two_info{exported_exported_value=f, exported_value=d, value=e}"),
                    StrictText.parse(text(pages, open), open).samples.keySet());
        }
    }

    static Pages pages(Model model, List<Profile> profiles, String cluster) {
        model.cluster(cluster);
        return new Pages(model, profiles);
    }
}
