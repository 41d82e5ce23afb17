package dev.ringwatch.agent.activity;

import java.util.Collections;
import java.util.Date;
import java.util.Map;
import java.util.Set;
import org.apache.cassandra.cql3.QueryProcessor;
import org.apache.cassandra.cql3.UntypedResultSet;
import org.apache.cassandra.db.ConsistencyLevel;
import org.apache.cassandra.db.marshal.UTF8Type;

/**
 * Reads {@code system_distributed.parent_repair_history} page by page, at ONE, with a rest after
 * each. What a turn leaves, the next one goes on with.
 */
final class ParentRepairs {
    private static final int PAGE = 200;
    private static final int MAX_PAGES = 1000;
    private static final long LONGEST_NS = 60_000_000_000L;
    private static final long REST_MS = 20;

    private long after = Long.MIN_VALUE;

    void beginAnew() {
        after = Long.MIN_VALUE;
    }

    /** True once it has come to the end. */
    boolean readInto(RepairHistory history) throws Exception {
        long began = System.nanoTime();
        if (after == Long.MIN_VALUE) {
            history.begins();
        }
        for (int page = 0; page < MAX_PAGES && System.nanoTime() - began < LONGEST_NS; page++) {
            UntypedResultSet rows = QueryProcessor.process(
                    "SELECT token(parent_id) AS at, keyspace_name, columnfamily_names, started_at, "
                    + "successful_ranges, options FROM system_distributed.parent_repair_history "
                    + "WHERE token(parent_id) > " + after + " LIMIT " + PAGE,
                    ConsistencyLevel.ONE);
            int count = 0;
            for (UntypedResultSet.Row row : rows) {
                count++;
                after = row.getLong("at");
                take(row, history);
            }
            if (count < PAGE) {
                after = Long.MIN_VALUE;
                history.ends();
                return true;
            }
            Thread.sleep(REST_MS);
        }
        return false;
    }

    private static void take(UntypedResultSet.Row row, RepairHistory history) {
        if (!row.has("keyspace_name") || !row.has("columnfamily_names") || !row.has("started_at")
                || !row.has("successful_ranges")) { // it runs still, or has failed
            return;
        }
        Set<String> tables = row.getSet("columnfamily_names", UTF8Type.instance);
        Set<String> ranges = row.getSet("successful_ranges", UTF8Type.instance);
        Map<String, String> options = row.has("options")
                ? row.getMap("options", UTF8Type.instance, UTF8Type.instance)
                : Collections.emptyMap();
        Date started = row.getTimestamp("started_at");
        history.repaired(row.getString("keyspace_name"), tables, started.getTime(), ranges,
                options);
    }
}
