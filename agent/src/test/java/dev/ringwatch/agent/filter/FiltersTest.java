package dev.ringwatch.agent.filter;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

class FiltersTest {
    @Test
    void theLastMatchWins() {
        Filters filters = parse(exclude("keyspace", "system*"),
                include("keyspace", "system", "table", "local"),
                exclude("metric", "cassandra_table_*_snapshots*"), exclude("type", "network"),
                include("metric", "os_network_received_*"));
        assertTrue(
                filters.accepts("table", "shop", "carts", "cassandra_table_read_latency_seconds"));
        assertFalse(filters.accepts("table", "system_auth", "roles",
                "cassandra_table_read_latency_seconds"));
        assertFalse(filters.accepts("keyspace", "system_auth", null, "x"));
        assertFalse(filters.accepts("table", "system", "peers", "x"));
        assertTrue(filters.accepts("table", "system", "local", "x"));
        assertFalse(filters.accepts("table", "system", "local",
                "cassandra_table_all_snapshots_size_bytes"));
        assertTrue(filters.accepts("cache", null, null, "x"),
                "an entity without a keyspace is not matched by one");
        assertFalse(filters.accepts("network", null, null, "os_network_transmitted_bytes_total"));
        assertTrue(filters.accepts("network", null, null, "os_network_received_bytes_total"));
        assertTrue(filters.acceptsCell("table", new String[] {"keyspace", "table"},
                new String[] {"system", "local"}, "x"));
        assertFalse(filters.acceptsCell("sai_index", new String[] {"keyspace", "table"},
                new String[] {"system", "peers"}, "x"));
    }

    @Test
    void theAgentAndTheNodeAreAlwaysThere() {
        Filters nothing = parse(exclude("metric", "*"));
        assertFalse(nothing.accepts("table", "a", "b", "c"));
        assertTrue(nothing.accepts("agent", null, null, "ringwatch_agent_passes_total"));
        assertTrue(nothing.accepts("agent_drop", null, null, "x")
                && nothing.accepts("node", null, null, "x"));
        assertTrue(parse(exclude("metric", "*"), include("keyspace", "a"))
                .accepts("table", "a", "b", "c"));
    }

    @Test
    void everyMistakeIsSaid() {
        List<String> errors = new ArrayList<>();
        Filters.parse(List.of("x", Map.of("omit", Map.of("type", "a")), Map.of("exclude", "system"),
                Map.of("exclude", Map.of()), Map.of("include", Map.of("tabel", "a"))), errors);
        assertEquals(5, errors.size(), errors.toString());
        assertTrue(errors.get(0).startsWith("filters: rule 1 must begin with include: or exclude:"),
                errors.toString());
        assertTrue(errors.get(4).contains("rule 5: unknown \"tabel\""), errors.toString());
        errors.clear();
        Filters.parse("all", errors);
        assertEquals(1, errors.size());
    }

    @Test
    void globsAreWhatTheirRegularExpressionsAre() {
        long seed = Long.getLong("seed", System.nanoTime());
        System.out.println("FiltersTest: -Dseed=" + seed);
        Random random = new Random(seed);
        int matched = 0;
        for (int i = 0; i < 50_000; i++) {
            String pattern = any(random, "ab*?.");
            String text = any(random, "ab.");
            boolean expected = Pattern.matches(pattern.replace(".", "\\.").replace("*",
                    ".*").replace("?", "."), text);
            assertEquals(expected, Glob.matches(pattern, text), pattern + " of " + text);
            matched += expected ? 1 : 0;
        }
        assertTrue(matched > 1000, matched + " matched");
        assertFalse(Glob.matches("*a".repeat(200) + "b", "a".repeat(5_000)),
                "not in exponential time");
    }

    private static String any(Random random, String letters) {
        StringBuilder out = new StringBuilder();
        for (int i = random.nextInt(8); i > 0; i--) {
            out.append(letters.charAt(random.nextInt(letters.length())));
        }
        return out.toString();
    }

    private static Object exclude(String... conditions) {
        return Map.of("exclude", map(conditions));
    }

    private static Object include(String... conditions) {
        return Map.of("include", map(conditions));
    }

    private static Map<String, Object> map(String... conditions) {
        return conditions.length == 2 ? Map.of(conditions[0], conditions[1])
                : Map.of(conditions[0], conditions[1], conditions[2], conditions[3]);
    }

    private static Filters parse(Object... rules) {
        List<String> errors = new ArrayList<>();
        Filters filters = Filters.parse(List.of(rules), errors);
        assertEquals(List.of(), errors);
        return filters;
    }
}
