package dev.ringwatch.agent.pull;

import dev.ringwatch.agent.frame.Metric;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;

/**
 * What is said of each family: {@code metrics.txt} of the repository's directory dictionary, which
 * the jar has beside this class and which describes its own format. The API says the same.
 */
final class Help {
    private static final String OF_OTHER =
            "Not described: Cassandra counts it, and Ringwatch does not know it.";
    private static final String OF_KAFKA =
            "Kafka's own: its documentation describes it under Monitoring, and Ringwatch's page "
            + "KAFKA.md says how it is named here.";
    private static final String NOT_OURS =
            "Not described: neither Ringwatch nor an agent of this version gives it.";

    /** Read when the first page with our own names is asked for: 200 kB of heap, once. */
    private static final class Held {
        static final Map<String, String> HELP = new HashMap<>();
        /** By the prefix of a type's names: the prefix of the type it is like. */
        static final Map<String, String> LIKE = new HashMap<>();
        /** By the same, what is added; then its type and the other's in Cassandra's beans. */
        static final Map<String, String[]> ADDED = new HashMap<>();

        static {
            try (BufferedReader in = new BufferedReader(new InputStreamReader(
                    Help.class.getResourceAsStream("metrics.txt"), StandardCharsets.UTF_8))) {
                new Reading().all(in);
            } catch (IOException | RuntimeException damaged) { // without texts the page is as true
                HELP.clear();
            }
        }
    }

    private Help() {}

    static String of(Metric metric) {
        return of(metric.name);
    }

    static String of(String name) {
        String help = Held.HELP.get(name);
        if (help != null) {
            return help;
        }
        for (Map.Entry<String, String> like : Held.LIKE.entrySet()) {
            help = !name.startsWith(like.getKey()) ? null
                    : Held.HELP.get(like.getValue() + name.substring(like.getKey().length()));
            if (help != null) {
                String[] added = Held.ADDED.get(like.getKey());
                String cassandra = " Cassandra's type=";
                return help.replace(cassandra + added[2] + ',',
                        ' ' + added[0] + cassandra + added[1] + ',');
            }
        }
        return name.startsWith("cassandra_") ? OF_OTHER
                : name.startsWith("kafka_") ? OF_KAFKA : NOT_OURS;
    }

    /** For the names of other exporters. */
    static String otherName(String exporter, Metric metric, boolean summary) {
        return "What " + exporter + " calls " + metric.name
                + (summary ? "; quantiles are of the last minutes." : ".");
    }

    private static final class Reading {
        private final Map<String, String> cassandra = new HashMap<>();
        private final StringBuilder text = new StringBuilder();
        private String type;
        private String like;
        private String name;
        private String end;

        void all(BufferedReader in) throws IOException {
            for (String line = in.readLine(); line != null; line = in.readLine()) {
                if (line.isEmpty() || line.charAt(0) == '#') {
                    continue;
                }
                if (line.charAt(0) == ' ') {
                    text.append(text.length() > 0 ? " " : "").append(line.trim());
                    continue;
                }
                endEntry();
                String[] fields = line.split(" ", 5);
                if (fields[0].equals("type")) {
                    type = fields[1];
                    cassandra.put(type, fields[2]);
                } else if (fields[0].equals("like")) {
                    like = fields[1];
                } else {
                    name = fields[0];
                    end = fields[4].equals("-") ? ""
                            : origin(cassandra.get(type), fields[4], fields[3]);
                }
            }
            endEntry();
        }

        private void endEntry() {
            if (name != null) {
                Held.HELP.put(name, text + end);
            } else if (like != null) {
                String prefix = "cassandra_" + type + '_';
                Held.LIKE.put(prefix, "cassandra_" + like + '_');
                Held.ADDED.put(prefix, new String[] {text.toString(), cassandra.get(type),
                    cassandra.get(like)});
            }
            name = null;
            like = null;
            text.setLength(0);
        }

        private static String origin(String type, String name, String versions) {
            int dash = versions.indexOf('-');
            return " Cassandra's " + (name.indexOf('=') >= 0 ? name
                    : "type=" + type + ",name=" + name)
                    + (dash >= 0 ? " (" + versions.substring(0, dash) + " to "
                    + versions.substring(dash + 1) + ")"
                    : versions.equals("4.0") ? "" : " (" + versions + " and later)") + ".";
        }
    }
}
