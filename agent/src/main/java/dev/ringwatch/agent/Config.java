package dev.ringwatch.agent;

import dev.ringwatch.agent.delivery.ApiKey;
import dev.ringwatch.agent.filter.Filters;
import dev.ringwatch.agent.pull.Profile;
import java.io.IOException;
import java.io.InputStream;
import java.net.MalformedURLException;
import java.net.URL;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.nio.file.AccessDeniedException;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.UnaryOperator;
import java.util.regex.Pattern;

/** What {@code agent.yaml} says. All that is wrong with it is reported at once. */
final class Config {
    /** Longer than a window would leave windows without frames. */
    static final long MAX_INTERVAL_MS = 300_000;
    static final long MIN_INTERVAL_MS = 1_000;
    private static final String KEYS =
            "ingest, interval, queue_bytes, spool, filters, max_entities, cluster, listen, "
            + "profiles, send_profiles, cql, events, partition_keys, paused";
    /** What a wrong file may take of the host's memory. */
    private static final int MAX_BYTES = 1 << 20;

    /** Where frames go; tried in turn when one fails. Empty: nothing is sent. */
    final List<URL> urls = new ArrayList<>();
    /** Of the account; never printed. */
    String key = "";
    /** Read anew when it changes; it may come when Cassandra runs. */
    Path keyFile;
    /**
     * PEM files for https, each null or read anew when it changes: whom to trust, and who we are.
     */
    Path caFile;
    Path certFile;
    Path certKeyFile;
    /** Where frames wait when memory should not hold them, or null. */
    Path spool;
    /** Of the spool on disk: at 30 MB an hour from 1,000 busy tables a night's outage. */
    long spoolBytes = 256L << 20;
    /** What is sent of what there is. */
    Filters filters = Filters.NONE;
    /** Tables and the like; a node with 5,000 tables has about 5,500. */
    int maxEntities = 20_000;
    long intervalMs = 5_000;
    /** Frames that could not be sent yet; an hour of an idle node is about one MiB. */
    long queueBytes = 16L << 20;
    /** Instead of Cassandra's own cluster name, which is often the default one. */
    String cluster;
    /** Where {@code /metrics} is served, or null. */
    String listenHost;
    int listenPort;
    /** Whose names are served there; where two have one name, the first has it. */
    List<Profile> profiles = List.of(Profile.RINGWATCH);
    /** As it is written: the profiles may be those above, which may stand behind it. */
    private Object sendProfiles;
    private final Map<Profile, Map<String, String>> sends = new LinkedHashMap<>();
    /** Whether Cassandra's metrics and the agent's state can be read as virtual tables. */
    boolean cql = true;
    /** Whether what happens on the node is sent, too. */
    boolean events = true;
    /** Whether an event may name the key of a partition, which users have chosen. */
    boolean partitionKeys = false;
    /**
     * Nothing is read, and sent only what still waits; the one setting that counts at once when the
     * file changes.
     */
    boolean paused;

    /** The message holds every error. */
    static final class Invalid extends Exception {
        private static final long serialVersionUID = 1;

        Invalid(String message) {
            super(message);
        }
    }

    private static final int MAX_LABELS = 8;
    private static final String LABEL =
            "(?!(cluster|datacenter|rack|node|le|quantile)$|__|recorded_)[a-zA-Z_][a-zA-Z0-9_]*";

    private Config() {}

    static Config load(String file) throws Invalid {
        String text;
        try (InputStream in = Files.newInputStream(regular(Path.of(file)))) {
            text = StandardCharsets.UTF_8.newDecoder()
                    .decode(ByteBuffer.wrap(in.readNBytes(MAX_BYTES + 1))).toString();
        } catch (NoSuchFileException e) {
            throw new Invalid(file + ": cannot be read: there is no such file");
        } catch (AccessDeniedException e) {
            throw new Invalid(file
                    + ": cannot be read: the user of this process has no permission");
        } catch (CharacterCodingException e) {
            throw new Invalid(file + ": cannot be read: it is not UTF-8 text");
        } catch (IOException | RuntimeException e) {
            throw new Invalid(file + ": cannot be read: " + e.getMessage());
        }
        if (text.length() > MAX_BYTES) {
            throw new Invalid(file + ": cannot be read: it is larger than " + MAX_BYTES + " bytes");
        }
        try {
            return parse(Arrays.asList(text.split("\\R", -1)), System::getenv);
        } catch (Invalid e) {
            throw new Invalid(file + ": " + e.getMessage());
        }
    }

    /** A pipe or a device may block for ever or never end. */
    private static Path regular(Path file) throws IOException {
        if (Files.exists(file) && !Files.isRegularFile(file)) {
            throw new IOException("it is not a regular file");
        }
        return file;
    }

