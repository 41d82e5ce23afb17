package dev.ringwatch.agent.events;

import dev.ringwatch.agent.frame.Event.Severity;
import dev.ringwatch.agent.frame.Event;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.BiConsumer;
import java.util.function.Predicate;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Makes events of lines of Cassandra's log; docs/EVENTS.md says which lines, by version. */
final class LogReader {
    /** Long lists become short ones. */
    private static final int MAX_STATEMENT = 8_192;
    private static final String NAME = "\"?([A-Za-z0-9_]{1,222})\"?";

    /**
     * MonitoringTask, all versions: statement, time, or how often and the longest. A literal may
     * look like it, so no number is larger than Cassandra's may be.
     */
    private static final Pattern SLOW = Pattern.compile(">, (?:time (\\d{1,9}) msec"
            + "|was slow (\\d{1,6}) times: avg/min/max \\d{1,9}/\\d{1,9}/(\\d{1,9}) msec)"
            + " - slow timeout \\d{1,9} msec");
    private static final Pattern TABLE = Pattern.compile(
            "(?i)\\b(?:FROM|INTO|UPDATE)\\s+" + NAME + "\\." + NAME);
    /** BigTableWriter of 4.0 and 4.1: keyspace, table, key, size. */
    private static final Pattern LARGE = Pattern.compile(
            "(?s)Writing large partition ([^/]+)/([^:]+):(.*) \\(([0-9.]+ ?[A-Za-z]+)\\) to "
                    + "sstable "
            + ".*");
    private static final Pattern WRITTEN_TOMBSTONES = Pattern.compile(
            "(?s)Writing (\\d+) tombstones to ([^/]+)/([^:]+):(.*) in sstable .*");
    /** Guardrails of 5.0 and 6.0: which, keyspace, table, key, value. */
    private static final Pattern PARTITION = Pattern.compile(
            "Guardrail partition_(size|tombstones) violated: Partition ([^.]+)\\.([^:]+):");
    private static final String ON = " on sstable ";
    private static final Pattern HAS = Pattern.compile(
            "(?s).* has (?:size )?(\\d+)(?: tombstones)?, this exceeds .*");
    private static final Pattern GUARDRAIL = Pattern.compile("Guardrail (\\w+) violated");
    private static final Pattern READ_TOMBSTONES = Pattern.compile(
            "(?s)Read (\\d+) live rows and (\\d+) tombstone cells for query (.*?)"
            + "(?:; token \\S+ \\(see tombstone_warn_threshold\\))?");
    private static final Pattern TOO_MANY_TOMBSTONES = Pattern.compile(
            "(?s)Scanned over (\\d+) tombstones during query '(.*)");
    private static final Pattern BATCH = Pattern.compile(
            "(?s)Batch for \\[?(.*?)\\]? is of size ([0-9.]+ ?[A-Za-z]+), exceeding specified "
            + "threshold.*");
    private static final Pattern UNLOGGED = Pattern.compile(
            "(?s)Unlogged batch covering (\\d+) partitions detected against tables? "
                    + "\\[?(.*?)\\]?\\."
            + " You .*");
    private static final Pattern GC = Pattern.compile("(.+?) GC in (\\d+)ms\\..*", Pattern.DOTALL);
    private static final Pattern DROPPED = Pattern.compile(
            "(\\w+) messages were dropped in last \\d+ ms: (\\d+) internal and (\\d+) cross "
                    + "node.*");
    private static final Pattern REPAIR_STARTS = Pattern.compile(
            "(?s)Starting repair command #(\\d+) \\(([0-9a-f-]{36})\\), repairing keyspace (\\w+) "
            + "with repair options \\((.*)");
    private static final Pattern REPAIR_ENDS = Pattern.compile(
            "(?s).*Repair command #(\\d+) (finished in .*|finished with error.*)");
    private static final Pattern REPAIR_FAILS = Pattern.compile(
            "(?s)Repair ([0-9a-f-]{36}) (failed|aborted|skipped)(.*)");

