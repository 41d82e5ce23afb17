package dev.ringwatch.agent.activity;

import dev.ringwatch.agent.filter.Filters;
import dev.ringwatch.agent.frame.Kind;
import dev.ringwatch.agent.frame.Model;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * When each replicated table was repaired and has to be again, as one node of a cluster sends it.
 */
final class RepairTables {
    private final Rows rows;
    private final int grace;
    private final int full;
    private final int incremental;
    private final int due;
    private final int max;
    private final Map<String, Rows.Row> shown = new HashMap<>();
    private long leftOut;

    RepairTables(Model model, Filters filters, int max) {
        rows = new Rows(model, filters, "repair_table", "keyspace", "table");
        grace = rows.add("cassandra_repair_gc_grace_seconds", Kind.GAUGE, "seconds", 0);
        full = rows.add("cassandra_repair_last_full_success_timestamp_seconds", Kind.GAUGE,
                "seconds", 0);
        incremental = rows.add("cassandra_repair_last_incremental_success_timestamp_seconds",
                Kind.GAUGE, "seconds", 0);
        due = rows.add("cassandra_repair_due_timestamp_seconds", Kind.GAUGE, "seconds", 0);
        this.max = max;
    }

    void show(List<RepairHistory.Known> all) {
        Map<String, RepairHistory.Known> now = new TreeMap<>(); // tables stand by keyspace
        for (RepairHistory.Known known : all) {
            now.put(Replicated.key(known.table.keyspace, known.table.table), known);
        }
        shown.entrySet().removeIf(entry -> {
            boolean gone = !now.containsKey(entry.getKey());
            if (gone) {
                rows.end(entry.getValue());
            }
            return gone;
        });
        leftOut = 0;
        for (Map.Entry<String, RepairHistory.Known> entry : now.entrySet()) {
            RepairHistory.Known known = entry.getValue();
            Rows.Row row = shown.get(entry.getKey());
            if (row == null && rows.live() >= max) {
                leftOut++;
                continue;
            }
            if (row == null) {
                row = rows.begin(known.table.keyspace, known.table.table);
                shown.put(entry.getKey(), row);
            }
            rows.set(row, grace, known.table.gcGraceSeconds);
            setOrNone(row, full, known.full);
            setOrNone(row, incremental, known.incremental);
            setOrNone(row, due, known.due);
        }
    }

    private void setOrNone(Rows.Row row, int metric, int seconds) {
        if (seconds == 0) {
            rows.absent(row, metric);
        } else {
            rows.set(row, metric, seconds);
        }
    }

    /** Another node sends them now. */
    void clear() {
        if (!shown.isEmpty()) {
            show(Collections.emptyList());
        }
    }

    long leftOut() {
        return leftOut;
    }
}
