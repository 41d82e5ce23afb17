package dev.ringwatch.agent;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** The entries of the repository's dictionary of metrics, for tests that hold the agent to it. */
public final class Dictionary {
    /** One metric. */
    public static final class Entry {
        public String type;
        /** Of the type. */
        public String[] labels;
        public String name;
        public String kind;
        public String unit;
        /** Empty for what is not Cassandra's. */
        public String versions;
        /** Cassandra's name without the type; empty for what is not Cassandra's. */
        public String cassandra;

        public boolean isIn(String version) {
            String[] range = versions.split("-");
            return versions.isEmpty() || version.compareTo(range[0]) >= 0
                    && (range.length == 1 || version.compareTo(range[1]) <= 0);
        }
    }

    private Dictionary() {}

    /** All entries by name, in the file's order. */
    public static Map<String, Entry> read() throws IOException {
        Map<String, Entry> entries = new LinkedHashMap<>();
        String type = "";
        String[] labels = {};
        for (String line : Files.readAllLines(Path.of("../dictionary/metrics.txt"))) {
            if (line.isEmpty() || line.charAt(0) == '#' || line.charAt(0) == ' '
                    || line.startsWith("like ")) {
                continue;
            }
            String[] fields = line.split(" ", 5);
            if (fields[0].equals("type")) {
                List<String> all = List.of(line.split(" "));
                type = all.get(1);
                labels = all.subList(3, all.size()).toArray(new String[0]);
                continue;
            }
            Entry entry = new Entry();
            entry.type = type;
            entry.labels = labels;
            entry.name = fields[0];
            entry.kind = fields[1];
            entry.unit = fields[2].replace("-", "");
            entry.versions = fields[3].equals("-") ? "" : fields[3];
            entry.cassandra = fields[4].equals("-") ? "" : fields[4];
            if (entries.put(entry.name, entry) != null) {
                throw new IllegalStateException(entry.name + " is there twice");
            }
        }
        return entries;
    }

    /** Those that agents send; the others are the rules' and the API's. */
    public static List<Entry> ofAgents() throws IOException {
        List<Entry> sent = new ArrayList<>();
        for (Entry entry : read().values()) {
            if (!entry.type.equals("ringwatch") && !entry.type.equals("recorded")) {
                sent.add(entry);
            }
        }
        return sent;
    }
}