    static Config parse(List<String> lines, UnaryOperator<String> environment) throws Invalid {
        List<String> errors = new ArrayList<>();
        Map<String, String> substituted = new TreeMap<>();
        Map<String, Object> map = YamlSubset.parse(lines, errors);
        Config config = new Config();
        for (Map.Entry<String, Object> entry : map.entrySet()) {
            Object value = substitute(entry.getValue(), environment, errors, substituted);
            if (value != null) { // an empty section keeps its defaults
                config.set(entry.getKey(), value, errors);
            }
        }
        config.sendProfiles(errors);
        if (config.urls.isEmpty() && config.listenHost == null && errors.isEmpty()) {
            errors.add("set ingest.urls, listen, or both: the agent has nothing to do");
        }
        if (!config.urls.isEmpty() && config.key.isEmpty() && config.keyFile == null
                && errors.isEmpty()) {
            errors.add("set ingest.key or ingest.key_file: ringwatch key create makes a key");
        }
        if ((config.certFile == null) != (config.certKeyFile == null)) {
            errors.add("ingest.cert_file and ingest.cert_key_file go together: set both or none");
        }
        if (!errors.isEmpty()) {
            throw new Invalid(masked(String.join("; ", errors), substituted));
        }
        return config;
    }

    /**
     * Errors name what they complain of, and that may be a key in a wrong place: it is named as the
     * file does.
     */
    private static String masked(String message, Map<String, String> substituted) {
        for (Map.Entry<String, String> entry : substituted.entrySet()) {
            if (entry.getValue().length() > 3) {
                message = message.replace(entry.getValue(), "${" + entry.getKey() + "}");
            }
        }
        return message;
    }

    private void set(String name, Object value, List<String> errors) {
        switch (name) {
            case "ingest":
                if (!(value instanceof Map)) {
                    errors.add("ingest must be a map with urls and a key");
                    return;
                }
                for (Map.Entry<?, ?> entry : ((Map<?, ?>) value).entrySet()) {
                    ingest((String) entry.getKey(), entry.getValue(), errors);
                }
                return;
            case "interval":
                intervalMs = duration(name, value, errors);
                if (intervalMs < MIN_INTERVAL_MS || intervalMs > MAX_INTERVAL_MS) {
                    errors.add("interval must be 1s to 5m");
                }
                return;
            case "queue_bytes":
                queueBytes = bytes(name, value, 64 << 10, 1L << 30, "64KiB to 1GiB", errors);
                return;
            case "spool":
                if (!(value instanceof Map)) {
                    errors.add("spool must be a map with directory, and bytes if wanted");
                    return;
                }
                for (Map.Entry<?, ?> entry : ((Map<?, ?>) value).entrySet()) {
                    spool((String) entry.getKey(), entry.getValue(), errors);
                }
                return;
            case "filters":
                filters = Filters.parse(value, errors);
                return;
            case "max_entities":
                maxEntities = count(name, value, 100, 100_000, errors);
                return;
            case "cluster":
                cluster = text(name, value, errors);
                if (cluster.length() > 63 || cluster.chars().anyMatch(Character::isISOControl)) {
                    errors.add(
                            "cluster must be 1 to 63 characters, none of them control characters");
                }
                return;
            case "listen":
                listen(text(name, value, errors), errors);
                return;
            case "profiles":
                profiles(value, errors);
                return;
            case "send_profiles":
                sendProfiles = value;
                return;
            case "cql":
                cql = flag(name, value, errors);
                return;
            case "events":
                events = flag(name, value, errors);
                return;
            case "partition_keys":
                partitionKeys = flag(name, value, errors);
                return;
            case "paused":
                paused = flag(name, value, errors);
                return;
            default:
                errors.add("unknown key \"" + name + "\": there are " + KEYS);
        }
    }

    private void ingest(String name, Object value, List<String> errors) {
        switch (name) {
            case "urls":
                for (Object url : value instanceof List
                        ? (List<?>) value : Collections.singletonList(value)) {
                    url(String.valueOf(url), errors);
                }
                return;
            case "key":
                key = text("ingest.key", value, errors);
                if (!key.isEmpty() && !ApiKey.isKey(key)) {
                    errors.add("ingest.key must be ASCII without blanks");
                }
                return;
            case "key_file":
                keyFile = path("ingest.key_file", value, errors);
                return;
            case "ca_file":
                caFile = path("ingest.ca_file", value, errors);
                return;
            case "cert_file":
                certFile = path("ingest.cert_file", value, errors);
                return;
            case "cert_key_file":
                certKeyFile = path("ingest.cert_key_file", value, errors);
                return;
            default:
                errors.add("unknown key \"ingest." + name + "\": there are "
                        + "urls, key, key_file, ca_file, cert_file, cert_key_file");
        }
    }

