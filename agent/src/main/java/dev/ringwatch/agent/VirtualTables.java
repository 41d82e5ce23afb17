package dev.ringwatch.agent;

import dev.ringwatch.agent.cql.CqlFace;
import dev.ringwatch.agent.frame.Kind;
import dev.ringwatch.agent.frame.Metric;
import dev.ringwatch.agent.frame.Model;
import dev.ringwatch.agent.frame.Template;
import java.math.BigDecimal;
import java.util.Map;
import java.util.TreeMap;
import org.apache.cassandra.metrics.CassandraMetricsRegistry;

/** The CQL face: its tables, or one line that says why not; the agent goes on without them. */
final class VirtualTables {
    private final Model model;
    private final CqlFace face = new CqlFace();

    private VirtualTables(Model model) {
        this.model = model;
    }

    static void register(Model model, String version) {
        register(model, version, true);
    }

    /** For an agent that is off: where it says why. */
    static void registerState(Model model, String version) {
        register(model, version, false);
    }

    private static void register(Model model, String version, boolean metrics) {
        VirtualTables tables = new VirtualTables(model);
        try {
            tables.face.registerState(tables::state);
            if (metrics) {
                tables.face.registerMetrics(CassandraMetricsRegistry.Metrics, version);
            }
        } catch (Throwable e) {
            // IllegalStateException is a sentence, all else is a Cassandra we do not know
            Agent.say("there are no tables in CQL: "
                    + (e instanceof IllegalStateException ? e.getMessage() : e + "; report this"));
        }
    }

    /**
     * The agent's own metrics as they stand. Read without the model's lock, so that a query never
     * waits for a pass: of one that is under way, some numbers may be new and some old.
     */
    private Map<String, String> state() {
        Map<String, String> rows = new TreeMap<>();
        rows.put("version", Agent.version());
        rows.put("ringwatch_agent_cql_rows_total", Long.toString(face.rows()));
        rows.put("ringwatch_agent_cql_errors_total", Long.toString(face.errors()));
        for (int t = 0; t < model.templateCount(); t++) {
            Template template = model.template(t);
            if (template.type.equals("agent") || template.type.startsWith("agent_")) {
                for (int m = 0; m < template.metricCount(); m++) {
                    rows(template, template.metric(m), rows);
                }
            }
        }
        return rows;
    }

    private static void rows(Template template, Metric metric, Map<String, String> rows) {
        for (int slot = 0; slot < template.slots(); slot++) {
            try {
                if (template.isLive(slot) && metric.isPresent(slot)) {
                    StringBuilder name = new StringBuilder(metric.name);
                    for (int l = 0; l < template.labelCount(); l++) {
                        name.append(l == 0 ? '{' : ',').append(template.label(l)).append("=\"")
                                .append(template.labelValue(slot, l)).append('"');
                    }
                    rows.put((template.labelCount() > 0 ? name.append('}') : name).toString(),
                            text(metric, slot));
                }
            } catch (RuntimeException movedMeanwhile) {
                continue;
            }
        }
    }

    private static String text(Metric metric, int slot) {
        return metric.kind == Kind.STRING ? metric.text(slot)
                : metric.kind == Kind.GAUGE_DOUBLE
                ? Double.toString(Double.longBitsToDouble(metric.value(slot)))
                : BigDecimal.valueOf(metric.value(slot), -metric.exponent).toPlainString();
    }
}
