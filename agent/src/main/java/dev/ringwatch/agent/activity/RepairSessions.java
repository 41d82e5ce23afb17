package dev.ringwatch.agent.activity;

import dev.ringwatch.agent.filter.Filters;
import dev.ringwatch.agent.frame.Kind;
import dev.ringwatch.agent.frame.Metric;
import dev.ringwatch.agent.frame.Model;
import dev.ringwatch.agent.frame.Template;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.management.Notification;
import javax.management.NotificationListener;

/**
 * The repairs that this node coordinates, by what Cassandra tells whoever listens, as {@code
 * nodetool repair} does: a start, progress, success or not, and the end. Those words have been the
 * same since 4.0, where the classes behind them have not.
 */
final class RepairSessions implements NotificationListener {
    static final int MAX = 64;
    private static final int MAX_TABLES_LENGTH = 200;
    private static final Pattern STARTS = Pattern.compile(
            "Starting repair command #\\d+ \\(([0-9a-fA-F-]{36})\\), repairing keyspace (\\S+) "
            + "with .*?ColumnFamilies: \\[([^\\]]*)\\].*", Pattern.DOTALL);
    /** {@code ProgressEventType}'s order. */
    private static final int START = 0;
    private static final int SUCCESS = 4;
    private static final int COMPLETE = 5;

    private static final class Session {
        final long at;
        String id = "";
        String keyspace = "*";
        String tables = "*";
        boolean ended;
        boolean succeeded;
        double ratio;
        Rows.Row row;
        BitSet slots;
        int slot;

        Session(long at) {
            this.at = at;
        }
    }

    private final Rows rows;
    private final int ratio;
    private final int started;
    private final int info;
    private final Metric running;
    private final Metric failures;
    private final Metric successes;
    private final Function<String, Collection<String>> tablesOf;
    private final Map<String, BitSet> slots = new HashMap<>();

    /** By Cassandra's tag. Written by its threads, under this object's lock. */
    private final Map<String, Session> sessions = new LinkedHashMap<>();
    private long failed;
    private long succeeded;
    private boolean someEnded;
    private volatile boolean touched = true;

    /**
     * @param node where its numbers stand
     * @param tablesOf the tables of a keyspace, of which a repair of all tells no names
     */
    RepairSessions(Model model, Filters filters, Template node,
            Function<String, Collection<String>> tablesOf) {
        rows = new Rows(model, filters, "repair_session", "keyspace", "table", "slot");
        ratio = rows.add("cassandra_repair_session_done_ratio", Kind.GAUGE_DOUBLE, "ratio", 0);
        started = rows.add("cassandra_repair_session_started_timestamp_seconds", Kind.GAUGE,
                "seconds", -3);
        info = rows.add("cassandra_repair_session_id_info", Kind.STRING, "", 0);
        running = node.add(Metric.scalar("cassandra_repair_sessions_running", Kind.GAUGE, "", 0));
        failures = node.add(
                Metric.scalar("cassandra_repair_failures_total", Kind.COUNTER, "", 0));
        successes = node.add(
                Metric.scalar("cassandra_repair_successes_total", Kind.COUNTER, "", 0));
        this.tablesOf = tablesOf;
    }

    /** On a thread of Cassandra's, so nothing is thrown and little is done. */
    @Override
    public void handleNotification(Notification notification, Object handback) {
        try {
            Object source = notification.getSource();
            Object data = notification.getUserData();
            if (source instanceof String && ((String) source).startsWith("repair:")
                    && data instanceof Map) {
                Map<?, ?> progress = (Map<?, ?>) data;
                hear((String) source, number(progress.get("type")),
                        number(progress.get("progressCount")), number(progress.get("total")),
                        notification.getMessage(), System.currentTimeMillis());
            }
        } catch (Throwable otherVersion) {
            touched = true;
        }
    }

    private static int number(Object value) {
        return value instanceof Number ? ((Number) value).intValue() : -1;
    }

    synchronized void hear(String tag, int type, int done, int total, String message, long atMs) {
        touched = true;
        Session session = sessions.get(tag);
        if (session == null) {
            if (type != START || sessions.size() >= 4 * MAX) { // it began before this agent did
                someEnded |= type == COMPLETE;
                return;
            }
            session = new Session(atMs);
            sessions.put(tag, session);
        }
        if (type == START) {
            Matcher says = STARTS.matcher(message == null ? "" : message);
            if (says.matches()) {
                session.id = says.group(1);
                session.keyspace = says.group(2);
                session.tables = says.group(3);
            }
        } else if (total > 0 && done >= 0) {
            session.ratio = Math.min(1, done / (double) total);
        }
        session.succeeded |= type == SUCCESS;
        if (type == COMPLETE && !session.ended) {
            session.ended = true;
            someEnded = true;
            if (session.succeeded) {
                succeeded++;
            } else {
                failed++;
            }
        }
    }

    /** Whether one has ended since this was asked last: then there is news of what is repaired. */
    synchronized boolean someEnded() {
        boolean news = someEnded;
        someEnded = false;
        return news;
    }

    /** Whose end will not be heard of ends now, and does not count. */
    synchronized void clear() {
        sessions.values().forEach(this::end);
        sessions.clear();
        touched = true;
    }

    void sample() {
        if (!touched) {
            return;
        }
        touched = false;
        synchronized (this) {
            for (Iterator<Session> all = sessions.values().iterator(); all.hasNext();) {
                Session session = all.next();
                if (session.ended) {
                    end(session);
                    all.remove();
                }
            }
            int shown = 0;
            for (Session session : sessions.values()) {
                if (++shown <= MAX) {
                    show(session);
                }
            }
            running.set(0, sessions.size());
            failures.set(0, failed);
            successes.set(0, succeeded);
        }
    }

    private void show(Session session) {
        if (session.slots == null) {
            String keyspace = Rows.label(session.keyspace, "*");
            String tables = Rows.label(tables(session), "*", MAX_TABLES_LENGTH);
            session.slots = slots.computeIfAbsent(keyspace + '\0' + tables, k -> new BitSet());
            session.slot = session.slots.nextClearBit(0);
            session.slots.set(session.slot);
            session.row = rows.begin(keyspace, tables, Integer.toString(session.slot));
            rows.set(session.row, started, session.at);
            if (!session.id.isEmpty()) {
                rows.setText(session.row, info, session.id);
            }
        }
        rows.setDouble(session.row, ratio, session.ratio);
    }

    private String tables(Session session) {
        List<String> names = new ArrayList<>();
        for (String name : session.tables.split(",")) {
            if (!name.trim().isEmpty()) {
                names.add(name.trim());
            }
        }
        if (names.isEmpty()) {
            names.addAll(tablesOf.apply(session.keyspace));
        }
        Collections.sort(names);
        return String.join(",", names);
    }

    private void end(Session session) {
        if (session.slots != null) {
            session.slots.clear(session.slot);
            rows.end(session.row);
        }
        if (rows.live() == 0) {
            slots.clear();
        }
    }
}
