package dev.ringwatch.agent.cassandra;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.ringwatch.agent.frame.Model;
import dev.ringwatch.agent.frame.Template;
import java.util.HashMap;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;

class ReplicationTest {
    private static final String CLASS = "org.apache.cassandra.locator.";

    private final Model model = new Model();
    private final Replication replication = new Replication(model);
    private final Map<String, Map<String, String>> all = new HashMap<>();

    private void keyspace(String name, String strategy, String... options) {
        Map<String, String> map = new HashMap<>(Map.of("class", CLASS + strategy));
        for (int i = 0; i < options.length; i += 2) {
            map.put(options[i], options[i + 1]);
        }
        all.put(name, map);
    }

    private Map<String, Long> said() {
        Template template = model.template(0);
        Map<String, Long> said = new TreeMap<>();
        for (int slot = 0; slot < template.slots(); slot++) {
            if (template.isLive(slot)) {
                said.put(template.labelValue(slot, 0) + " " + template.labelValue(slot, 1),
                        template.metric(0).value(slot));
            }
        }
        return said;
    }

    @Test
    void theCopiesInItsDatacenter() {
        keyspace("a", "NetworkTopologyStrategy", "dc1", "3", "dc2", "2");
        keyspace("b", "NetworkTopologyStrategy", "dc2", "2");
        keyspace("c", "SimpleStrategy", "replication_factor", "2");
        keyspace("d", "NetworkTopologyStrategy", "dc1", "3/1");
        keyspace("e", "OfSomebodyElse");
        keyspace("system", "LocalStrategy");
        keyspace("system_cluster_metadata", "MetaStrategy");
        replication.show(all, "dc1");
        assertEquals(Map.of("a NetworkTopologyStrategy", 3L, "b NetworkTopologyStrategy", 0L,
                "c SimpleStrategy", 2L, "d NetworkTopologyStrategy", 3L, "e OfSomebodyElse", -1L),
                said());

        all.clear();
        keyspace("a", "NetworkTopologyStrategy", "dc1", "1");
        keyspace("c", "NetworkTopologyStrategy", "dc1", "5");
        replication.show(all, "dc1");
        assertEquals(Map.of("a NetworkTopologyStrategy", 1L, "c NetworkTopologyStrategy", 5L),
                said());
    }

    @Test
    void whatCannotAllBeSaidIsNotSaidAtAll() {
        keyspace("a", "SimpleStrategy", "replication_factor", "2");
        replication.show(all, "dc1");
        for (int i = 0; i < 5000; i++) {
            keyspace("k" + i, "SimpleStrategy", "replication_factor", "2");
        }
        replication.show(all, "dc1");
        assertEquals(Map.of(), said());
    }
}
