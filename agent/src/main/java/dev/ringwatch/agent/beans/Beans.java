package dev.ringwatch.agent.beans;

import dev.ringwatch.agent.cassandra.Inventory;
import dev.ringwatch.agent.filter.Filters;
import dev.ringwatch.agent.frame.Kind;
import dev.ringwatch.agent.frame.Metric;
import dev.ringwatch.agent.frame.Model;
import dev.ringwatch.agent.frame.Template;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.BiFunction;
import java.util.function.Consumer;
import java.util.function.Function;
import javax.management.JMException;
import javax.management.MBeanServer;
import javax.management.ObjectName;

/**
 * The profiles that are made of beans, pass by pass: takes in what the reading thread has found,
 * reads Cassandra's metrics that are shown, and puts what was read of other beans in its place.
 */
public final class Beans {
    /** For tests: others wait that long for a bean to answer. */
    long stuckNs = 10_000_000_000L;
    private static final int MAX_STUCK = 3;
    /** For taking in new beans: of each pass, which a scrape may wait for. */
    private static final long INSTALL_NS = 40_000_000;
    private static final long INSTALL_WAIT_NS = 200_000_000;
    private static final int PASSES_BETWEEN_TIDYING = 60;
    /**
     * So many bytes has a frame's label; what is longer has no cost shown, since its beginning may
     * be another's.
     */
    private static final int MAX_BEAN_NAME = 255;
    /** Frames are not to grow by the beans of a thousand tables. */
    private static final int MAX_COSTS = 200;
    static final String ALL_NAMED = "all beans are named after ";

    /** A bean's series that are shown now. */
    private static final class Shown extends Template.Entity {
        ForeignBean bean;
        ForeignBean.Reading reading;
        Map<ForeignBean.Leaf, Output.Series> series = new HashMap<>();
    }

    private final List<BeanProfile> profiles = new ArrayList<>();
    private final MetricBeans metrics = new MetricBeans();
    private final Map<ObjectName, Shown> shown = new LinkedHashMap<>();
    private final Consumer<String> say;
    private final BiFunction<Runnable, String, Thread> threads;
    /** What reading each bean costs; null where nobody asks. */
    private Template costs;
    private Metric cpuSeconds;
    private final List<JvmNames> jvm = new ArrayList<>();
    private BeanReader reader;
    private Thread thread;
    private final Set<String> refused = new HashSet<>();
    private int stuck;
    private long lastNs;
    /** When the agent began; 0 once it has been said that all beans are named. */
    private long namingSince = System.nanoTime();

    /**
     * Rules that cannot be read are said so, and that profile stays empty.
     *
     * @param all of which those without rules are left alone
     * @param registry Cassandra's, or null where there is none
     * @param direct how to read a bean's attributes at less cost, or null for it; asked in the
     *     reading thread, once a bean
     * @param threads makes one that runs what it is given, under that name
     */
    public Beans(List<BeanProfile> all, MBeanServer server,
            Map<String, com.codahale.metrics.Metric> registry,
            Function<ObjectName, Direct> direct, Filters filters,
            Consumer<String> say, BiFunction<Runnable, String, Thread> threads) {
        this.say = say;
        this.threads = threads;
        for (BeanProfile profile : all) {
            Consumer<String> says = line -> say.accept(profile.name + ": " + line);
            try {
                profile.namer = profile.load(says);
                profiles.add(profile);
                if (profile.kind == BeanProfile.Kind.JMX_EXPORTER) {
                    jvm.add(new JvmNames(profile));
                }
            } catch (Exception | LinkageError e) {
                // SnakeYAML is Cassandra's, and may be another one day
                says.accept((e instanceof IllegalArgumentException ? e.getMessage() : e.toString())
                        + "; correct it: until then this profile is empty, and all else is served");
            }
        }
        if (profiles.isEmpty()) {
            return;
        }
        try {
            reader = new BeanReader(server, registry, direct, profiles, filters, say);
            start();
        } catch (JMException | RuntimeException e) {
            say.accept("no beans are read: " + e + "; report this");
        }
    }

    /** Adds a metric of what each bean that is read through the MBean server costs. */
    public void showCosts(Model model) {
        if (reader != null) {
            costs = model.add(new Template("agent_bean", "bean"));
            // in milliseconds, so that a frame need not repeat it for every bean
            cpuSeconds =
                    costs.add(Metric.scalar("ringwatch_agent_bean_cpu_seconds_total", Kind.COUNTER,
                    "seconds", -3));
        }
    }

    private void start() {
        thread = threads.apply(reader, "ringwatch-agent-beans");
        if (thread != null) {
            thread.start();
        }
    }

    /** The reading thread's id, −1 if there is none. */
    public long threadId() {
        return thread == null ? -1 : thread.getId();
    }

    /** For tests, which have no thread. */
    BeanReader reader() {
        return reader;
    }

    /** Whether all that is there has been named, taken in and read once. */
    boolean isSettled() {
        return reader == null || reader.isSettled() && reader.plans.isEmpty() && !metrics.isFresh();
    }

