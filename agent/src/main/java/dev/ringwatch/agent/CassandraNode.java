package dev.ringwatch.agent;

import dev.ringwatch.agent.activity.Activity;
import dev.ringwatch.agent.beans.BeanProfile;
import dev.ringwatch.agent.beans.Beans;
import dev.ringwatch.agent.cassandra.Inventory;
import dev.ringwatch.agent.cassandra.NodeBeans;
import dev.ringwatch.agent.cassandra.NodeSource;
import dev.ringwatch.agent.cassandra.TableFacts;
import dev.ringwatch.agent.events.CassandraSchema;
import dev.ringwatch.agent.events.EventSource;
import dev.ringwatch.agent.events.Inbox;
import dev.ringwatch.agent.events.LogSource;
import dev.ringwatch.agent.events.NeighbourSource;
import dev.ringwatch.agent.events.SchemaNames;
import dev.ringwatch.agent.events.SettingsSource;
import dev.ringwatch.agent.frame.Model;
import java.lang.management.ManagementFactory;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.apache.cassandra.metrics.CassandraMetricsRegistry;

/** A node of Cassandra. */
final class CassandraNode implements Software {
    private final NodeBeans beans;

    CassandraNode(NodeBeans beans) {
        this.beans = beans;
    }

    @Override
    public String unsupported() {
        String version = beans.releaseVersion();
        return supports(version) ? null : "Cassandra " + version
                + " is not supported, only 4.0 to 6.x: use an agent that knows it, or remove the "
                + "-javaagent line";
    }

    static boolean supports(String version) {
        return version.matches("[456]\\.\\d.*");
    }

    @Override
    public UUID nodeId() {
        return beans.hostId();
    }

    @Override
    public String clusterName() {
        return beans.clusterName();
    }

    @Override
    public List<String> directories() {
        return beans.directories();
    }

    @Override
    public Reads reads(Config config, Model model) {
        model.describe("endpoint_datacenter", peer -> beans.datacenterOf(peer[0]));
        model.describe("endpoint_rack", peer -> beans.rackOf(peer[0]));
        model.describe("table_type", table -> TableFacts.type(table[0], table[1]));
        model.describe("compaction_strategy_class",
                table -> TableFacts.compactionStrategy(table[0], table[1]));
        NodeSource node = new NodeSource(beans, model);
        return new OfRegistry(node,
                new Activity(beans, model, node.template(), config.filters, config.maxEntities,
                        Agent::say, Agent::thread),
                new Inventory(CassandraMetricsRegistry.Metrics, model, config.filters,
                        config.maxEntities, Agent::say));
    }

    private static final class OfRegistry implements Reads {
        private final NodeSource node;
        private final Activity activity;
        private final Inventory inventory;

        OfRegistry(NodeSource node, Activity activity, Inventory inventory) {
            this.node = node;
            this.activity = activity;
            this.inventory = inventory;
        }

        @Override
        public void sampleNode(boolean slowTurn) {
            node.sample(slowTurn);
        }

        @Override
        public void sample(boolean slowTurn, int passesPerMinute) {
            activity.sample(slowTurn, passesPerMinute);
            inventory.sample(passesPerMinute);
        }

        @Override
        public void rest() {
            activity.rest();
        }

        @Override
        public Inventory inventory() {
            return inventory;
        }

        @Override
        public long gaugeErrors() {
            return inventory.gaugeErrors() + activity.errors();
        }

        @Override
        public long refused() {
            return inventory.refused();
        }

        @Override
        public int entities() {
            return inventory.entities();
        }

        @Override
        public long entitiesRefused() {
            return inventory.entitiesRefused() + activity.leftOut();
        }

        @Override
        public long threadId() {
            return activity.threadId();
        }
    }

    @Override
    public Beans beans(List<BeanProfile> profiles, Config config) {
        return new Beans(profiles, ManagementFactory.getPlatformMBeanServer(),
                CassandraMetricsRegistry.Metrics.getMetrics(), name -> null, config.filters,
                Agent::say, Agent::thread);
    }

    @Override
    public String product() {
        return "Cassandra " + beans.releaseVersion();
    }

    @Override
    public SchemaNames eventSources(Config config, Inbox inbox, List<EventSource> sources) {
        CassandraSchema schema = new CassandraSchema(inbox, beans::schemaVersion);
        sources.add(schema);
        sources.add(new SettingsSource(inbox, config.spool, Map.of(
                "cassandra_version", beans.releaseVersion(),
                "java_version", System.getProperty("java.version", ""),
                "max_heap_bytes", Long.toString(Runtime.getRuntime().maxMemory()),
                "agent_version", Agent.version()), Agent::thread));
        try {
            sources.add(new NeighbourSource(inbox));
            sources.add(new LogSource(inbox, Agent::say));
        } catch (LinkageError other) {
            Agent.say("this Cassandra logs in a way that the agent does not know, so there are no "
                    + "events of what it logs: " + other);
        }
        return schema;
    }

    @Override
    public void showState(Model model) {
        VirtualTables.registerState(model, beans.releaseVersion());
    }

    @Override
    public void showMetrics(Model model) {
        VirtualTables.register(model, beans.releaseVersion());
    }
}
