package dev.ringwatch.agent;

import java.io.IOException;
import java.net.URL;
import java.net.URLConnection;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The JMX exporter 1.0.1 in the Cassandra under test, and what it answers beside what we do. */
final class RealExporter {
    private static final Pattern LABEL =
            Pattern.compile("([a-zA-Z0-9_]+)=\"((?:[^\"\\\\]|\\\\.)*)\",?");

    final int port = CassandraProcess.freePort();
    private final Path rules;
    private long modified = System.currentTimeMillis();

    RealExporter(Path directory) throws IOException {
        rules = directory.resolve("real.yaml");
        Files.writeString(rules, "rules: [{pattern: nothing}]");
    }

    /** For Cassandra's command line. */
    String option() {
        String jar = java.util.Arrays.stream(System.getProperty("surefire.test.class.path",
                        System.getProperty("java.class.path")).split(java.io.File.pathSeparator))
                .filter(entry -> entry.contains("jmx_prometheus_javaagent"))
                .findFirst().orElseThrow();
        return "-javaagent:" + jar + "=127.0.0.1:" + port + ":" + rules;
    }

    /** It reads its file anew when that is newer than what it read. */
    void use(Path file) throws IOException {
        Files.write(rules, Files.readAllBytes(file));
        modified += 10_000;
        Files.setLastModifiedTime(rules, FileTime.fromMillis(modified));
    }

    Map<String, Double> scrape() throws IOException {
        return scrape("http://127.0.0.1:" + port + "/metrics");
    }

    /** Name and sorted labels → value. */
    static Map<String, Double> scrape(String url) throws IOException {
        URLConnection connection = new URL(url).openConnection();
        connection.setConnectTimeout(240_000);
        connection.setReadTimeout(240_000);
        Map<String, Double> samples = new TreeMap<>();
        for (String line : new String(connection.getInputStream().readAllBytes(),
                StandardCharsets.UTF_8).split("\n")) {
            if (line.isEmpty() || line.startsWith("#")) {
                continue;
            }
            int end = line.lastIndexOf(' ');
            String series = line.substring(0, end);
            int brace = series.indexOf('{');
            Map<String, String> labels = new TreeMap<>();
            if (brace >= 0) {
                Matcher label = LABEL.matcher(series.substring(brace + 1, series.length() - 1));
                while (label.find()) {
                    labels.put(label.group(1), label.group(2));
                }
            }
            String value = line.substring(end + 1);
            samples.put((brace < 0 ? series : series.substring(0, brace)) + labels,
                    Double.valueOf(value.replace("Inf", "Infinity")));
        }
        return samples;
    }

    /** Lines of {@code # TYPE}. */
    static Set<String> types(String url) throws IOException {
        Set<String> types = new TreeSet<>();
        for (String line : new String(new URL(url).openStream().readAllBytes(),
                StandardCharsets.UTF_8).split("\n")) {
            if (line.startsWith("# TYPE ")) {
                types.add(line.substring(7));
            }
        }
        return types;
    }

    /**
     * What differs, by series: what only one of them has, and what has stood still at theirs and is
     * another at ours.
     */
    static Map<String, String> differences(Map<String, Double> before, Map<String, Double> ours,
            Map<String, Double> after) {
        Map<String, String> all = new TreeMap<>();
        for (Map.Entry<String, Double> theirs : after.entrySet()) {
            Double our = ours.get(theirs.getKey());
            boolean still = theirs.getValue().equals(before.get(theirs.getKey()));
            if (our == null) {
                all.put(theirs.getKey(), "only the real one has it");
            } else if (still && !theirs.getValue().equals(our)) {
                all.put(theirs.getKey(), theirs.getValue() + ", ours " + our);
            }
        }
        for (String series : ours.keySet()) {
            if (!after.containsKey(series)) {
                all.put(series, "only ours");
            }
        }
        return all;
    }
}
