package dev.ringwatch.agent.beans;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Consumer;
import java.util.function.UnaryOperator;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.regex.PatternSyntaxException;
import javax.management.ObjectName;

/**
 * The one name of criteo's cassandra_exporter 2.3, {@code cassandra_stats}, whose label {@code
 * name} is a bean's path and attribute in small letters, parted by colons: by a configuration of
 * that exporter, of which {@code blacklist}, {@code maxScrapFrequencyInSec} and {@code
 * additionalLabelsFromEnvvars} matter here. How often something is read is not taken from there:
 * nothing dear is read more often than elsewhere in this agent.
 */
final class CriteoNames implements Namer {
    private static final Set<String> NO_MATTER = Set.of("host", "ssl", "user", "password",
            "listenAddress", "listenPort");
    private static final Set<String> OF_TABLES = Set.of("Table", "ColumnFamily");
    private static final Pattern PARTS = Pattern.compile("(:type=|,[^=]+=|\\.)");

    private final List<Pattern> refused = new ArrayList<>();
    private final List<Pattern> wanted = new ArrayList<>();
    private final Map<String, String> more = new TreeMap<>();
    private final String[] labels;
    private final Consumer<String> say;
    private final Shared shared = new Shared();
    /** What was looked at last: an attribute is asked about several times in a row. */
    private String lastBean;
    private String lastPath;
    private String lastName;
    private boolean lastShown;
    private boolean complained;

    /** @throws IllegalArgumentException with what is wrong with the configuration */
    CriteoNames(String text, Map<String, String> environment, Consumer<String> say) {
        this.say = say;
        Object yaml = Yaml.parse(text);
        if (!(yaml instanceof Map)) {
            throw new IllegalArgumentException(
                    "it must be a map with blacklist and maxScrapFrequencyInSec");
        }
        for (Map.Entry<?, ?> entry : ((Map<?, ?>) yaml).entrySet()) {
            String key = String.valueOf(entry.getKey());
            if (key.equals("blacklist")) {
                patterns(key, entry.getValue(), refused);
            } else if (key.equals("maxScrapFrequencyInSec")) {
                if (!(entry.getValue() instanceof Map)) {
                    throw new IllegalArgumentException(key + " must be a map of seconds to lists");
                }
                ((Map<?, ?>) entry.getValue()).values().forEach(list ->
                        patterns(key, list, wanted));
            } else if (key.equals("additionalLabelsFromEnvvars")) {
                labels(entry.getValue(), environment);
            } else if (!NO_MATTER.contains(key)) {
                say.accept("unknown key \"" + key + "\" is ignored");
            }
        }
        if (wanted.isEmpty()) {
            throw new IllegalArgumentException(
                    "maxScrapFrequencyInSec names nothing: nothing would be shown");
        }
        List<String> all = new ArrayList<>(List.of("keyspace", "table", "name"));
        all.addAll(more.keySet());
        labels = all.toArray(new String[0]);
    }

    private static void patterns(String key, Object yaml, List<Pattern> into) {
        if (!(yaml instanceof List)) {
            throw new IllegalArgumentException(key + " must hold lists of patterns");
        }
        for (Object pattern : (List<?>) yaml) {
            into.add(compile(key, String.valueOf(pattern)));
        }
    }

    private static Pattern compile(String key, String regex) {
        try {
            return Pattern.compile(regex);
        } catch (PatternSyntaxException e) {
            throw new IllegalArgumentException(key + ": \"" + regex
                    + "\" is no regular expression: " + e.getDescription(), e);
        }
    }

    /** Those of the environment whose names match, under their first group or their name. */
    private void labels(Object yaml, Map<String, String> environment) {
        if (yaml == null) {
            return;
        }
        Pattern pattern = compile("additionalLabelsFromEnvvars", String.valueOf(yaml));
        UnaryOperator<String> safe = name -> name.replaceAll("[^a-zA-Z0-9_]", "_");
        for (Map.Entry<String, String> variable : environment.entrySet()) {
            Matcher match = pattern.matcher(variable.getKey());
            if (match.matches()) {
                more.put(safe.apply(match.groupCount() > 0 && match.group(1) != null
                        ? match.group(1) : variable.getKey()), variable.getValue());
            }
        }
        more.keySet().removeAll(Set.of("cluster", "datacenter", "keyspace", "table", "name"));
    }

    @Override
    public boolean wants(ObjectName bean) {
        return !any(refused, path(bean.toString()));
    }

    @Override
    public boolean wants(ObjectName bean, String attribute) {
        String name = path(bean.toString()) + attribute.toLowerCase(Locale.ROOT);
        return isShown(name);
    }

    private boolean isShown(String name) {
        if (!name.equals(lastName)) {
            lastName = name;
            lastShown = !any(refused, name) && any(wanted, name);
        }
        return lastShown;
    }

    @Override
    public boolean looksAtValue(Attribute attribute) {
        return false;
    }

    @Override
    public boolean readsBuckets() {
        return true;
    }

    @Override
    public Named name(Attribute attribute, Object value) {
        if (attribute.path.size() > 1) {
            return null;
        }
        StringBuilder properties = new StringBuilder(attribute.domain).append(':');
        attribute.properties.forEach((key, of) -> {
            properties.append(properties.charAt(properties.length() - 1) == ':' ? "" : ",");
            properties.append(key).append('=').append(of);
        });
        String own = attribute.path.isEmpty() ? attribute.name : attribute.path.get(0);
        String name = path(properties.toString()) + own.toLowerCase(Locale.ROOT);
        if (!isShown(name)) {
            return null;
        }
        name += attribute.path.isEmpty() ? "" : ":" + attribute.name.toLowerCase(Locale.ROOT);
        String type = attribute.properties.getOrDefault("type", "");
        String keyspace = OF_TABLES.contains(type) || type.equals("Keyspace")
                ? attribute.properties.getOrDefault("keyspace", "") : "";
        String table = OF_TABLES.contains(type) && !keyspace.isEmpty()
                ? attribute.properties.getOrDefault("scope", "") : "";
        List<String> values = new ArrayList<>(
                List.of(shared.one(keyspace), shared.one(table), name));
        values.addAll(more.values());
        return Named.own("cassandra_stats", Named.Type.GAUGE, "node stats",
                new Labels(labels, values.toArray(new String[0])));
    }

    /** {@code java.lang:type=Memory} → {@code java:lang:memory:}. */
    private String path(String bean) {
        if (!bean.equals(lastBean)) {
            lastBean = bean;
            lastPath = (PARTS.matcher(bean).replaceAll(":").replace(' ', '_')
                    + ':').toLowerCase(Locale.ROOT);
        }
        return lastPath;
    }

    private boolean any(List<Pattern> patterns, String name) {
        BoundedText text = new BoundedText(name);
        for (Pattern pattern : patterns) {
            try {
                text.renew();
                if (pattern.matcher(text).matches()) {
                    return true;
                }
            } catch (BoundedText.Exceeded | StackOverflowError e) {
                if (!complained) {
                    complained = true;
                    say.accept("the pattern " + pattern + " takes more than "
                            + BoundedText.MAX_LOOKS + " steps for names like " + name
                            + ": it does not match those; write it without nested repetitions");
                }
            }
        }
        return false;
    }
}
