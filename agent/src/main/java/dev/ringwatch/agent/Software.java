package dev.ringwatch.agent;

import dev.ringwatch.agent.beans.BeanProfile;
import dev.ringwatch.agent.beans.Beans;
import dev.ringwatch.agent.cassandra.Inventory;
import dev.ringwatch.agent.cassandra.NodeBeans;
import dev.ringwatch.agent.events.EventSource;
import dev.ringwatch.agent.events.Inbox;
import dev.ringwatch.agent.events.SchemaNames;
import dev.ringwatch.agent.frame.Model;
import dev.ringwatch.agent.frame.Tally;
import dev.ringwatch.agent.kafka.BrokerBeans;
import java.util.List;
import java.util.UUID;

/**
 * The software in whose JVM the agent is: what tells its node from others, and what is read of it.
 */
interface Software {
    /** What is read of it in each pass. */
    interface Reads extends Tally {
        /** What the node is. */
        void sampleNode(boolean slowTurn);

        /** What it counts. */
        void sample(boolean slowTurn, int passesPerMinute);

        /** Lets go of all that it holds of the node's, until it is sampled again. */
        default void rest() {
        }

        /** The thread that reads for it outside of passes, else -1. */
        default long threadId() {
            return -1;
        }

        /** Cassandra's tables, else null. */
        default Inventory inventory() {
            return null;
        }
    }

    /**
     * The one that has come up in this JVM so far that its node can be named, found out by its
     * management beans; null until then.
     */
    static Software ifUp() {
        NodeBeans cassandra = NodeBeans.ifStarted();
        if (cassandra != null) {
            return new CassandraNode(cassandra);
        }
        BrokerBeans kafka = BrokerBeans.ifStarted();
        return kafka == null ? null : new KafkaNode(kafka);
    }

    /** Null, or a sentence that says why this version is left alone. */
    String unsupported();

    UUID nodeId();

    String clusterName();

    /** What it is and which version, for people. */
    String product();

    /**
     * What notices what happens in it; nothing is touched before a source is opened.
     *
     * @param sources where they are added
     * @return what its schema knows
     */
    default SchemaNames eventSources(Config config, Inbox inbox, List<EventSource> sources) {
        return SchemaNames.NONE;
    }

    /** Where its data are. */
    List<String> directories();

    /** @param model where it adds what it has, locked by the caller */
    Reads reads(Config config, Model model);

    Beans beans(List<BeanProfile> profiles, Config config);

    /** Where its own query language can ask for the agent's state, adds tables for that. */
    void showState(Model model);

    /** And for its metrics. */
    void showMetrics(Model model);
}
