package dev.ringwatch.agent;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.ringwatch.agent.beans.BeanProfile;
import dev.ringwatch.agent.beans.Beans;
import dev.ringwatch.agent.delivery.ApiKey;
import dev.ringwatch.agent.delivery.FrameQueue;
import dev.ringwatch.agent.delivery.Sender;
import dev.ringwatch.agent.delivery.Tls;
import dev.ringwatch.agent.filter.Filters;
import dev.ringwatch.agent.frame.Model;
import java.lang.management.ManagementFactory;
import java.util.List;
import java.util.UUID;
import org.junit.jupiter.api.Test;

class CollectorTest {
    private int rests;

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
        public void sampleNode(boolean slowTurn) { }

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

    private final FrameQueue queue = new FrameQueue(1 << 20);
    private final Collector collector = make();

    private Collector make() {
        try {
            Config config = Config.parse(List.of("ingest:", "  urls: [\"http://a:1\"]", "  key: k"),
                    name -> null);
            Sender sender = new Sender(queue, config.urls, ApiKey.fixed("k"),
                    new Tls(null, null, null), null, 0, "1", said -> { });
            return new Collector(config, new Node(), new Model(), queue, sender, null);
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
    }

    private long made() {
        FrameQueue.Ledger ledger = new FrameQueue.Ledger();
        queue.read(ledger);
        return ledger.made;
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
}