    public long errors() {
        return metrics.errors();
    }

    /**
     * Called on each pass, with the model locked, after the inventory has been read.
     *
     * @param inventory null where there is no Cassandra
     */
    public void pass(long pass, int passesPerMinute, Inventory inventory) {
        if (reader == null) {
            return;
        }
        long began = System.nanoTime();
        watch();
        Budget budget = new Budget(INSTALL_NS, INSTALL_WAIT_NS);
        while (!reader.plans.isEmpty() && !budget.isSpent()) {
            take(reader.plans.poll());
        }
        reader.byValue.take(System.nanoTime() + INSTALL_NS);
        if (inventory != null) {
            inventory.tellMovingTables(metrics::moving);
            metrics.read(pass, Math.max(1, passesPerMinute), inventory.sstableBytes());
        }
        for (Shown each : shown.values()) {
            show(each);
            if (each.slot() >= 0) {
                cpuSeconds.set(each.slot(), each.bean.totalNs / 1_000_000);
            }
        }
        for (JvmNames names : jvm) {
            names.read(pass % passesPerMinute == 0 || pass == 1, lastNs);
        }
        if (pass % PASSES_BETWEEN_TIDYING == 0) {
            for (BeanProfile profile : profiles) {
                profile.output.tidy();
                sayIfRefused(profile);
            }
        }
        if (namingSince != 0 && isSettled()) {
            sayNamed();
        }
        lastNs = System.nanoTime() - began;
        reader.go(Math.max(1, passesPerMinute));
    }

    /** Panels may miss series before that. */
    private void sayNamed() {
        long seconds = (System.nanoTime() - namingSince) / 1_000_000_000;
        namingSince = 0;
        StringBuilder series = new StringBuilder();
        for (BeanProfile profile : profiles) {
            series.append(series.length() == 0 ? "" : ", ").append(profile.name).append(" has ")
                    .append(profile.output.size()).append(" series");
        }
        say.accept(ALL_NAMED + seconds + " s: " + series);
    }

    private void sayIfRefused(BeanProfile profile) {
        if (profile.output.refused() > 0 && refused.add(profile.name)) {
            say.accept(profile.name + ": there are more than " + Output.MAX_SERIES
                    + " series, and the others are left out: name fewer beans under "
                    + "includeObjectNames");
        }
    }

    /** The thread that waits for a bean that does not answer is left to it. */
    private void watch() {
        ForeignBean bean = stuck < MAX_STUCK ? reader.stuckFor(stuckNs) : null;
        if (bean == null) {
            return;
        }
        reader.leaveOut(bean, "has not answered for " + stuckNs / 1_000_000_000 + " seconds");
        if (++stuck == MAX_STUCK) {
            say.accept("three beans have not answered, so no other beans are read from "
                    + "now on: name these beans under excludeObjectNames and restart");
            return;
        }
        reader = new BeanReader(reader);
        start();
    }

    private void take(Plan plan) {
        metrics.replace(plan);
        ForeignBean bean = reader.foreign.get(plan.name);
        Shown before = shown.get(plan.name);
        if (before != null && before.bean != bean) {
            before.series.forEach((leaf, series) -> leaf.output.remove(series));
            shown.remove(plan.name);
            if (before.slot() >= 0) {
                costs.removeEntity(before.slot());
            }
        }
        if (bean != null && (before == null || before.bean != bean)) {
            Shown now = new Shown();
            now.bean = bean;
            shown.put(plan.name, now);
            String name = plan.name.toString();
            if (costs != null && !bean.isDirect() && costs.liveCount() < MAX_COSTS
                    && name.getBytes(StandardCharsets.UTF_8).length <= MAX_BEAN_NAME) {
                costs.addEntity(now, name);
            }
        }
    }

    private static void show(Shown each) {
        ForeignBean.Reading now = each.bean.reading;
        if (now == null || now == each.reading) {
            return;
        }
        each.reading = now;
        Map<ForeignBean.Leaf, Output.Series> before = each.series;
        boolean same = before.size() == now.leaves.size();
        for (int i = 0; i < now.leaves.size() && same; i++) {
            same = before.containsKey(now.leaves.get(i));
        }
        if (!same) {
            each.series = new HashMap<>();
            for (ForeignBean.Leaf leaf : now.leaves) {
                each.series.put(leaf, before.remove(leaf));
            }
            before.forEach((leaf, series) -> {
                if (series != null) {
                    leaf.output.remove(series);
                }
            });
        }
        for (int i = 0; i < now.leaves.size(); i++) {
            ForeignBean.Leaf leaf = now.leaves.get(i);
            Output.Series series = each.series.get(leaf);
            if (series == null) {
                series = leaf.output.add(leaf.named);
                each.series.put(leaf, series);
            }
            if (series != null) {
                series.show(now.values.get(i));
            }
        }
    }

    public void close() {
        if (reader != null) {
            reader.close();
        }
    }
}
