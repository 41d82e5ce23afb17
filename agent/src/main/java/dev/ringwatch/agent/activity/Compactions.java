package dev.ringwatch.agent.activity;

import dev.ringwatch.agent.filter.Filters;
import dev.ringwatch.agent.frame.Model;
import java.lang.reflect.Method;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.apache.cassandra.db.compaction.CompactionInfo;
import org.apache.cassandra.db.compaction.CompactionManager;

/**
 * What works on SSTables: the registry behind {@code system_views.sstable_tasks}, without its
 * copies. When nothing runs, a look costs an empty list.
 */
final class Compactions {
    private static final Map<String, String> TASKS = new HashMap<>();

    static {
        for (String same : new String[] {"COMPACTION", "CLEANUP", "SCRUB", "UPGRADE_SSTABLES",
            "ANTICOMPACTION", "VALIDATION", "INDEX_BUILD", "VIEW_BUILD", "VERIFY",
            "GARBAGE_COLLECT", "RELOCATE", "TOMBSTONE_COMPACTION"}) {
            TASKS.put(same, same.toLowerCase(Locale.ROOT));
        }
        TASKS.put("MAJOR_COMPACTION", "compaction"); // of 5.0 and later
    }

    private final Running running;
    private final Kinds kinds;
    /** Returns Java's UUID in 4.0, and one of Cassandra's own later. */
    private Method taskId;

    Compactions(Model model, Filters filters, Kinds kinds) {
        this.running = new Running(model, filters, "task", false, "task", "keyspace", "table");
        this.kinds = kinds;
        try {
            taskId = CompactionInfo.class.getMethod("getTaskId");
        } catch (ReflectiveOperationException otherVersion) {
            taskId = null;
        }
    }

    void sample(long nowMs, long nanos) {
        List<CompactionInfo.Holder> active = CompactionManager.instance.active.getCompactions();
        if (active.isEmpty() && running.isIdle()) {
            return;
        }
        running.begin(nowMs, nanos);
        try {
            for (CompactionInfo.Holder holder : active) {
                CompactionInfo info = holder.getCompactionInfo();
                String type = info.getTaskType().name();
                if (!type.endsWith("_CACHE_SAVE")) { // as Cassandra's own table has it
                    see(holder, info, TASKS.getOrDefault(type, "other"));
                }
            }
        } finally { // else what has ended would be held for as long as one cannot be read
            running.end();
        }
    }

    /** Holds none of them. */
    void clear() {
        running.clear();
    }

    private void see(CompactionInfo.Holder holder, CompactionInfo info, String task) {
        boolean shown = running.see(holder, () -> id(info),
                info.getUnit() == CompactionInfo.Unit.BYTES, info.getCompleted(), info.getTotal(),
                task, Rows.label(info.getKeyspace().orElse("*"), "*"),
                Rows.label(info.getTable().orElse("*"), "*"));
        kinds.add(task, !shown);
    }

    private String id(CompactionInfo info) {
        try {
            return String.valueOf(taskId.invoke(info));
        } catch (ReflectiveOperationException | RuntimeException otherVersion) {
            return "";
        }
    }
}
