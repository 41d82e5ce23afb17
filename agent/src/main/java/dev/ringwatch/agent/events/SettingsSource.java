package dev.ringwatch.agent.events;

import java.io.IOException;
import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.HashMap;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.BiFunction;
import java.util.regex.Pattern;
import org.apache.cassandra.config.Config;
import org.apache.cassandra.config.DatabaseDescriptor;
import org.apache.cassandra.config.ParameterizedClass;

/**
 * What the node was started with, once: what has changed since its last start, if the agent has a
 * directory to remember that in, else what differs from Cassandra's defaults.
 *
 * <p>Only numbers, words, names of classes and durations are read, and nothing whose name sounds
 * like a secret; so what is remembered holds none either.
 */
public final class SettingsSource implements EventSource {
    private static final String FILE = "ringwatch-settings.txt";
    private static final long MAX_FILE = 1 << 20;
    private static final int MAX_TEXT = 900;
    private static final int MAX_VALUE = 120;
    private static final Pattern SECRET = Pattern.compile(
            "(?i).*(passw|secret|credential|keystore|truststore|private|token|key_?file|url).*"
            + "|.*_director(y|ies)"); // those are no secret, but long

    private final Inbox inbox;
    private final Path directory;
    private final Map<String, String> also;
    private final BiFunction<Runnable, String, Thread> thread;
    private boolean done;

    /**
     * @param directory where to remember, or null
     * @param also settings that are not Cassandra's
     */
    public SettingsSource(Inbox inbox, Path directory, Map<String, String> also,
            BiFunction<Runnable, String, Thread> thread) {
        this.inbox = inbox;
        this.directory = directory;
        this.also = also;
        this.thread = thread;
    }

    /** On a thread of its own: a disk may hang. */
    @Override
    public void open() {
        if (!done) {
            done = true;
            thread.apply(this::tell, "ringwatch-agent-settings").start();
        }
    }

    @Override
    public void close() {}

    private void tell() {
        Map<String, String> now = read(DatabaseDescriptor.getRawConfig());
        now.putAll(also);
        Map<String, String> before = directory == null ? null : remembered();
        String text;
        int changed = -1;
        if (before != null) {
            changed = count(before, now);
            text = changed == 0 ? "as at the last start"
                    : "since the last start: " + differences(before, now);
        } else {
            Map<String, String> defaults = read(new Config());
            defaults.putAll(also);
            text = "not Cassandra's defaults: " + differences(defaults, now);
        }
        inbox.add(Seen.event(EventKind.SETTINGS, EventKind.SETTINGS.usual[0],
                changed < 0 ? Map.of() : Map.of("changed", Integer.toString(changed)), text));
        if (directory != null && (before == null || changed > 0)) {
            remember(now);
        }
    }

    static Map<String, String> read(Object config) {
        Map<String, String> all = new TreeMap<>();
        for (Field field : config.getClass().getFields()) {
            if (Modifier.isStatic(field.getModifiers())
                    || SECRET.matcher(field.getName()).matches()) {
                continue;
            }
            try {
                String value = value(field.get(config));
                if (value != null) {
                    all.put(field.getName(), value);
                }
            } catch (IllegalAccessException | RuntimeException unreadable) {
                continue;
            }
        }
        return all;
    }

    /** Null for what may hold anything. */
    private static String value(Object value) {
        String text;
        if (value == null) {
            text = "";
        } else if (value instanceof Number || value instanceof Boolean || value instanceof Enum) {
            text = value.toString();
        } else if (value instanceof String) {
            text = ((String) value).indexOf('@') >= 0 ? "?" : (String) value;
        } else if (value instanceof String[]) {
            text = String.join(",", (String[]) value);
        } else if (value instanceof ParameterizedClass) {
            text = ((ParameterizedClass) value).class_name;
        } else if (value.getClass().getName().matches(
                "org\\.apache\\.cassandra\\.config\\.Data(Storage|Rate)Spec.*"
                + "|org\\.apache\\.cassandra\\.config\\.DurationSpec.*")) {
            text = value.toString();
        } else {
            return null;
        }
        text = text == null ? "" : text.replaceAll("\\p{Cntrl}", " ");
        return text.length() > MAX_VALUE ? text.substring(0, MAX_VALUE) + "…" : text;
    }

    private static int count(Map<String, String> before, Map<String, String> now) {
        int count = 0;
        Map<String, String> all = new HashMap<>(before);
        all.putAll(now);
        for (String name : all.keySet()) {
            count += now.getOrDefault(name, "").equals(before.getOrDefault(name, "")) ? 0 : 1;
        }
        return count;
    }

    static String differences(Map<String, String> before, Map<String, String> now) {
        StringBuilder text = new StringBuilder();
        Map<String, String> all = new TreeMap<>(before);
        all.putAll(now);
        int left = 0;
        for (String name : all.keySet()) {
            String was = before.getOrDefault(name, "");
            String is = now.getOrDefault(name, "");
            if (was.equals(is)) {
                continue;
            }
            if (text.length() > MAX_TEXT) {
                left++;
                continue;
            }
            text.append(text.length() == 0 ? "" : ", ").append(name).append(' ')
                    .append(was.isEmpty() ? "" : was + " → ").append(is.isEmpty() ? "unset" : is);
        }
        return text.length() == 0 ? "none" : text + (left == 0 ? "" : " and " + left + " more");
    }

    /** Null if there is nothing to be read. */
    private Map<String, String> remembered() {
        try {
            Path file = directory.resolve(FILE);
            if (!Files.isRegularFile(file, LinkOption.NOFOLLOW_LINKS)
                    || Files.size(file) > MAX_FILE) {
                return null;
            }
            Map<String, String> all = new TreeMap<>();
            for (String line : Files.readAllLines(file)) {
                int equals = line.indexOf('=');
                if (equals > 0) {
                    all.put(line.substring(0, equals), line.substring(equals + 1));
                }
            }
            return all;
        } catch (IOException | RuntimeException unreadable) {
            return null;
        }
    }

    /** If it cannot be written, the next start tells what differs from the defaults. */
    private void remember(Map<String, String> now) {
        StringBuilder text = new StringBuilder();
        for (Map.Entry<String, String> entry : now.entrySet()) {
            text.append(entry.getKey()).append('=').append(entry.getValue()).append('\n');
        }
        try {
            Path file = Files.createTempFile(directory, "ringwatch-settings", ".tmp");
            try {
                Files.write(file, text.toString().getBytes(StandardCharsets.UTF_8));
                Files.move(file, directory.resolve(FILE), StandardCopyOption.ATOMIC_MOVE,
                        StandardCopyOption.REPLACE_EXISTING);
            } finally {
                Files.deleteIfExists(file);
            }
        } catch (IOException | RuntimeException full) {
            return;
        }
    }
}
