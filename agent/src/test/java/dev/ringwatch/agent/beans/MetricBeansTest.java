package dev.ringwatch.agent.beans;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.codahale.metrics.Counter;
import com.codahale.metrics.Gauge;
import com.codahale.metrics.Histogram;
import com.codahale.metrics.Metric;
import com.codahale.metrics.Reservoir;
import com.codahale.metrics.Snapshot;
import com.codahale.metrics.UniformSnapshot;
import java.util.concurrent.atomic.AtomicLong;
import javax.management.ObjectName;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** How often what is read, with twelve passes a minute. */
class MetricBeansTest {
    private static final int PER_MINUTE = 12;

    private final Output output = new Output("test", false);
    private final MetricBeans beans = new MetricBeans();
    private final AtomicLong looks = new AtomicLong();
    private long pass;
    private long sstables = 1;
    private boolean moves = true;
    private String moving = "busy";

    /** So many that what stands still has its turn after all passes of a test. */
    @BeforeEach
    void addTables() throws Exception {
        for (int t = 0; t < 1000; t++) {
            add("Table,keyspace=ks,scope=t" + t, "Flushes", new Counter(), "Count").keyspace = "ks";
        }
        minutes(1);
    }

    private Plan add(String type, String name, Metric metric, String... attributes)
            throws Exception {
        Plan plan = new Plan(new ObjectName("org.apache.cassandra.metrics:type=" + type + ",name="
                + name));
        plan.metric = metric;
        plan.table = type.startsWith("Table") ? type.replaceAll(".*scope=|Table", "") : null;
        plan.keyspace = type.contains("keyspace=") ? "ks" : null;
        for (String attribute : attributes) {
            plan.shown.add(new Plan.Shown(output, attribute,
                    Named.own(attribute, Named.Type.GAUGE, "", Labels.of("bean", type))));
        }
        beans.replace(plan);
        return plan;
    }

    private void pass() {
        if (moves) {
            beans.moving(new String[] {moving, "always"});
        }
        beans.read(++pass, PER_MINUTE, sstables);
    }

    private void minutes(int minutes) {
        for (int i = 0; i < minutes * PER_MINUTE; i++) {
            pass();
        }
    }

    /** Of the bean of that type; null if there is none. */
    private Double shown(String attribute, String type) {
        Double[] value = {null};
        output.families((name, kind, help, template, metric) -> {
            for (int slot = 0; slot < template.slots(); slot++) {
                if (name.equals(attribute) && metric.isPresent(slot)
                        && template.labelValue(slot, 0).equals(type)) {
                    value[0] = Double.longBitsToDouble(metric.value(slot));
                }
            }
        });
        return value[0];
    }

    /** A histogram that holds one value, or none where that is 0. */
    private Histogram sizes(AtomicLong value, long takesNs) {
        return new Histogram(new Reservoir() {
            @Override
            public int size() {
                return 1;
            }

            @Override
            public void update(long ignored) {
                // the test says what there is
            }

            @Override
            public Snapshot getSnapshot() {
                looks.incrementAndGet();
                spin(takesNs);
                return new UniformSnapshot(new long[] {value.get()}) {
                    @Override
                    public double getMean() { // of nothing Cassandra's is NaN
                        return value.get() == 0 ? Double.NaN : value.get();
                    }
                };
            }
        });
    }

    private static void spin(long ns) {
        for (long end = System.nanoTime() + ns; System.nanoTime() < end;) {
            Thread.onSpinWait();
        }
    }

    /**
     * What forgets is looked at four times a minute while it says something else each time, and
     * once a minute while it says the same. What is counted is seen at once.
     */
    @Test
    void whatForgetsAndSaysTheSameIsLookedAtOnceAMinute() throws Exception {
        AtomicLong value = new AtomicLong(5);
        Histogram sizes = sizes(value, 0);
        add("Things", "Sizes", sizes, "Mean");
        sizes.update(1);
        minutes(3);
        looks.set(0);
        minutes(2);
        assertEquals(2, looks.get(), "looks in two minutes");

        sizes.update(1);
        value.incrementAndGet();
        pass();
        assertEquals(6, shown("Mean", "Things"));
        looks.set(0);
        for (int i = 0; i < PER_MINUTE; i++) {
            value.incrementAndGet();
            pass();
        }
        assertEquals(4, looks.get(), "looks in a minute, each of which says something else");
        minutes(2);
        assertEquals(value.get(), shown("Mean", "Things"), "what it says in the end");
    }

