package dev.ringwatch.agent.beans;

import com.codahale.metrics.Metric;
import dev.ringwatch.agent.filter.Filters;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.Semaphore;
import java.util.function.Consumer;
import java.util.function.Function;
import javax.management.JMException;
import javax.management.MBeanInfo;
import javax.management.MBeanServer;
import javax.management.MalformedObjectNameException;
import javax.management.ObjectName;

/**
 * The thread that does what may take long: it names beans that have come, and reads those that are
 * not Cassandra's metrics, once for each pass at most. A pass never waits for it; when a bean does
 * not answer, another such thread goes on without that bean.
 */
final class BeanReader implements Runnable {
    /** Of each pass: naming a thousand tables' beans takes some seconds in all. */
    private static final long NAMING_NS = 200_000_000;
    private static final long NAMING_WAIT_NS = 2_000_000_000;
    private static final long READING_NS = 50_000_000;
    /**
     * A bean that takes more CPU time than that so often is left out, and one that keeps the thread
     * waiting for so long. On a busy machine every bean takes its time.
     */
    private static final long DEAR_NS = 100_000_000;
    private static final long DEAR_WAIT_NS = 3_000_000_000L;
    private static final int MAX_DEAR = 3;
    /** One that takes longer than that is read four times a minute, or once. */
    private static final long SELDOM_NS = 1_000_000;
    private static final long SLOW_NS = 5_000_000;

    private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();

    final ConcurrentLinkedQueue<Plan> plans = new ConcurrentLinkedQueue<>();
    final ByValue byValue;
    final Map<ObjectName, ForeignBean> foreign = new ConcurrentHashMap<>();
    private final Semaphore turns = new Semaphore(0);
    private final MBeanServer server;
    /** Null where there is no Cassandra. */
    private final OfRegistry ofRegistry;
    private final Function<ObjectName, Direct> direct;
    private final List<BeanProfile> profiles;
    private final Filters filters;
    private final Consumer<String> say;
    private final BeanWatch watch;
    private final List<ObjectName> names = new ArrayList<>();
    private int named;
    /** At the end of a turn. The pass asks, which is another thread. */
    private volatile boolean allNamed;
    private long turn;
    private int passesPerMinute = 12;
    private int from;
    private boolean complained;
    /** What it is reading now and since when, for whoever watches it. */
    private volatile ForeignBean reading;
    private volatile long since;
    /** Set when another one has taken its place. */
    private volatile boolean replaced;

    /** @param profiles with rules */
    BeanReader(MBeanServer server, Map<String, Metric> registry,
            Function<ObjectName, Direct> direct, List<BeanProfile> profiles, Filters filters,
            Consumer<String> say)
            throws JMException {
        this.server = server;
        this.profiles = profiles;
        this.filters = filters;
        this.say = say;
        this.byValue = new ByValue();
        this.ofRegistry = registry == null ? null
                : new OfRegistry(server, registry, byValue);
        this.direct = direct;
        this.watch = new BeanWatch(server);
    }

    /** Goes on where another one is stuck. */
    BeanReader(BeanReader stuck) {
        server = stuck.server;
        ofRegistry = stuck.ofRegistry;
        direct = stuck.direct;
        profiles = stuck.profiles;
        filters = stuck.filters;
        say = stuck.say;
        watch = stuck.watch;
        byValue = stuck.byValue;
        plans.addAll(stuck.plans);
        foreign.putAll(stuck.foreign);
        names.addAll(stuck.names.subList(Math.min(stuck.named, stuck.names.size()),
                stuck.names.size()));
        stuck.replaced = true;
    }

    @Override
    public void run() {
        try {
            while (!replaced) {
                turns.acquire();
                turns.drainPermits();
                guarded();
            }
        } catch (InterruptedException stop) {
            Thread.currentThread().interrupt();
        }
    }

    /** Whatever happens in one turn, there is another. */
    private void guarded() {
        try {
            turn();
        } catch (RuntimeException | Error odd) {
            if (!complained) {
                complained = true;
                say.accept("one look at the beans failed, and the agent goes on: " + odd
                        + "; report this");
            }
        }
    }

    /** There has been a pass. */
    void go(int passesAMinute) {
        passesPerMinute = passesAMinute;
        turns.release();
    }

    /** The bean that has not answered for so long, or null. */
    ForeignBean stuckFor(long ns) {
        ForeignBean now = reading;
        return now != null && System.nanoTime() - since > ns && now == reading ? now : null;
    }

    /** One pass's work. */
    void turn() {
        turn++;
        nameSome();
        allNamed = named == names.size() && watch.isEmpty();
        byValue.name(System.nanoTime() + READING_NS);
        readForeign();
    }

