package dev.ringwatch.agent.beans;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.Iterator;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.function.Consumer;
import java.util.regex.Matcher;
import javax.management.ObjectName;

/**
 * A configuration of the JMX exporter, read and applied as version 1.0.1 does: the first rule whose
 * pattern matches {@code domain<property=value, …><key, …>attribute: value} names the attribute,
 * one without a name gives the default name, and what no rule matches is not shown.
 */
final class JmxRules implements Namer {
    /** Some do not say what is shown, and must be what the exporter takes for them. */
    private static final Set<String> KNOWN = Set.of("rules", "lowercaseOutputName",
            "lowercaseOutputLabelNames", "includeObjectNames",
            "whitelistObjectNames", "excludeObjectNames", "blacklistObjectNames",
            "excludeObjectNameAttributes", "autoExcludeObjectNameAttributes",
            "startDelaySeconds", "excludeJvmMetrics", "httpServer", "openTelemetry", "username",
            "password", "ssl", "jmxUrl", "hostPort");
    private static final Set<String> RULE_KEYS = Set.of("pattern", "name", "value", "valueFactor",
            "help", "attrNameSnakeCase", "cache",
            "type", "labels");
    /** What patterns see that do not speak of the value. */
    private static final Object ANY_VALUE = 0;
    private static final int MAX_RULES = 10_000;

    private final List<JmxRule> rules = new ArrayList<>();
    private final JmxBeans beans;
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
        if (parsed == null) {
            throw new IllegalArgumentException("it is empty: write \"rules: [{}]\" for all beans");
        }
        if (!(parsed instanceof Map)) {
            throw new IllegalArgumentException("it must be a map with rules");
        }
        Map<?, ?> yaml = (Map<?, ?>) parsed;
        for (Object key : yaml.keySet()) {
            sayIfUnknown(key, KNOWN, "");
        }
        ofOtherProcess(yaml);
        noMatter(yaml);
        lowercaseName = JmxRule.flag(yaml, "lowercaseOutputName");
        lowercaseLabels = JmxRule.flag(yaml, "lowercaseOutputLabelNames");
        jvm = !excludesJvm(yaml.get("excludeJvmMetrics"));
        beans = new JmxBeans(yaml);
        if (beans.isEmpty()) {
            say.accept("it includes no beans, so none is shown");
        }
        boolean anyText = false;
        for (Object rule : yaml.containsKey("rules")
                ? JmxBeans.list("rules", yaml.get("rules")) : List.of(Map.of())) {
            JmxRule added = add(rule);
            anyText |= added.value != null || added.wrong() != null;
        }
        if (rules.isEmpty()) {
            say.accept("it has no rules, so no bean is shown");
        }
        texts = anyText;
    }

    private void sayIfUnknown(Object key, Set<String> known, String which) {
        if (!(key instanceof String) || !known.contains(key)) {
            say.accept(which + "unknown key \"" + key
                    + "\" is ignored, as the JMX exporter 1.0.1 ignores it");
        }
    }

    private static void ofOtherProcess(Map<?, ?> yaml) {
        for (String key : List.of("jmxUrl", "hostPort")) {
            if (yaml.containsKey(key) && (key.equals("hostPort") || !"".equals(yaml.get(key)))) {
                throw new IllegalArgumentException(key
                        + " is for another process: take it out, this one is read");
            }
        }
    }

    /** What says nothing here, and ends the exporter if it is wrong. */
    private void noMatter(Map<?, ?> yaml) {
        for (String key : List.of("username", "password")) {
            if (yaml.get(key) != null && !(yaml.get(key) instanceof String)) {
                throw new IllegalArgumentException(key + " must be a text: quote it, or take it"
                        + " out");
            }
        }
        JmxRule.flag(yaml, "ssl");
        JmxRule.flag(yaml, "autoExcludeObjectNameAttributes");
        Object delay = yaml.get("startDelaySeconds");
        if (delay != null && !(delay instanceof Long && (int) (long) delay == (long) delay)) {
            throw new IllegalArgumentException("startDelaySeconds must be a whole number");
        }
        if (yaml.containsKey("startDelaySeconds")) {
            say.accept("startDelaySeconds is ignored: nothing is read before Cassandra is up");
        }
    }

    /** A key of later versions, which 1.0.1 does not look at. */
    private boolean excludesJvm(Object value) {
        if (value != null && !(value instanceof Boolean)) {
            say.accept("excludeJvmMetrics is ignored: it must be true or false");
        }
        return Boolean.TRUE.equals(value);
    }

    private JmxRule add(Object yaml) {
        String which = "rule " + (rules.size() + 1) + ": ";
        if (rules.size() == MAX_RULES) {
            throw new IllegalArgumentException("there are more than " + MAX_RULES + " rules");
        }
        if (!(yaml instanceof Map)) {
            throw new IllegalArgumentException(which + "it must be a map with a pattern");
        }
        for (Object key : ((Map<?, ?>) yaml).keySet()) {
            sayIfUnknown(key, RULE_KEYS, which);
        }
        JmxRule rule;
        try {
            rule = new JmxRule((Map<?, ?>) yaml);
        } catch (IllegalArgumentException e) {
            throw new IllegalArgumentException(which + e.getMessage(), e);
        }
        if (rule.wrong() != null) {
            say.accept(which + rule.wrong() + "; correct it: attributes that it matches are left"
                    + " out, and all others are served");
        }
        if (rule.hasNoType) {
            say.accept(which + "its type is empty, so its series have none; the JMX exporter"
                    + " answers nothing at all for them");
        }
        rules.add(rule);
        return rule;
    }

    @Override
    public boolean wants(ObjectName bean) {
        return beans.has(bean);
    }

    @Override
    public boolean wants(ObjectName bean, String attribute) {
        return beans.has(bean, attribute);
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
                        + ": " + (rule.cache ? "<cache>" : value == null ? ANY_VALUE : value));
            }
            BoundedText text = texts[which];
            try {
                cached += rule.cache ? 1 : 0;
                Matcher match = rule.matchesAll() ? null : rule.match(text, attribute.bean());
                if (match != null || rule.matchesAll()) {
                    return named(rule, match, attribute, text.toString());
                }
            } catch (Unusable e) {
                throw new Unusable("rule " + (rules.indexOf(rule) + 1) + " cannot name " + text
                        + ": " + e.getMessage());
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
        String bad = bad(labels);
        if (bad != null) {
            if (!rule.complained) {
                rule.complained = true;
                say.accept("rule " + (rules.indexOf(rule) + 1) + ": " + bad + " for " + text
                        + ": such series are left out; the JMX exporter answers nothing at all");
            }
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

    /** What a page must not have, in words, or null. */
    private static String bad(List<String> labels) {
        for (String label : labels) {
            if (label.indexOf(':') >= 0) {
                return "there cannot be a label " + label;
            }
        }
        return new HashSet<>(labels).size() == labels.size() ? null
                : "there are two labels of one name in " + labels;
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
