package dev.ringwatch.agent.cql;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertSame;

import com.codahale.metrics.Counter;
import com.codahale.metrics.Meter;
import com.codahale.metrics.MetricRegistry;
import java.util.Random;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;

class NamesTest {
    @Test
    void isWhatIsRegisteredAfterAnyHistory() {
        long seed = System.nanoTime();
        System.out.println("NamesTest: seed " + seed);
        Random random = new Random(seed);
        for (int history = 0; history < 50; history++) {
            MetricRegistry registry = new MetricRegistry();
            TreeMap<String, Kind> truth = new TreeMap<>();
            change(registry, truth, random, random.nextInt(100));
            Names names = new Names(registry);
            for (int read = 0; read < 20; read++) {
                change(registry, truth, random, random.nextInt(3) == 0 ? 0 : random.nextInt(100));
                check(truth, names.sorted());
            }
        }
    }

    @Test
    void moreChangesThanAreNoted() {
        MetricRegistry registry = new MetricRegistry();
        TreeMap<String, Kind> truth = new TreeMap<>();
        Names names = new Names(registry);
        check(truth, names.sorted());
        for (int i = 0; i < 50_000; i++) {
            registry.register("n" + i, new Counter());
            truth.put("n" + i, Kind.COUNTER);
        }
        check(truth, names.sorted());
        for (int i = 0; i < 49_000; i++) {
            registry.remove("n" + i);
            truth.remove("n" + i);
        }
        check(truth, names.sorted());
    }

    @Test
    void readersKeepTheirsAndNothingIsMadeWhileNothingChanges() {
        MetricRegistry registry = new MetricRegistry();
        registry.register("b", new Counter());
        Names names = new Names(registry);
        Names.Sorted first = names.sorted();
        assertSame(first, names.sorted());
        registry.register("a", new Counter());
        registry.remove("b");
        assertNotSame(first, names.sorted());
        assertArrayEquals(new String[] {"b"}, first.names);
        assertArrayEquals(new String[] {"a"}, names.sorted().names);
    }

    private static void change(MetricRegistry registry, TreeMap<String, Kind> truth,
            Random random, int times) {
        for (int i = 0; i < times; i++) {
            String name = "m." + random.nextInt(60);
            registry.remove(name);
            truth.remove(name);
            int what = random.nextInt(3);
            if (what == 0) {
                registry.register(name, new Counter());
                truth.put(name, Kind.COUNTER);
            } else if (what == 1) {
                registry.register(name, new Meter());
                truth.put(name, Kind.METER);
            }
        }
    }

    private static void check(TreeMap<String, Kind> truth, Names.Sorted sorted) {
        assertArrayEquals(truth.keySet().toArray(), sorted.names);
        for (int i = 0; i < sorted.names.length; i++) {
            assertEquals(truth.get(sorted.names[i]).ordinal(), sorted.kinds[i]);
        }
    }
}
