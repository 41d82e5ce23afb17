package dev.ringwatch.agent.cql;

import com.codahale.metrics.MetricRegistry;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Supplier;
import org.apache.cassandra.db.virtual.VirtualKeyspace;
import org.apache.cassandra.db.virtual.VirtualKeyspaceRegistry;
import org.apache.cassandra.db.virtual.VirtualTable;
import org.apache.cassandra.schema.Schema;
import org.apache.cassandra.schema.SchemaProvider;

/** Registers the tables, once, after Cassandra has started; they stay until it ends. */
public final class CqlFace {
    static final String KEYSPACE = "system_metrics";
    /**
     * Its own keyspace, so that it has the same name where {@code system_metrics} is Cassandra's.
     */
    static final String STATE_KEYSPACE = "system_ringwatch";
    /** Timers hold nanoseconds in 4.0 and microseconds since 4.1. */
    private static final double NANOS_TO_MICROS = 0.001;

    /** Null until {@code system_metrics} is ours. */
    private volatile Reads reads;

    /**
     * {@code system_ringwatch.agent}, on every version.
     *
     * @param rows names and values; called by Cassandra's read threads
     * @throws IllegalStateException one sentence for the operator: what is not there and what to do
     */
    public void registerState(Supplier<Map<String, String>> rows) {
        mustBeFree(STATE_KEYSPACE);
        VirtualTable agent = new StateTable(STATE_KEYSPACE, "agent",
                "The state of the Ringwatch agent in this node", "name", "value", rows);
        VirtualKeyspaceRegistry.instance.register(
                new VirtualKeyspace(STATE_KEYSPACE, Collections.singletonList(agent)));
    }

    /**
     * {@code system_metrics}, where Cassandra has none of its own.
     *
     * @throws IllegalStateException as above
     */
    public void registerMetrics(MetricRegistry registry, String version) {
        if (!version.startsWith("4.") && !version.startsWith("5.")) {
            return;
        }
        mustBeFree(KEYSPACE);
        Reads counted = new Reads(version.startsWith("4.0.") ? NANOS_TO_MICROS : 1);
        VirtualKeyspaceRegistry.instance.register(
                new VirtualKeyspace(KEYSPACE, tables(registry, counted)));
        reads = counted;
    }

    /** Rows of metrics made since the start. */
    public long rows() {
        Reads counted = reads;
        return counted == null ? 0 : counted.rows();
    }

    /** Cells that are missing from them because their metric threw. */
    public long errors() {
        Reads counted = reads;
        return counted == null ? 0 : counted.errors();
    }

    /** {@code Schema.instance} is of another type in 6.0, what it gives is the same. */
    private static void mustBeFree(String keyspace) {
        Object schema;
        try {
            schema = Schema.class.getField("instance").get(null);
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException("the agent does not know this Cassandra's schema "
                    + "class (" + e + "); set cql: false");
        }
        if (((SchemaProvider) schema).getKeyspaceMetadata(keyspace) != null) {
            throw new IllegalStateException("there is a keyspace " + keyspace
                    + " already; set cql: false, or rename yours");
        }
    }

    private static List<VirtualTable> tables(MetricRegistry registry, Reads reads) {
        Names names = new Names(registry);
        Set<String> groups = Groups.all(registry.getMetrics().keySet());
        Map<String, String> all = new TreeMap<>();
        List<VirtualTable> tables = new ArrayList<>();
        for (String group : groups) {
            all.put(group, Groups.table(group));
            tables.add(MetricTable.ofGroup(group, names, reads));
        }
        for (Kind kind : Kind.values()) {
            tables.add(MetricTable.ofKind(kind, names, reads));
        }
        tables.add(new StateTable(KEYSPACE, "all_groups", "All metric group names", "group_name",
                "virtual_table", () -> all));
        return tables;
    }
}