    private final SchemaNames schema;
    /** Whether partition keys may be sent. */
    private final boolean keys;
    private final Predicate<EventKind> isFull;
    private final BiConsumer<EventKind, Event> to;
    /** Keyspaces of repairs that run, by their number. */
    private final Map<String, String> repairs = new TreeMap<>();

    /** @param isFull whether events of that kind are only counted, so that none needs a text */
    LogReader(SchemaNames schema, boolean keys, Predicate<EventKind> isFull,
            BiConsumer<EventKind, Event> to) {
        this.schema = schema;
        this.keys = keys;
        this.isFull = isFull;
        this.to = to;
    }

    void read(Seen line) {
        switch (line.kind) {
            case SLOW_QUERY:
                if (slow(line)) {
                    return;
                }
                break;
            case LARGE_PARTITION:
                if (partition(line)) {
                    return;
                }
                break;
            case TOMBSTONES:
                if (tombstones(line)) {
                    return;
                }
                break;
            case BATCH:
                if (batch(line)) {
                    return;
                }
                break;
            case GC_PAUSE:
                if (gc(line)) {
                    return;
                }
                break;
            case DROPPED:
                if (dropped(line)) {
                    return;
                }
                break;
            case REPAIR:
                if (repair(line)) {
                    return;
                }
                break;
            case STOP:
                if (line.text.startsWith("DRAINING")) {
                    tell(line, EventKind.STOP, Severity.INFO, labels(), "it is drained");
                    return;
                }
                break;
            default:
                if (tombstones(line)) { // a read that is given up is logged by whoever asked
                    return;
                }
        }
        if (line.severity != Severity.INFO) {
            other(line);
        }
    }

    private void other(Seen line) {
        EventKind kind = line.severity == Severity.ERROR ? EventKind.ERROR : EventKind.WARNING;
        tell(line, kind, line.severity, labels(), isFull.test(kind) ? "" : text(line));
    }

    private static String text(Seen line) {
        Matcher guardrail = GUARDRAIL.matcher(line.text);
        if (guardrail.find()) { // what stands behind may be anything
            return guardrail.group();
        }
        String said = line.text;
        if (line.kind == EventKind.LARGE_PARTITION) { // a key stands behind
            said = said.split(":", 2)[0];
        }
        String text = Redaction.text(firstLine(said));
        if (line.thrown.isEmpty()) {
            return text;
        }
        return (text + " " + Redaction.text(firstLine(line.thrown))).trim();
    }

    /** What is behind is not worth its redaction: a frame has room for a kilobyte. */
    private static String cut(String text) {
        return text.length() > 2 * Event.MAX_BYTES ? text.substring(0, 2 * Event.MAX_BYTES) : text;
    }

    private static String firstLine(String text) {
        String trimmed = cut(text).trim();
        int end = trimmed.indexOf('\n');
        return end < 0 ? trimmed : trimmed.substring(0, end);
    }

    private boolean slow(Seen line) {
        Matcher found = SLOW.matcher(line.text);
        boolean any = false;
        int from = 0;
        while (found.find()) {
            any = true;
            int begins = line.text.indexOf('<', from) + 1;
            from = found.end();
            if (begins == 0 || begins > found.start()) {
                continue;
            }
            boolean once = found.group(1) != null;
            Map<String, String> labels = labels();
            String statement;
            try {
                statement = statement(line.text.substring(begins, found.start()), labels);
            } catch (RuntimeException | StackOverflowError unreadable) { // fifty share the line
                statement = "";
            }
            labels.put("times", once ? "1" : found.group(2));
            labels.put("slowest_seconds", seconds(found.group(once ? 1 : 3)));
            tell(line, EventKind.SLOW_QUERY, Severity.WARNING, labels, statement);
        }
        return any;
    }

