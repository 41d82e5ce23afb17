package dev.ringwatch.agent.pull;

import dev.ringwatch.agent.frame.Model;
import java.util.Locale;

/** Whose names the metrics are served under. */
public enum Profile {
    /** METRICS.md. */
    RINGWATCH {
        @Override
        void add(Layout layout, Model model) {
            OurNames.add(layout, model);
        }
    },
    /** The Cassandra example configuration of the Prometheus JMX exporter. */
    JMX_EXPORTER {
        @Override
        void add(Layout layout, Model model) {
            JmxNames.add(layout, model);
        }
    },
    /** cassandra-exporter 0.9. */
    CASSANDRA_EXPORTER {
        @Override
        void add(Layout layout, Model model) {
            ExporterNames.add(layout, model);
        }
    };

    /** Adds the families of what the model has. */
    abstract void add(Layout layout, Model model);

    /** As it is written in the configuration, or null. */
    public static Profile named(String name) {
        for (Profile profile : values()) {
            if (profile.toString().equals(name)) {
                return profile;
            }
        }
        return null;
    }

    @Override
    public String toString() {
        return name().toLowerCase(Locale.ROOT);
    }
}