    /** Whether all that is there has been named and read. */
    boolean isSettled() {
        return allNamed && byValue.isEmpty();
    }

    private void nameSome() {
        if (named == names.size()) {
            names.clear();
            named = 0;
            for (ObjectName name = watch.poll(); name != null; name = watch.poll()) {
                names.add(name);
            }
            // neighbours have neighbouring rows and columns
            names.sort(Comparator.comparing(ObjectName::getCanonicalName));
        }
        Budget budget = new Budget(NAMING_NS, NAMING_WAIT_NS);
        while (named < names.size() && !budget.isSpent() && !replaced) {
            ObjectName name = names.get(named++);
            try {
                name(name);
            } catch (RuntimeException | LinkageError | StackOverflowError odd) {
                // this one is not shown, the others are
                say.accept("the bean " + name + " is left out: " + odd);
            }
        }
    }

    private void name(ObjectName name) {
        Plan plan = new Plan(name);
        List<BeanProfile> wanting = new ArrayList<>();
        ObjectName copy = copy(name);
        for (BeanProfile profile : profiles) {
            if (profile.namer.wants(copy)) {
                wanting.add(profile);
            }
        }
        foreign.remove(name);
        MBeanInfo info = wanting.isEmpty() ? null : info(name);
        if (info != null && !name.toString().equals("jdk.management.jfr:type=FlightRecorder")) {
            if (filteredOut(copy)) {
                plans.add(plan);
                return;
            }
            if (ofRegistry == null || !ofRegistry.plan(plan, info, wanting)) {
                ForeignBean bean = new ForeignBean(name, info, wanting, direct.apply(name));
                if (!bean.isEmpty()) {
                    foreign.put(name, bean);
                }
            }
        }
        plans.add(plan);
    }

    /**
     * A name keeps a map of its properties once it is asked for one or matched, 700 bytes for as
     * long as the bean is registered: a copy takes its own away with it.
     */
    private static ObjectName copy(ObjectName name) {
        try {
            return new ObjectName(name.toString());
        } catch (MalformedObjectNameException own) { // a class of somebody's own
            return name;
        }
    }

    private MBeanInfo info(ObjectName name) {
        try {
            return server.getMBeanInfo(name);
        } catch (JMException gone) {
            return null;
        }
    }

    /** By keyspace and table: what filters say of our names says nothing of others'. */
    private boolean filteredOut(ObjectName name) {
        String keyspace = name.getKeyProperty("keyspace");
        String table = name.getKeyProperty("scope");
        return keyspace != null
                && !filters.accepts(table == null ? "keyspace" : "table", keyspace, table, "");
    }

    private void readForeign() {
        List<ForeignBean> all = new ArrayList<>(foreign.values());
        long began = System.nanoTime();
        for (int n = 0; n < all.size() && System.nanoTime() - began < READING_NS
                && !replaced; n++) {
            from = from + 1 < all.size() ? from + 1 : 0;
            ForeignBean bean = all.get(from);
            if (bean.leftOut || bean.reading != null && (turn + from) % spacing(bean) != 0) {
                continue;
            }
            since = System.nanoTime();
            long cpu = THREADS.getCurrentThreadCpuTime();
            reading = bean;
            try {
                bean.read(server);
            } catch (RuntimeException | LinkageError | StackOverflowError odd) {
                leaveOut(bean, "throws " + odd);
            }
            reading = null;
            bean.costNs = THREADS.getCurrentThreadCpuTime() - cpu;
            bean.totalNs = bean.totalNs + bean.costNs;
            long waited = System.nanoTime() - since;
            bean.dear = bean.costNs > DEAR_NS || waited > DEAR_WAIT_NS ? bean.dear + 1 : 0;
            if (bean.dear >= MAX_DEAR) {
                leaveOut(bean, "takes " + bean.costNs / 1_000_000 + " ms of CPU time and "
                        + waited / 1_000_000 + " ms to read");
            }
        }
    }

    /** Passes from one reading of it to the next. */
    private int spacing(ForeignBean bean) {
        if (bean.costNs > SLOW_NS) {
            return passesPerMinute;
        }
        return bean.costNs > SELDOM_NS
                ? Math.max(1, passesPerMinute / MetricBeans.SELDOM_PER_MINUTE) : 1;
    }

    void leaveOut(ForeignBean bean, String why) {
        if (!bean.leftOut) {
            bean.leftOut = true;
            bean.reading = new ForeignBean.Reading();
            say.accept("the bean " + bean.name + " is left out: it " + why + "; to end this line, "
                    + "name it under excludeObjectNames");
        }
    }

    void close() {
        replaced = true;
        watch.close();
        turns.release();
    }
}
