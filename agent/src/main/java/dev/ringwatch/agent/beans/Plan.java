package dev.ringwatch.agent.beans;

import com.codahale.metrics.Metric;
import java.util.ArrayList;
import java.util.List;
import javax.management.ObjectName;

/** What was found out about one bean, on its way to the pass: all that takes long is done. */
final class Plan {
    /** An attribute that a profile shows. */
    static final class Shown {
        final Output output;
        final String attribute;
        /** Null where {@link #byValue} is not. */
        final Named named;
        /** Null where the name does not hang on the value. */
        final ByValue.Cell byValue;

        Shown(Output output, String attribute, Named named) {
            this.output = output;
            this.attribute = attribute;
            this.named = named;
            this.byValue = null;
        }

        Shown(String attribute, ByValue.Cell byValue) {
            this.output = byValue.output();
            this.attribute = attribute;
            this.named = null;
            this.byValue = byValue;
        }
    }

    final ObjectName name;
    final List<Shown> shown = new ArrayList<>();
    /** Null where the bean is gone or is none of Cassandra's metrics. */
    Metric metric;
    boolean slow;
    boolean bySSTables;
    double scale = 1;
    /** What is gated together. */
    String keyspace;
    String table;

    Plan(ObjectName name) {
        this.name = name;
    }
}