    private void spool(String name, Object value, List<String> errors) {
        switch (name) {
            case "directory":
                spool = path("spool.directory", value, errors);
                if (spool != null && !spool.isAbsolute()) {
                    errors.add("spool.directory must begin with /");
                }
                return;
            case "bytes":
                spoolBytes = bytes("spool.bytes", value, 16 << 20, 1L << 40,
                        "16MiB to 1024GiB", errors);
                return;
            default:
                errors.add("unknown key \"spool." + name + "\": there are directory, bytes");
        }
    }

    private static Path path(String name, Object value, List<String> errors) {
        String text = text(name, value, errors);
        try {
            return text.isEmpty() ? null : Path.of(text);
        } catch (InvalidPathException e) {
            errors.add(name + " is not a path");
            return null;
        }
    }

    private static boolean flag(String name, Object value, List<String> errors) {
        if (!"true".equals(value) && !"false".equals(value)) {
            errors.add(name + " must be true or false");
        }
        return "true".equals(value);
    }

    private static int count(String name, Object value, int from, int to, List<String> errors) {
        String text = text(name, value, errors);
        if (text.matches("[0-9]{1,9}") && Integer.parseInt(text) >= from
                && Integer.parseInt(text) <= to) {
            return Integer.parseInt(text);
        }
        errors.add(name + " must be " + from + " to " + to);
        return from;
    }

    private void url(String text, List<String> errors) {
        try {
            URL url = new URL(text + (text.endsWith("/") ? "v1/frames" : "/v1/frames"));
            if (!url.getProtocol().startsWith("http") || url.getHost().isEmpty()) {
                errors.add("ingest.urls: \"" + text + "\" is not an http or https URL");
            }
            urls.add(url);
        } catch (MalformedURLException e) {
            errors.add("ingest.urls: \"" + text + "\" is not a URL");
        }
    }

    private void listen(String text, List<String> errors) {
        int colon = text.lastIndexOf(':');
        try {
            listenPort = Integer.parseInt(text.substring(colon + 1));
            listenHost = text.substring(0, Math.max(colon, 0)).replace("[", "").replace("]", "");
            if (colon <= 0 || listenPort < 0 || listenPort > 65535) {
                errors.add("listen must be host:port");
            }
        } catch (NumberFormatException e) {
            errors.add("listen must be host:port");
        }
    }

    private void profiles(Object value, List<String> errors) {
        List<Profile> named = new ArrayList<>();
        for (Object item : value instanceof List
                ? (List<?>) value : Collections.singletonList(value)) {
            Profile profile = profile(item, named, errors);
            if (profile == null || named.contains(profile)) {
                errors.add("profiles must be a list of these, each once: " + Profile.names()
                        + ", {jmx_exporter: /path/to/its.yaml}, "
                        + "{criteo_exporter: /path/to/its.yaml}");
                return;
            }
            named.add(profile);
        }
        if (named.isEmpty()) {
            errors.add("profiles must not be empty: leave it out for [ringwatch]");
        }
        profiles = named;
    }

    /** Profiles whose series are sent, too, each with the labels that a scrape job would add. */
    Map<Profile, Map<String, String>> sends() {
        return sends;
    }

    private void sendProfiles(List<String> errors) {
        if (sendProfiles != null && urls.isEmpty()) {
            errors.add("send_profiles needs ingest.urls: there is nobody to send to");
        }
        for (Object item : sendProfiles instanceof List ? (List<?>) sendProfiles
                : sendProfiles == null ? List.of() : List.of(sendProfiles)) {
            boolean labelled = item instanceof Map && ((Map<?, ?>) item).size() == 1;
            String name = labelled ? (String) ((Map<?, ?>) item).keySet().iterator().next()
                    : String.valueOf(item);
            Profile profile = profiles.stream().filter(p -> p.toString().equals(name)).findFirst()
                    .orElseGet(() -> Profile.named(name));
            if (profile == null || profile.equals(Profile.RINGWATCH)
                    || sends.containsKey(profile)) {
                errors.add("send_profiles must be a list of profiles other than ringwatch, each "
                        + "once, as \"- grafana_mixin\" or \"- grafana_mixin: {job: cassandra}\": "
                        + "there are " + Profile.names());
                return;
            }
            Map<String, String> labels = new TreeMap<>(Map.of("job", "cassandra"));
            Object given = labelled ? ((Map<?, ?>) item).values().iterator().next() : null;
            for (Map.Entry<?, ?> label : given instanceof Map ? ((Map<?, ?>) given).entrySet()
                    : Map.of().entrySet()) {
                if (!String.valueOf(label.getKey()).matches(LABEL) || labels.size() >= MAX_LABELS
                        || !(label.getValue() instanceof String)
                        || ((String) label.getValue()).length() > 255) {
                    errors.add("send_profiles: " + name + ": at most " + MAX_LABELS + " labels, "
                            + "named as Prometheus does and none of cluster, datacenter, rack, "
                            + "node, le and quantile, each with a text of at most 255 characters");
                    return;
                }
                labels.put((String) label.getKey(), (String) label.getValue());
            }
            sends.put(profile, labels);
        }
    }

