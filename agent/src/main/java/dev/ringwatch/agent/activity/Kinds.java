package dev.ringwatch.agent.activity;

import dev.ringwatch.agent.filter.Filters;
import dev.ringwatch.agent.frame.Kind;
import dev.ringwatch.agent.frame.Model;
import java.util.HashMap;
import java.util.Map;

/**
 * How many tasks of each kind run, with those that are beyond a bound. A kind begins with its
 * first.
 */
final class Kinds {
    private static final class Count {
        final Rows.Row row;
        int running;
        int leftOut;

        Count(Rows.Row row) {
            this.row = row;
        }
    }

    private final Rows rows;
    private final int running;
    private final int leftOut;
    private final Map<String, Count> counts = new HashMap<>();

    Kinds(Model model, Filters filters) {
        rows = new Rows(model, filters, "task_kind", "task");
        running = rows.add("cassandra_tasks_running", Kind.GAUGE, "", 0);
        leftOut = rows.add("cassandra_tasks_left_out", Kind.GAUGE, "", 0);
    }

    void begin() {
        for (Count count : counts.values()) {
            count.running = 0;
            count.leftOut = 0;
        }
    }

    void add(String kind, boolean isLeftOut) {
        Count count = counts.get(kind);
        if (count == null) {
            count = new Count(rows.begin(kind));
            counts.put(kind, count);
        }
        count.running++;
        if (isLeftOut) {
            count.leftOut++;
        }
    }

    void end() {
        for (Count count : counts.values()) {
            rows.set(count.row, running, count.running);
            rows.set(count.row, leftOut, count.leftOut);
        }
    }
}
