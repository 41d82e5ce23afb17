package dev.ringwatch.agent.beans;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Iterator;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.function.Consumer;
import java.util.regex.Matcher;
import javax.management.MalformedObjectNameException;
import javax.management.ObjectName;

/**
 * A configuration of the JMX exporter, read and applied as version 1.0.1 does: the first rule whose
 * pattern matches {@code domain<property=value, …><key, …>attribute: value} names the attribute,
 * one without a name gives the default name, and what no rule matches is not shown.
 */
final class JmxRules implements Namer {
    /** Of the exporter's other sections: they do not say what is shown. */
    private static final Set<String> NO_MATTER = Set.of("httpServer", "openTelemetry", "username",
            "password", "ssl",
            "autoExcludeObjectNameAttributes");
    private static final Set<String> KNOWN = Set.of("rules", "lowercaseOutputName",
            "lowercaseOutputLabelNames", "includeObjectNames",
            "whitelistObjectNames", "excludeObjectNames", "blacklistObjectNames",
            "excludeObjectNameAttributes", "startDelaySeconds",
            "excludeJvmMetrics");
    private static final Set<String> RULE_KEYS = Set.of("pattern", "name", "value", "valueFactor",
            "help", "attrNameSnakeCase", "cache",
            "type", "labels");
    private static final int MAX_RULES = 10_000;

    private final List<JmxRule> rules = new ArrayList<>();
    private final List<ObjectName> included = new ArrayList<>();
    private final List<ObjectName> excluded = new ArrayList<>();
    private final Map<ObjectName, Set<String>> excludedAttributes = new HashMap<>();
    private final boolean lowercaseName;
    private final boolean lowercaseLabels;
    private final boolean jvm;
    private final boolean texts;
    private final Consumer<String> say;
    private final Shared shared = new Shared();
    private long cached;

    /**
     * @param say is told what is ignored and which rules are ended
     * @throws IllegalArgumentException with what is wrong with the file, in words
     */
    JmxRules(String text, Consumer<String> say) {
        this.say = say;
        Object parsed = Yaml.parse(text);
        if (parsed != null && !(parsed instanceof Map)) {
            throw new IllegalArgumentException("it must be a map with rules");
        }
        Map<?, ?> yaml = parsed == null ? Map.of() : (Map<?, ?>) parsed;
        for (Object key : yaml.keySet()) {
            if (key.equals("jmxUrl") || key.equals("hostPort")) {
                throw new IllegalArgumentException(key
                        + " is for another process: take it out, this one is read");
            }
            if (!KNOWN.contains(key) && !NO_MATTER.contains(key)) {
                say.accept("unknown key \"" + key
                        + "\" is ignored, as the JMX exporter ignores it");
            }
        }
        if (yaml.containsKey("startDelaySeconds")) {
            say.accept("startDelaySeconds is ignored: nothing is read before Cassandra is up");
        }
        lowercaseName = JmxRule.flag(yaml, "lowercaseOutputName");
        lowercaseLabels = JmxRule.flag(yaml, "lowercaseOutputLabelNames");
        jvm = !JmxRule.flag(yaml, "excludeJvmMetrics");
        objectNames(yaml, "includeObjectNames", "whitelistObjectNames", included);
        objectNames(yaml, "excludeObjectNames", "blacklistObjectNames", excluded);
        excludedAttributes(yaml.get("excludeObjectNameAttributes"));
        boolean anyText = false;
        for (Object rule : yaml.containsKey("rules")
                ? list("rules", yaml.get("rules")) : List.of(Map.of())) {
            add(rule);
            anyText |= rules.get(rules.size() - 1).value != null;
        }
        texts = anyText;
    }

