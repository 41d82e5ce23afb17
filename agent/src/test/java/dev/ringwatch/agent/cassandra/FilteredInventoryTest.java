package dev.ringwatch.agent.cassandra;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.codahale.metrics.Counter;
import com.codahale.metrics.Gauge;
import com.codahale.metrics.MetricRegistry;
import dev.ringwatch.agent.filter.Filters;
import dev.ringwatch.agent.frame.FrameEncoder;
import dev.ringwatch.agent.frame.Kind;
import dev.ringwatch.agent.frame.Metric;
import dev.ringwatch.agent.frame.Model;
import dev.ringwatch.agent.frame.ReferenceDecoder;
import dev.ringwatch.agent.frame.Template;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.junit.jupiter.api.Test;

/** What filters and the cap let through, as a frame says it. */
class FilteredInventoryTest {
    private static final String TABLE = "org.apache.cassandra.metrics.Table.";

    private final MetricRegistry registry = new MetricRegistry();
    private final Model model = new Model();
    private final FrameEncoder encoder = new FrameEncoder(new UUID(1, 2), "test", 1_000, null);
    private final List<String> said = new ArrayList<>();
    private long at = 1_767_225_600_000L;

    @Test
    void whatIsFilteredOutIsNotReadAndNotSent() {
        Filters filters = filters(Map.of("exclude", Map.of("keyspace", "system*")),
                Map.of("include", Map.of("keyspace", "system", "table", "local")),
                Map.of("exclude", Map.of("metric", "cassandra_table_snapshots*")),
                Map.of("exclude", Map.of("type", "network")));
        int[] read = new int[2];
        table("shop.carts", read, 0);
        table("system.local", read, 0);
        table("system.peers", read, 1);
        table("system_auth.roles", read, 1);
        model.show((template, metric) -> template.labelCount() > 0
                && template.label(0).equals("keyspace")
                || filters.accepts(template.type, null, null, metric.name));
        Template network = model.add(new Template("network", "device"));
        Metric received = network.add(
                Metric.scalar("os_network_received_bytes_total", Kind.COUNTER, "bytes", 0));
        Template.Entity card = new Template.Entity();
        network.addEntity(card, "gone"); // its slot moves although nobody sees it
        network.removeEntity(0);
        network.addEntity(card, "eth0");
        Inventory inventory = new Inventory(registry, model, filters, 100, said::add);
        inventory.sample(1);
        received.set(card.slot(), 5);
        ReferenceDecoder.State state = frame();
        received.set(card.slot(), 6);
        assertEquals(0, card.slot(), "closed up with the key frame");
        assertEquals(1L, state.value("cassandra_table_live_sstables", "shop", "carts"));
        assertEquals(1L, state.value("cassandra_table_live_sstables", "system", "local"));
        assertNull(state.value("cassandra_table_live_sstables", "system", "peers"));
        assertNull(state.value("cassandra_table_live_sstables", "system_auth", "roles"));
        assertNull(state.value("cassandra_table_snapshots_size_bytes", "shop", "carts"));
        assertNull(state.type("network"));
        assertEquals(2, state.type("table").entities.size());
        assertTrue(read[0] > 0);
        assertEquals(0, read[1], "gauges of what is filtered out are never asked");
        assertEquals(0, inventory.refused());
        table("system.late", read, 1);
        table("shop.late", read, 0);
        inventory.sample(1);
        state = frame();
        assertEquals(1L, state.value("cassandra_table_live_sstables", "shop", "late"));
        assertEquals(3, state.type("table").entities.size());
        assertEquals(0, read[1]);
    }

    @Test
    void aMetricForSomeKeyspacesOnly() {
        Filters filters = filters(
                Map.of("exclude", Map.of("metric", "cassandra_table_live_sstables")),
                Map.of("include",
                        Map.of("keyspace", "shop", "metric", "cassandra_table_live_sstables")));
        table("shop.carts", new int[1], 0);
        table("other.t", new int[1], 0);
        Inventory inventory = new Inventory(registry, model, filters, 100, said::add);
        inventory.sample(1);
        ReferenceDecoder.State state = frame();
        assertEquals(1L, state.value("cassandra_table_live_sstables", "shop", "carts"));
        assertNull(state.value("cassandra_table_live_sstables", "other", "t"));
        assertEquals(0L, state.value("cassandra_table_flushed_bytes_total", "other", "t"));
    }

    @Test
    void theGateWorksOnWhatIsFilteredOut() {
        Filters filters = filters(
                Map.of("exclude", Map.of("metric", "cassandra_table_flushed_bytes_total")));
        int[] read = new int[1];
        table("shop.carts", read, 0);
        for (int t = 0; t < 99; t++) {
            table("other.t" + t, new int[1], 0);
        }
        Inventory inventory = new Inventory(registry, model, filters, 100, said::add);
        // its turn comes never, and with a hundred tables its recheck not in the 20 passes before
        // we look
        int turns = 1_000_000;
        for (int pass = 0; pass < 20; pass++) {
            inventory.sample(turns);
        }
        int idle = read[0];
        inventory.sample(turns);
        assertEquals(idle, read[0], "idle");
        registry.counter(TABLE + "BytesFlushed.shop.carts").inc();
        inventory.sample(turns);
        assertTrue(read[0] > idle, "its table moved");
        assertNull(frame().value("cassandra_table_flushed_bytes_total", "shop", "carts"));
    }

    @Test
    void moreEntitiesThanAllowedAreRefusedAndCounted() {
        Inventory inventory = new Inventory(registry, model, Filters.NONE, 100, said::add);
        for (int t = 0; t < 130; t++) {
            table("ks.t" + t, new int[1], 0);
        }
        inventory.sample(1);
        inventory.sample(1);
        assertEquals(100, inventory.entities());
        assertEquals(30, inventory.entitiesRefused());
        assertEquals(1, said.size(), said.toString());
        assertTrue(said.get(0).contains("max_entities 100") && said.get(0).contains("table/ks/t"),
                said.get(0));
        assertEquals(100, frame().type("table").entities.size());
        int dropped = 0;
        for (String name : registry.getNames()) {
            if (name.matches(".*\\.ks\\.t1?[0-9]") && inventory != null) {
                registry.remove(name);
                dropped++;
            }
        }
        assertTrue(dropped > 0);
        for (int pass = 0; pass < 200; pass++) {
            inventory.sample(1);
        }
        assertEquals(100, inventory.entities(), "who was refused has moved up");
        assertTrue(inventory.entitiesRefused() == 30,
                "and nobody was counted twice: " + inventory.entitiesRefused());
        assertNotNull(frame().type("table"));
        assertEquals(1, said.size());
    }

    private ReferenceDecoder.State frame() {
        at += 1_000;
        return ReferenceDecoder.decode(encoder.key(model, 1, at / 1_000, at, 0).copy(), null);
    }

    private void table(String name, int[] read, int counter) {
        registry.register(TABLE + "BytesFlushed." + name, new Counter());
        registry.register(TABLE + "LiveSSTableCount." + name, (Gauge<Integer>) () -> {
            read[counter]++;
            return 1;
        });
        registry.register(TABLE + "SnapshotsSize." + name, (Gauge<Long>) () -> 2L);
    }

    private static Filters filters(Object... rules) {
        List<String> errors = new ArrayList<>();
        Filters filters = Filters.parse(List.of(rules), errors);
        assertEquals(List.of(), errors);
        return filters;
    }
}
