package dev.ringwatch.agent.pull;

import dev.ringwatch.agent.frame.Metric;
import dev.ringwatch.agent.frame.Model;
import dev.ringwatch.agent.frame.Template;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.regex.Pattern;

/**
 * The templates that one profile has in a node's frames, and which names a frame can have by
 * FORMAT.md §6. A metric's name is one template's in a frame, so a family has the labels of all its
 * sources.
 */
final class SentTemplates {
    /** Of a frame; the labels of a place are the frame's own. */
    private static final int MAX_LABELS = 16;
    private static final Set<String> PLACE = Set.of("cluster", "datacenter", "rack", "node");
    private static final int MAX_NAME = 255;
    private static final int MAX_METRICS = 4_000;
    private static final int MAX_EXPONENT = 18;
    /** Of an entity type; a number may follow. */
    private static final int MAX_TYPE = 240;
    private static final Pattern NAME = Pattern.compile("[a-zA-Z_:][a-zA-Z0-9_:]*");
    private static final Pattern LABEL = Pattern.compile("[a-zA-Z_][a-zA-Z0-9_]*");

    private final Model model;
    private final FrameRoom room;
    private final Profile profile;
    private final Set<Template> own = new LinkedHashSet<>();
    /** The one of each group that has room for more metrics. */
    private final Map<String, Template> groups = new HashMap<>();
    /** Names of the frame. */
    private final Set<String> taken = new HashSet<>();
    /** Of templates of others. */
    private int otherMetrics;

    SentTemplates(Model model, FrameRoom room, Profile profile) {
        this.model = model;
        this.room = room;
        this.profile = profile;
    }

    void clear() {
        own.forEach(model::remove);
        own.clear();
        groups.clear();
        taken.clear();
    }

    /** Looks at what the frame has beside what is sent, of which there must be nothing. */
    void begin() {
        for (int t = 0; t < model.templateCount(); t++) {
            for (int m = 0; m < model.template(t).metricCount(); m++) {
                taken.addAll(names(model.template(t).metric(m)));
            }
        }
        otherMetrics = countOthers();
    }

    void add(Template template, Metric metric) {
        template.add(metric);
        taken.addAll(names(metric));
    }

    private int countOthers() {
        int metrics = 0;
        for (int t = 0; t < model.templateCount(); t++) {
            metrics += own.contains(model.template(t)) ? 0 : model.template(t).metricCount();
        }
        return metrics;
    }

    /** Whether another has got a name that is sent here: it cannot wait for the minute to end. */
    boolean isNameTaken() {
        int now = countOthers();
        if (now == otherMetrics) {
            return false;
        }
        otherMetrics = now;
        Set<String> sent = new HashSet<>();
        for (Template template : own) {
            for (int m = 0; m < template.metricCount(); m++) {
                sent.addAll(names(template.metric(m)));
            }
        }
        for (int t = 0; t < model.templateCount(); t++) {
            Template template = model.template(t);
            for (int m = 0; m < template.metricCount() && !own.contains(template); m++) {
                if (names(template.metric(m)).stream().anyMatch(sent::contains)) {
                    return true;
                }
            }
        }
        return false;
    }

    /** As queries find it. */
    private static List<String> names(Metric metric) {
        return metric.bounds == null ? List.of(metric.name) : List.of(metric.name,
                metric.name + "_bucket", metric.name + "_sum", metric.name + "_count");
    }

    /** Whether a frame can have all these, and has none of them yet. */
    boolean fit(List<Metric> metrics) {
        for (Metric metric : metrics) {
            if (!NAME.matcher(metric.name).matches() || Math.abs(metric.exponent) > MAX_EXPONENT) {
                return false;
            }
            for (String name : names(metric)) {
                if (name.length() > MAX_NAME || taken.contains(name)) {
                    return false;
                }
            }
        }
        return true;
    }

    /**
     * One for that family, null if a frame cannot have one. Families of the same sources share a
     * template: their cells are there together.
     *
     * @param added labels that all have
     */
    Template of(Family family, Set<String> added, boolean quantiles) {
        Set<String> labels = new LinkedHashSet<>(added);
        StringBuilder type = new StringBuilder("sent_" + profile);
        StringBuilder of = new StringBuilder();
        for (Family.Source source : family.sources) {
            of.append(System.identityHashCode(source.template)).append(source.labels);
            for (Label label : source.labels) {
                if (!PLACE.contains(label.name) && !label.name.startsWith("__")
                        && labels.add(label(label.name)) && type.length() < 200) {
                    type.append('_').append(label.name.toLowerCase(Locale.ROOT));
                }
            }
        }
        if (quantiles) {
            labels.add(label("quantile"));
            type.append("_quantile");
        }
        if (labels.contains("le") || labels.size() > MAX_LABELS || !labels.stream().allMatch(
                label -> label.length() <= MAX_NAME && LABEL.matcher(label).matches())) {
            return null;
        }
        String group = type + "|" + of;
        Template open = groups.get(group);
        if (open != null && open.metricCount() < MAX_METRICS) {
            return open;
        }
        if (!room.hasTemplate()) {
            return null;
        }
        Template template = new Template(unused(type.toString()), labels.toArray(new String[0]));
        template.sent = true;
        own.add(template);
        groups.put(group, template);
        model.add(template);
        return template;
    }

    private String unused(String type) {
        String plain = type.replaceAll("[^a-z0-9_]", "_");
        plain = plain.substring(0, Math.min(MAX_TYPE, plain.length()));
        String unique = plain;
        for (int n = 2; model.hasType(unique); n++) {
            unique = plain + '_' + n;
        }
        return unique;
    }

    /** A label's name in frames, which is read as the profile's. */
    static String label(String name) {
        return name.equals("quantile") ? "recorded_quantile" : name;
    }
}