    private void add(Object yaml) {
        String which = "rule " + (rules.size() + 1) + ": ";
        if (rules.size() == MAX_RULES) {
            throw new IllegalArgumentException("there are more than " + MAX_RULES + " rules");
        }
        if (!(yaml instanceof Map)) {
            throw new IllegalArgumentException(which + "it must be a map with a pattern");
        }
        for (Object key : ((Map<?, ?>) yaml).keySet()) {
            if (!RULE_KEYS.contains(key)) {
                say.accept(which + "unknown key \"" + key
                        + "\" is ignored, as the JMX exporter ignores it");
            }
        }
        try {
            rules.add(new JmxRule((Map<?, ?>) yaml));
        } catch (IllegalArgumentException e) {
            throw new IllegalArgumentException(which + e.getMessage(), e);
        }
    }

    private static List<?> list(String key, Object value) {
        if (value == null) {
            return List.of();
        }
        if (!(value instanceof List)) {
            throw new IllegalArgumentException(key + " must be a list");
        }
        return (List<?>) value;
    }

    private static void objectNames(Map<?, ?> yaml, String key, String old, List<ObjectName> into) {
        String there = yaml.containsKey(key) ? key : old;
        for (Object name : yaml.containsKey(there) ? list(there, yaml.get(there)) : List.of()) {
            into.add(objectName(there, name));
        }
        if (yaml.containsKey(there) && into.isEmpty() && there.matches("include.*|white.*")) {
            throw new IllegalArgumentException(there + " is empty: nothing would be shown");
        }
    }

    private static ObjectName objectName(String key, Object name) {
        try {
            return new ObjectName(String.valueOf(name));
        } catch (MalformedObjectNameException e) {
            throw new IllegalArgumentException(key + ": \"" + name + "\" is no object name: "
                    + e.getMessage(), e);
        }
    }

    private void excludedAttributes(Object yaml) {
        if (yaml != null && !(yaml instanceof Map)) {
            throw new IllegalArgumentException("excludeObjectNameAttributes must be a map");
        }
        for (Map.Entry<?, ?> entry : (yaml == null ? Map.of() : (Map<?, ?>) yaml).entrySet()) {
            Set<String> names = new HashSet<>();
            for (Object name : list("excludeObjectNameAttributes", entry.getValue())) {
                names.add(String.valueOf(name));
            }
            excludedAttributes.put(objectName("excludeObjectNameAttributes", entry.getKey()),
                    names);
        }
    }

    @Override
    public boolean wants(ObjectName bean) {
        return (included.isEmpty() || applies(included, bean)) && !applies(excluded, bean);
    }

    private static boolean applies(List<ObjectName> patterns, ObjectName bean) {
        for (ObjectName pattern : patterns) {
            if (pattern.apply(bean)) {
                return true;
            }
        }
        return false;
    }

    @Override
    public boolean wants(ObjectName bean, String attribute) {
        Set<String> names = excludedAttributes.get(bean);
        return names == null || !names.contains(attribute);
    }

    @Override
    public boolean showsJvm() {
        return jvm;
    }

    @Override
    public boolean readsTexts() {
        return texts;
    }

    @Override
    public long cached() {
        return cached;
    }

    @Override
    public boolean looksAtValue(Attribute attribute) {
        BoundedText plain = null;
        BoundedText snake = null;
        for (JmxRule rule : rules) {
            if (!rule.looksAtValue()) {
                continue;
            }
            BoundedText text = rule.snakeCase ? snake : plain;
            if (text == null) {
                text = new BoundedText(attribute.bean() + attributeName(rule, attribute));
                snake = rule.snakeCase ? text : snake;
                plain = rule.snakeCase ? plain : text;
            }
            if (rule.mayLookAtValue(text, attribute.bean())) {
                return true;
            }
        }
        return false;
    }