    /** The statement without its literals; labels get what it is about. */
    private String statement(String cql, Map<String, String> labels) {
        cql = cql.length() > MAX_STATEMENT ? cql.substring(0, MAX_STATEMENT) : cql;
        Matcher table = TABLE.matcher(cql);
        String keyspace = "";
        String name = "";
        while (table.find()) { // a literal may look like it, but the schema has no such table
            if (schema.hasTable(table.group(1), table.group(2))) {
                keyspace = table.group(1);
                name = table.group(2);
                labels.put("keyspace", keyspace);
                labels.put("table", name);
                break;
            }
        }
        String operation = cql.trim().split("\\W", 2)[0].toLowerCase(Locale.ROOT);
        if (List.of("select", "insert", "update", "delete", "batch").contains(operation)) {
            labels.put("operation", operation);
        }
        return Redaction.statement(cql, schema.namesOf(keyspace, name));
    }

    private boolean partition(Seen line) {
        Matcher old = LARGE.matcher(line.text);
        if (old.matches()) {
            return large(line, old.group(1), old.group(2), old.group(3), bytes(old.group(4)));
        }
        old = WRITTEN_TOMBSTONES.matcher(line.text);
        if (old.matches()) {
            return buried(line, old.group(2), old.group(3), old.group(4), old.group(1));
        }
        Matcher guardrail = PARTITION.matcher(line.text);
        int on = line.text.lastIndexOf(ON); // a key may have it, too
        if (!guardrail.lookingAt() || on < guardrail.end()) {
            return false;
        }
        String key = line.text.substring(guardrail.end(), on);
        Matcher has = HAS.matcher(line.text).region(on + ON.length(), line.text.length());
        if (!has.matches()) {
            return false;
        }
        return guardrail.group(1).equals("size")
                ? large(line, guardrail.group(2), guardrail.group(3), key, has.group(1))
                : buried(line, guardrail.group(2), guardrail.group(3), key, has.group(1));
    }

    private boolean large(Seen line, String keyspace, String table, String key, String size) {
        Map<String, String> labels = partition(keyspace, table, key);
        labels.put("size_bytes", size);
        return tell(line, EventKind.LARGE_PARTITION, line.severity, labels,
                "larger than the node's threshold");
    }

    private boolean buried(Seen line, String keyspace, String table, String key, String count) {
        Map<String, String> labels = partition(keyspace, table, key);
        labels.put("tombstones", count);
        return tell(line, EventKind.TOMBSTONES, line.severity, labels,
                "one partition of an SSTable has more than the node's threshold");
    }

    private Map<String, String> partition(String keyspace, String table, String key) {
        Map<String, String> labels = labels();
        labels.put("keyspace", keyspace);
        labels.put("table", table);
        String token = keys ? "" : schema.token(keyspace, table, key);
        labels.put("partition", keys ? key : token.isEmpty() ? "" : "token " + token);
        return labels;
    }

    private boolean tombstones(Seen line) {
        Matcher read = READ_TOMBSTONES.matcher(line.text);
        if (read.matches()) {
            Map<String, String> labels = labels();
            String statement = statement(read.group(3), labels);
            labels.put("tombstones", read.group(2));
            return tell(line, EventKind.TOMBSTONES, Severity.WARNING, labels, statement);
        }
        Matcher many = TOO_MANY_TOMBSTONES.matcher(line.text);
        if (!many.lookingAt()) {
            many = TOO_MANY_TOMBSTONES.matcher(line.thrown);
            if (!many.find()) {
                return false;
            }
        }
        Map<String, String> labels = labels();
        String statement = statement(many.group(2).split("' \\(last scanned row", 2)[0], labels);
        labels.put("tombstones", many.group(1));
        return tell(line, EventKind.TOMBSTONES, Severity.ERROR, labels, statement);
    }

    private boolean batch(Seen line) {
        Matcher large = BATCH.matcher(line.text);
        if (large.matches()) {
            Map<String, String> labels = tables(large.group(1));
            labels.put("size_bytes", bytes(large.group(2)));
            return tell(line, EventKind.BATCH, line.severity, labels,
                    "larger than batch_size_" + (line.severity == Severity.ERROR ? "fail" : "warn")
                            + "_threshold");
        }
        Matcher wide = UNLOGGED.matcher(line.text);
        if (!wide.matches()) {
            return false;
        }
        Map<String, String> labels = tables(wide.group(2));
        labels.put("partitions", wide.group(1));
        return tell(line, EventKind.BATCH, line.severity, labels,
                "an unlogged batch of many partitions");
    }