    @Test
    void whatHasCountedNothingHasNothingToForget() throws Exception {
        add("Things", "Sizes", sizes(new AtomicLong(), 0), "Mean");
        pass();
        assertEquals(1, looks.get(), "looks at a new one");
        minutes(3);
        assertEquals(1, looks.get(), "looks in three minutes");
    }

    /** A gauge of the node asks each table. The last move is seen. */
    @Test
    void aDearGaugeIsReadFourTimesAMinute() throws Exception {
        AtomicLong value = new AtomicLong(5);
        Gauge<Long> all = () -> {
            looks.incrementAndGet();
            spin(200_000);
            return value.get();
        };
        add("Table", "AllThings", all, "Value");
        minutes(2); // until its cost is known
        looks.set(0);
        minutes(1);
        assertEquals(4, looks.get(), "readings in a minute");
        value.incrementAndGet();
        pass();
        moves = false;
        for (int i = 0; i < PER_MINUTE / 4; i++) {
            pass();
        }
        assertEquals(value.get(), shown("Value", "Table"), "the last move");
        looks.set(0);
        minutes(1);
        assertEquals(0, looks.get(), "readings while nothing moves");
    }

    /** For its quantiles a timer of the node adds up those of all tables. */
    @Test
    void aDearSnapshotIsTakenFourTimesAMinute() throws Exception {
        AtomicLong value = new AtomicLong(5);
        Histogram sizes = sizes(value, 200_000);
        add("Table", "Sizes", sizes, "Mean", "Count");
        for (int i = 0; i < 2 * PER_MINUTE; i++) { // until its cost is known
            sizes.update(1);
            pass();
        }
        looks.set(0);
        for (int i = 0; i < PER_MINUTE; i++) {
            sizes.update(1);
            value.incrementAndGet();
            pass();
            assertEquals(sizes.getCount(), shown("Count", "Table"), "counts on each pass");
        }
        assertEquals(4, looks.get(), "snapshots in a minute");
        minutes(3);
        assertEquals(value.get(), shown("Mean", "Table"));
        sizes.update(1);
        value.incrementAndGet();
        for (int i = 0; i < PER_MINUTE / 4; i++) {
            pass();
        }
        assertEquals(value.get(), shown("Mean", "Table"), "though it said the same for minutes");
    }

    /** While nothing but Cassandra's own tables moves. What is cheap is read on each pass. */
    @Test
    void ofAQuietNodeWhatIsDearIsReadOnceAMinute() throws Exception {
        AtomicLong value = new AtomicLong(5);
        Gauge<Long> all = () -> {
            looks.incrementAndGet();
            spin(200_000);
            return value.get();
        };
        add("Table", "AllThings", all, "Value");
        Histogram sizes = sizes(value, 200_000);
        add("Table", "Sizes", sizes, "Mean", "Count");
        for (int i = 0; i < 2 * PER_MINUTE; i++) { // until their costs are known
            sizes.update(1);
            pass();
        }
        moving = "system_auth";
        minutes(1);
        looks.set(0);
        for (int i = 0; i < 3 * PER_MINUTE; i++) {
            sizes.update(1);
            value.incrementAndGet();
            pass();
            assertEquals(sizes.getCount(), shown("Count", "Table"), "counts on each pass");
        }
        assertEquals(6, looks.get(), "readings of both in three minutes");

        value.incrementAndGet();
        sizes.update(1);
        moving = "busy";
        pass();
        moving = "system";
        for (int i = 0; i < PER_MINUTE / 4; i++) {
            pass();
        }
        assertEquals(value.get(), shown("Value", "Table"), "one move of a user's table");
        assertEquals(value.get(), shown("Mean", "Table"), "one move of a user's table");
        looks.set(0);
        minutes(1);
        assertEquals(2, looks.get(), "quiet again");
    }

    /** What follows from all SSTables is read once a minute while they come and go, else seldom. */
    @Test
    void whatFollowsFromTheNodesSSTablesIsReadWhenTheyAreOthers() throws Exception {
        Gauge<Long> largest = looks::incrementAndGet;
        Plan plan = add("Table", "MaxSSTableSize", largest, "Value");
        plan.slow = true;
        plan.bySSTables = true;
        beans.replace(plan);
        minutes(1);
        looks.set(0);
        minutes(3);
        assertEquals(0, looks.get(), "of the same SSTables in three minutes");
        minutes(5);
        assertEquals(1, looks.get(), "to be sure");
        sstables++;
        minutes(1);
        assertEquals(2, looks.get(), "of other SSTables");
    }
}
