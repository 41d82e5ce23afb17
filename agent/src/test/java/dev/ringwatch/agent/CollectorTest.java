package dev.ringwatch.agent;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.ringwatch.agent.beans.BeanProfile;
import dev.ringwatch.agent.beans.Beans;
import dev.ringwatch.agent.delivery.ApiKey;
import dev.ringwatch.agent.delivery.FrameQueue;
import dev.ringwatch.agent.delivery.Sender;
import dev.ringwatch.agent.delivery.Tls;
import dev.ringwatch.agent.filter.Filters;
import dev.ringwatch.agent.frame.Kind;
import dev.ringwatch.agent.frame.Metric;
import dev.ringwatch.agent.frame.Model;
import dev.ringwatch.agent.frame.Template;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.Random;
import java.util.UUID;
import org.junit.jupiter.api.Test;

class CollectorTest {
    private int rests;
    private int tables;
    private int nodeReads;
    private boolean silent;

    private final class Node implements Software, Software.Reads {
        @Override
        public String unsupported() {
            return null;
        }

        @Override
        public UUID nodeId() {
            return new UUID(1, 2);
        }

        @Override
        public String clusterName() {
            return "c";
        }

        @Override
        public String product() {
            return "a test";
        }

        @Override
        public List<String> directories() {
            return List.of();
        }

        @Override
        public Reads reads(Config config, Model model) {
            if (tables == 0) {
                return this;
            }
            model.fact("address", "10.0.0.7");
            Template table = model.add(new Template("table", "keyspace", "table"));
            Metric size = table.add(
                    Metric.scalar("cassandra_table_live_sstables", Kind.GAUGE, "", 0));
            size.origin = "LiveSSTableCount";
            byte[] name = new byte[190];
            Random random = new Random(1);
            for (int t = 0; t < tables; t++) {
                random.nextBytes(name);
                size.set(table.addEntity(null, "ks", Base64.getEncoder().encodeToString(name)), t);
            }
            return this;
        }

        @Override
        public Beans beans(List<BeanProfile> profiles, Config config) {
            return new Beans(profiles, ManagementFactory.getPlatformMBeanServer(), null,
                    name -> null, Filters.NONE, said -> { }, Agent::thread);
        }

        @Override
        public void showState(Model model) { }

        @Override
        public void showMetrics(Model model) { }

        @Override
        public void sampleNode(boolean slowTurn) {
            nodeReads++;
            if (silent) {
                throw new IllegalStateException("not now");
            }
        }

        @Override
        public void sample(boolean slowTurn, int passesPerMinute) { }

        @Override
        public void rest() {
            rests++;
        }

        @Override
        public long gaugeErrors() {
            return 0;
        }

        @Override
        public long refused() {
            return 0;
        }

        @Override
        public int entities() {
            return 0;
        }

        @Override
        public long entitiesRefused() {
            return 0;
        }
    }

    private FrameQueue queue = new FrameQueue(1 << 20);
    private final Collector collector = make(new Model());

    private Collector make(Model model, String... more) {
        try {
            List<String> lines = new ArrayList<>(
                    List.of("ingest:", "  urls: [\"http://a:1\"]", "  key: k"));
            lines.addAll(List.of(more));
            Config config = Config.parse(lines, name -> null);
            Sender sender = new Sender(queue, config.urls, ApiKey.fixed("k"),
                    new Tls(null, null, null), null, 0, "1", said -> { });
            return new Collector(config, new Node(), model, queue, sender, null);
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
    }

    private long made() {
        return ledger().made;
    }

    private FrameQueue.Ledger ledger() {
        FrameQueue.Ledger ledger = new FrameQueue.Ledger();
        queue.read(ledger);
        return ledger;
    }

    /** Ingest refuses a frame of more bytes, with all that it says of the node itself. */
    @Test
    void noFrameHasMoreBytesThanIngestTakes() {
        tables = 30_000;
        queue = new FrameQueue(64 << 20);
        Model large = new Model();
        Collector sending = make(large, "send_profiles: [mcac]", "max_entities: 100000");
        sending.pass(System.currentTimeMillis(), 0);
        long bytes = ledger().queuedBytes;
        assertEquals(1, made());
        assertTrue(bytes > 4 << 20 && bytes <= 8 << 20, bytes + " bytes");
        long leftOut = -1;
        for (int t = 0; t < large.templateCount(); t++) {
            if (large.template(t).type.equals("agent_sent")) {
                leftOut = large.template(t).metric(0).value(0);
            }
        }
        assertTrue(leftOut >= tables, leftOut + " entities are left out");
    }

    /** A frame would say that the node has no place and no facts. */
    @Test
    void oneThatEndsBeforeItsFirstPassSaysNothing() {
        collector.last();
        assertEquals(0, made());
        assertEquals(1, rests);
        collector.pass(System.currentTimeMillis(), 0);
        assertEquals(0, made());
    }

    @Test
    void nothingIsHeldInAPauseAndAtTheEnd() {
        collector.pass(System.currentTimeMillis(), 0);
        assertEquals(0, rests);
        collector.pause();
        assertEquals(1, rests);
        collector.last(); // paused
        assertEquals(1, made());
        collector.beginAnew();
        collector.pass(System.currentTimeMillis() + 1, 0);
        collector.last();
        assertEquals(3, made());
        assertEquals(2, rests);
    }

    /** Who hears nothing of a paused node would take it for one that is down. */
    @Test
    void aPausedOneSaysSo() {
        collector.pass(1_000, 0);
        collector.pause();
        collector.sayPaused(2_000);
        collector.sayPaused(3_000);
        assertEquals(3, made());
        assertEquals(1, nodeReads, "it reads in a pause");
        collector.beginAnew();
        collector.pass(4_000, 0);
        assertEquals(4, made());
    }

    /** A node that is started while its agent is paused: where it is has to be read once. */
    @Test
    void onePausedFromTheStartSaysWhereItIs() {
        collector.pause();
        silent = true;
        collector.sayPaused(1_000);
        assertEquals(0, made());
        silent = false;
        collector.sayPaused(2_000);
        collector.sayPaused(3_000);
        assertEquals(2, made());
        assertEquals(2, nodeReads);
    }
}
