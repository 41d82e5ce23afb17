package dev.ringwatch.agent.beans;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import javax.management.ObjectName;

/**
 * All beans that are read from Cassandra's registry, by what moves together, and the reading of
 * them within a budget: a table's beans are read while the inventory's gate lets that table
 * through, and in turn with all others.
 */
final class MetricBeans {
    /** For what has not been read yet: of each pass. */
    private static final long FRESH_NS = 20_000_000;
    /** Groups that stand still, a pass: as many as the inventory looks at. */
    private static final int RECHECKED = 3;
    /** A snapshot takes 5 µs and 4 kB: with more to look at than that, each has its turn. */
    private static final int SNAPSHOTS = 500;
    /**
     * What only forgets is looked at so often in a minute, and so is what is dear: gauges of the
     * node walk all tables, and fifty of them take 25 ms where there are a thousand. A node without
     * work moves nothing but Cassandra's own tables, of which {@code system.batches} is read every
     * ten seconds: its dear metrics are read once a minute.
     */
    static final int SELDOM_PER_MINUTE = 4;

    private final Map<ObjectName, MetricBean> beans = new HashMap<>();
    private final Map<String, Map<String, BeanGroup>> groups = new HashMap<>();
    private final List<BeanGroup> order = new ArrayList<>();
    private final BeanGroup others = new BeanGroup(null, null);
    private final BeanGroup node = new BeanGroup(null, null);
    /** Since its dear metrics were read, more has moved than Cassandra's own tables. */
    private boolean busy;
    private int recheck;
    private final LastRead last = new LastRead();
    private int from;
    private final Turn turn = new Turn();
    private long errors;

    MetricBeans() {
        order.add(others);
        order.add(node);
    }

    void replace(Plan plan) {
        MetricBean before = beans.remove(plan.name);
        if (before != null) {
            before.uninstall();
            if (before.group.beans.isEmpty() && before.group.keyspace != null) {
                order.remove(before.group);
                groups.get(before.group.keyspace).remove(before.group.table);
            }
        }
        if (plan.metric != null && !plan.shown.isEmpty()) {
            beans.put(plan.name, MetricBean.install(plan, group(plan)));
        }
    }

    private BeanGroup group(Plan plan) {
        if (plan.keyspace == null) {
            return plan.table == null ? others : node;
        }
        Map<String, BeanGroup> tables = groups.computeIfAbsent(plan.keyspace, k -> new HashMap<>());
        return tables.computeIfAbsent(plan.table == null ? "" : plan.table, table -> {
            BeanGroup group = new BeanGroup(plan.keyspace, table);
            order.add(group);
            return group;
        });
    }

    /** @param values keyspace and table */
    void moving(String[] values) {
        node.moved = true;
        busy |= !values[0].equals("system") && !values[0].startsWith("system_");
        Map<String, BeanGroup> tables = groups.get(values[0]);
        if (tables != null) {
            moved(tables.get(""));
            moved(tables.get(values[1]));
        }
    }

    private static void moved(BeanGroup group) {
        if (group != null) {
            group.moved = true;
        }
    }

    long errors() {
        return errors;
    }

    /** Whether some have not been read yet. */
    boolean isFresh() {
        for (BeanGroup group : order) {
            if (group.fresh && !group.beans.isEmpty()) {
                return true;
            }
        }
        return false;
    }

    /** @param sstableBytes of the node, to see whether they are others */
    void read(long pass, int passesPerMinute, long sstableBytes) {
        others.moved = true;
        last.forget();
        long began = System.nanoTime();
        int count = order.size();
        int begin = from < count ? from : 0;
        from = 0;
        int spacing = Math.max(1, passesPerMinute / SELDOM_PER_MINUTE);
        for (int n = 0; n < count; n++) {
            int i = (begin + n) % count;
            BeanGroup group = order.get(i);
            turn.slow = (pass + i) % passesPerMinute == 0;
            turn.seldom = turn.slow || (pass + i) % spacing == 0;
            turn.dear = group == node && !busy ? turn.slow : turn.seldom;
            if (last.snapshots() >= SNAPSHOTS && from == 0) {
                from = i; // the next pass begins with those that got none
            }
            if (group.fresh && System.nanoTime() - began < FRESH_NS) {
                fresh(group);
            } else if (group.moved || group.fading && turn.seldom) {
                boolean slow = turn.slow && group.stale;
                turn.sstables = slow && group.hasOtherSSTables(sstableBytes, pass,
                        passesPerMinute);
                read(group, group.moved, slow);
                group.stale = group.moved || group.stale && !turn.slow;
                busy &= group != node || !turn.dear;
            }
            group.moved = group.owing;
        }
        turn.seldom = true;
        turn.dear = true;
        turn.slow = true;
        turn.sstables = true;
        recheck();
        last.forget();
    }

    private void fresh(BeanGroup group) {
        for (int b = 0; b < group.beans.size(); b++) {
            MetricBean bean = group.beans.get(b);
            if (!bean.wasRead() || group.moved && !bean.slow || bean.isFading()) {
                read(bean);
            }
        }
        group.fresh = false;
        group.owing = false;
        group.fading = isFading(group);
    }

    private void read(BeanGroup group, boolean all, boolean slow) {
        group.owing = false;
        for (int b = 0; b < group.beans.size(); b++) {
            MetricBean bean = group.beans.get(b);
            if (all && !bean.slow && bean.isDearGauge() && !turn.dear) {
                group.owing = true;
            } else if (bean.slow ? slow && (turn.sstables || !bean.bySSTables)
                    : all || bean.isFading()) {
                read(bean);
            }
        }
        group.fading = isFading(group);
    }

    private static boolean isFading(BeanGroup group) {
        for (int b = 0; b < group.beans.size(); b++) {
            if (group.beans.get(b).isFading()) {
                return true;
            }
        }
        return false;
    }

    private void read(MetricBean bean) {
        try {
            bean.read(last, last.snapshots() < SNAPSHOTS, turn);
        } catch (Throwable thrown) {
            // a gauge is someone else's code: whatever it throws is its cells' problem only
            bean.failed();
            errors++;
        }
    }

    /** What stands still for all we know is looked at, a few groups a pass. */
    private void recheck() {
        for (int n = 0; n < Math.min(RECHECKED, order.size()); n++) {
            recheck = recheck + 1 < order.size() ? recheck + 1 : 0;
            BeanGroup group = order.get(recheck);
            if (group != others) {
                read(group, true, true);
            }
        }
    }
}
