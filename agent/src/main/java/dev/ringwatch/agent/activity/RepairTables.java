package dev.ringwatch.agent.activity;

import dev.ringwatch.agent.filter.Filters;
import dev.ringwatch.agent.frame.Kind;
import dev.ringwatch.agent.frame.Model;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** When each replicated table was repaired and has to be again, as one node of a cluster sends it. */
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
        all.sort(Comparator.comparing(known -> Replicated.key(known.table.keyspace,
                known.table.table)));
        Set<String> seen = new HashSet<>();
        leftOut = 0;
        for (RepairHistory.Known known : all) {
            String key = Replicated.key(known.table.keyspace, known.table.table);
            if (!shown.containsKey(key) && rows.live() >= max) {
                leftOut++;
                continue;
            }
            seen.add(key);
            Rows.Row row = shown.computeIfAbsent(key,
                    k -> rows.begin(known.table.keyspace, known.table.table));
            rows.set(row, grace, known.table.gcGraceSeconds);
            setOrNone(row, full, known.full);
            setOrNone(row, incremental, known.incremental);
            setOrNone(row, due, known.due);
        }
        shown.entrySet().removeIf(entry -> {
            boolean gone = !seen.contains(entry.getKey());
            if (gone) {
                rows.end(entry.getValue());
            }
            return gone;
        });
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

    int live() {
        return rows.live();
    }

    long leftOut() {
        return leftOut;
    }
}