    @Override
    public Named name(Attribute attribute, Object value) {
        BoundedText[] texts = new BoundedText[4]; // most rules see the same one
        for (JmxRule rule : rules) {
            if (rule.isOff()) {
                continue;
            }
            int which = (rule.snakeCase ? 1 : 0) + (rule.cache ? 2 : 0);
            if (texts[which] == null) {
                texts[which] = new BoundedText(attribute.bean() + attributeName(rule, attribute)
                        + ": " + (rule.cache ? "<cache>" : value));
            }
            BoundedText text = texts[which];
            try {
                cached += rule.cache ? 1 : 0;
                Matcher match = rule.matchesAll() ? null : rule.match(text, attribute.bean());
                if (match != null || rule.matchesAll()) {
                    return named(rule, match, attribute, text.toString());
                }
            } catch (BoundedText.Exceeded e) {
                if (rule.isOff()) {
                    say.accept("the pattern " + rule.source + " takes more than "
                            + BoundedText.MAX_LOOKS
                            + " steps for names like " + text
                            + ": its rule is ended; write it without nested repetitions");
                }
            }
        }
        return null;
    }

    private static String attributeName(JmxRule rule, Attribute attribute) {
        return rule.snakeCase ? JmxText.snakeCase(attribute.name) : attribute.name;
    }

    private Named named(JmxRule rule, Matcher match, Attribute attribute, String text) {
        Double constant = null;
        if (rule.value != null) {
            try {
                constant = Double.valueOf(rule.value.expand(match));
            } catch (NumberFormatException e) {
                return null;
            }
        }
        List<String> labels = new ArrayList<>();
        List<String> values = new ArrayList<>();
        String name;
        String help = JmxText.help(attribute);
        if (rule.name == null) {
            name = defaultName(attribute, attributeName(rule, attribute), labels, values);
            if (lowercaseLabels) {
                labels.replaceAll(label -> label.toLowerCase(Locale.ROOT));
            }
        } else {
            name = JmxText.safe(rule.name.expand(match));
            if (name.isEmpty()) {
                return null;
            }
            help = rule.help == null ? help : rule.help.expand(match);
            for (int i = 0; i < rule.labels.length; i++) {
                label(JmxText.safe(rule.labels[i].expand(match)),
                        rule.labelValues[i].expand(match), labels, values);
            }
        }
        if (!valid(labels)) {
            return null;
        }
        name = JmxText.withoutReserved(lowercaseName ? name.toLowerCase(Locale.ROOT) : name);
        Named.Type type = rule.type.equals("COUNTER") ? Named.Type.COUNTER
                : rule.type.equals("GAUGE") ? Named.Type.GAUGE : Named.Type.UNTYPED;
        Labels of = new Labels(labels.toArray(new String[0]), values.toArray(new String[0]));
        // without the value, and a colon in that counts
        String origin = text.substring(0, text.lastIndexOf(':'));
        String bean = attribute.bean();
        return new Named(shared.one(name), type, shared.one(help.replace('\n', ' ')),
                shared.one(of), constant, rule.factor, bean,
                shared.one(origin.substring(bean.length())));
    }

    private void label(String name, String value, List<String> labels, List<String> values) {
        if (!name.isEmpty() && !value.isEmpty()) {
            labels.add(lowercaseLabels ? name.toLowerCase(Locale.ROOT) : name);
            values.add(value);
        }
    }

    /** What a page must not have: the exporter would answer nothing at all. */
    private static boolean valid(List<String> labels) {
        for (String label : labels) {
            if (label.startsWith("__") || label.indexOf(':') >= 0) {
                return false;
            }
        }
        return new HashSet<>(labels).size() == labels.size();
    }

    /** Domain, the first property's value, keys and attribute; the other properties are labels. */
    private static String defaultName(Attribute attribute, String attributeName,
            List<String> labels, List<String> values) {
        StringBuilder name = new StringBuilder(attribute.domain);
        Iterator<Map.Entry<String, String>> properties = attribute.properties.entrySet().iterator();
        if (properties.hasNext()) {
            name.append('_').append(properties.next().getValue());
        }
        for (String key : attribute.path) {
            name.append('_').append(key);
        }
        while (properties.hasNext()) {
            Map.Entry<String, String> property = properties.next();
            labels.add(JmxText.safe(property.getKey()));
            values.add(property.getValue());
        }
        return JmxText.safe(name.append('_').append(attributeName).toString());
    }
}