    private static Profile profile(Object item, List<Profile> before, List<String> errors) {
        if (!(item instanceof Map)) {
            return Profile.named(String.valueOf(item));
        }
        Map<?, ?> map = (Map<?, ?>) item;
        if (map.size() != 1) {
            return null;
        }
        String name = (String) map.keySet().iterator().next();
        Path file = path("profiles: " + name, map.get(name), errors);
        int number = 1;
        for (Profile profile : before) {
            number += profile.toString().matches(Pattern.quote(name) + "(_\\d+)?") ? 1 : 0;
        }
        return file == null ? null : Profile.ofFile(name, file, number);
    }

    private static String text(String name, Object value, List<String> errors) {
        if (value instanceof String && !((String) value).isEmpty()) {
            return (String) value;
        }
        errors.add(name + " must be text: put it in quotes");
        return "";
    }

    private static long duration(String name, Object value, List<String> errors) {
        String text = text(name, value, errors);
        return scaled(name, text, "5s, 500ms or 1m", errors, "ms", 1, "s", 1_000, "m", 60_000);
    }

    private static long bytes(String name, Object value, long from, long to, String range,
            List<String> errors) {
        String text = text(name, value, errors);
        long bytes = scaled(name, text, "16MiB or 65536", errors, "KiB", 1 << 10, "MiB", 1 << 20,
                "GiB", 1 << 30, "", 1);
        if (bytes < from || bytes > to) {
            errors.add(name + " must be " + range);
        }
        return bytes;
    }

    private static long scaled(String name, String text, String like, List<String> errors,
            Object... units) {
        int digits = 0;
        while (digits < text.length() && Character.isDigit(text.charAt(digits))) {
            digits++;
        }
        String unit = text.substring(digits).trim();
        for (int i = 0; i < units.length; i += 2) {
            if (unit.equals(units[i]) && digits > 0 && digits < 12) {
                return Long.parseLong(text.substring(0, digits)) * (Integer) units[i + 1];
            }
        }
        errors.add(name + " must be like " + like);
        return MIN_INTERVAL_MS * 1024;
    }

    /** {@code ${NAME}} in a text becomes the environment's value; a missing one is an error. */
    private static Object substitute(Object value, UnaryOperator<String> environment,
            List<String> errors, Map<String, String> substituted) {
        if (value instanceof Map) {
            Map<Object, Object> out = new LinkedHashMap<>();
            ((Map<?, ?>) value).forEach((key, of) ->
                    out.put(key, substitute(of, environment, errors, substituted)));
            return out;
        }
        if (value instanceof List) {
            List<Object> out = new ArrayList<>();
            ((List<?>) value).forEach(of ->
                    out.add(substitute(of, environment, errors, substituted)));
            return out;
        }
        if (value == null) {
            return null;
        }
        String text = (String) value;
        StringBuilder replaced = new StringBuilder();
        int from = 0;
        for (int open = text.indexOf("${"); open >= 0; open = text.indexOf("${", from)) {
            int close = text.indexOf('}', open);
            if (close < 0) {
                break;
            }
            String name = text.substring(open + 2, close);
            String its = environment.apply(name);
            if (its == null) {
                errors.add("the environment variable " + name + " is not set");
            } else {
                substituted.put(name, its);
            }
            replaced.append(text, from, open).append(its == null ? "" : its);
            from = close + 1;
        }
        return replaced.append(text.substring(from)).toString();
    }

    /** For logs: everything but the key. */
    @Override
    public String toString() {
        Map<String, Object> shown = new TreeMap<>();
        shown.put("urls", urls);
        shown.put("interval_ms", intervalMs);
        shown.put("queue_bytes", queueBytes);
        if (spool != null) {
            shown.put("spool", spool);
        }
        if (!filters.isEmpty()) {
            shown.put("filters", filters);
        }
        return shown.toString();
    }
}