    /** {@code ks.a, ks.b} as labels. */
    private Map<String, String> tables(String list) {
        List<String> keyspaces = new ArrayList<>();
        List<String> tables = new ArrayList<>();
        for (String name : list.split(", ?")) {
            String[] parts = name.split("\\.", 2);
            if (parts.length == 2 && schema.hasTable(parts[0], parts[1])) {
                if (!keyspaces.contains(parts[0])) {
                    keyspaces.add(parts[0]);
                }
                tables.add(parts[1]);
            }
        }
        Map<String, String> labels = labels();
        labels.put("keyspace", String.join(",", keyspaces));
        labels.put("table", String.join(",", tables));
        return labels;
    }

    private boolean gc(Seen line) {
        Matcher pause = GC.matcher(line.text);
        if (!pause.matches()) {
            return false;
        }
        Map<String, String> labels = labels();
        labels.put("gc", pause.group(1));
        labels.put("duration_seconds", seconds(pause.group(2)));
        return tell(line, EventKind.GC_PAUSE, line.severity, labels, "");
    }

    private boolean dropped(Seen line) {
        Matcher messages = DROPPED.matcher(line.text);
        if (!messages.matches()) {
            return false;
        }
        Map<String, String> labels = labels();
        labels.put("verb", messages.group(1));
        labels.put("messages", Long.toString(
                Long.parseLong(messages.group(2)) + Long.parseLong(messages.group(3))));
        return tell(line, EventKind.DROPPED, Severity.WARNING, labels, "");
    }

    private boolean repair(Seen line) {
        Matcher starts = REPAIR_STARTS.matcher(line.text);
        if (starts.matches()) {
            if (repairs.size() < 1_000) {
                repairs.put(starts.group(1), starts.group(3));
            }
            boolean incremental = starts.group(4).contains("incremental: true");
            return repair(line, starts.group(3), starts.group(1), Severity.INFO,
                    "started, " + (incremental ? "incremental" : "full"));
        }
        Matcher ends = REPAIR_ENDS.matcher(line.text);
        if (ends.matches()) {
            String keyspace = repairs.remove(ends.group(1));
            boolean failed = ends.group(2).startsWith("finished with error");
            return repair(line, keyspace, ends.group(1),
                    failed ? Severity.ERROR : Severity.INFO,
                    failed ? "failed" : firstLine(ends.group(2)));
        }
        Matcher fails = REPAIR_FAILS.matcher(line.text);
        if (fails.matches()) {
            boolean skipped = fails.group(2).equals("skipped");
            return repair(line, null, null, skipped ? Severity.INFO : Severity.ERROR,
                    fails.group(2) + Redaction.text(firstLine(fails.group(3)
                            + (line.thrown.isEmpty() ? "" : " " + line.thrown))));
        }
        return false;
    }

    private boolean repair(Seen line, String keyspace, String command, Severity severity,
            String text) {
        Map<String, String> labels = labels();
        labels.put("keyspace", keyspace);
        labels.put("command", command);
        return tell(line, EventKind.REPAIR, severity, labels, text);
    }

    private boolean tell(Seen line, EventKind kind, Severity severity, Map<String, String> labels,
            String text) {
        to.accept(kind, new Event(line.at, kind.word, severity, labels, text));
        return true;
    }

    private static Map<String, String> labels() {
        return new TreeMap<>();
    }

    private static String seconds(String ms) {
        return new java.math.BigDecimal(ms).movePointLeft(3).stripTrailingZeros().toPlainString();
    }

    /** {@code 1.500MiB} in bytes, as exactly as it says. */
    static String bytes(String pretty) {
        int unit = 0;
        while (unit < pretty.length() && !Character.isLetter(pretty.charAt(unit))) {
            unit++;
        }
        double value = Double.parseDouble(pretty.substring(0, unit).trim());
        int power = Math.max(0, "BKMGTPE".indexOf(Character.toUpperCase(pretty.charAt(unit))));
        return Long.toString((long) (value * Math.pow(1024, power)));
    }
}
