package dev.ringwatch.agent;

import dev.ringwatch.agent.beans.BeanProfile;
import dev.ringwatch.agent.beans.Beans;
import dev.ringwatch.agent.frame.Model;
import dev.ringwatch.agent.kafka.BrokerBeans;
import dev.ringwatch.agent.kafka.BrokerMetrics;
import java.lang.management.ManagementFactory;
import java.util.List;
import java.util.UUID;

/** A broker or a controller of Kafka. */
final class KafkaNode implements Software {
    private final BrokerBeans beans;
    private BrokerMetrics metrics;

    KafkaNode(BrokerBeans beans) {
        this.beans = beans;
    }

    @Override
    public String unsupported() {
        return supports(beans.version()) ? null : "Kafka " + beans.version()
                + " is not supported, only 4.x: use an agent that knows it, or remove the "
                + "-javaagent line";
    }

    static boolean supports(String version) {
        return version.matches("4\\.\\d.*");
    }

    @Override
    public UUID nodeId() {
        return beans.nodeId();
    }

    @Override
    public String clusterName() {
        return beans.clusterId();
    }

    @Override
    public String product() {
        return "Kafka";
    }

    @Override
    public List<String> directories() {
        return beans.directories();
    }

    @Override
    public Reads reads(Config config, Model model) {
        metrics = new BrokerMetrics(beans, model, config.maxEntities, Agent::say);
        return new OfBroker();
    }

    private final class OfBroker implements Reads {
        @Override
        public void sampleNode(boolean slowTurn) {
            if (slowTurn) {
                beans.describe(metrics.model);
            }
        }

        @Override
        public void sample(boolean slowTurn, int passesPerMinute) {
            metrics.sample(passesPerMinute);
        }

        @Override
        public long gaugeErrors() {
            return metrics.gaugeErrors();
        }

        @Override
        public long refused() {
            return metrics.refused();
        }

        @Override
        public int entities() {
            return metrics.entities();
        }

        @Override
        public long entitiesRefused() {
            return metrics.entitiesRefused();
        }
    }

    @Override
    public Beans beans(List<BeanProfile> profiles, Config config) {
        return new Beans(profiles, ManagementFactory.getPlatformMBeanServer(), null,
                metrics.direct(), config.filters, Agent::say, Agent::thread);
    }

    /** Kafka has no query language: {@code /metrics} and the frames tell. */
    @Override
    public void showState(Model model) {}

    @Override
    public void showMetrics(Model model) {}
}
