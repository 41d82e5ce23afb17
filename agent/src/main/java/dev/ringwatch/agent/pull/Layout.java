package dev.ringwatch.agent.pull;

import dev.ringwatch.agent.frame.Metric;
import dev.ringwatch.agent.frame.Model;
import dev.ringwatch.agent.frame.Template;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * Which families a page has, in order. Made anew when the model has got new templates, metrics or
 * blocks of entities, or the node another place.
 *
 * <p><b>When two profiles have one name</b>, it belongs to the profile that stands first in the
 * configuration. If the later one means the same values, the one set of series gets the labels of
 * both (a query by either's labels finds it, and a sum counts it once); if it means something else
 * by it (a summary where the first has a histogram, or another value under the same label) its
 * family is left out: a page with one name declared twice would be refused as a whole.
 */
final class Layout {
    final String cluster;
    final List<Family> families = new ArrayList<>();
    private final Map<String, Family> byName = new HashMap<>();
    private final Set<String> lineNames = new HashSet<>();
    private final Map<String, Series> series = new HashMap<>();
    private final List<Profile> profiles;
    private final String made;
    private final boolean paused;
    private Profile adding;

    /** @param recents kept from layout to layout */
    Layout(Model model, List<Profile> profiles, Map<Metric, Recent> recents) {
        cluster = model.cluster();
        this.profiles = profiles;
        made = shape(model);
        paused = model.isPaused();
        for (Profile profile : profiles) {
            adding = profile;
            profile.add(this, model);
        }
        for (Family family : families) {
            for (Family.Source source : family.sources) {
                source.series = series.computeIfAbsent(source.template.type + source.labels,
                        key -> new Series(source.template, source.labels));
                if (family.type == Family.Type.SUMMARY) {
                    source.recent = recents.computeIfAbsent(source.metric, Recent::new);
                }
            }
            nameOpen(family);
        }
    }

    boolean isCurrent(Model model) {
        return made.equals(shape(model));
    }

    /** A hundred numbers: cheap enough to be asked for on every page. */
    private String shape(Model model) {
        StringBuilder shape = new StringBuilder(model.cluster()).append('\n')
                .append(model.datacenter()).append('\n').append(model.rack()).append('\n')
                .append(model.fact("address")).append('\n').append(model.isPaused());
        for (int t = 0; t < model.templateCount(); t++) {
            Template template = model.template(t);
            if (template.sent) {
                continue;
            }
            shape.append(' ').append(template.metricCount()).append('/').append((template.slots()
                    + Metric.BLOCK - 1) / Metric.BLOCK);
        }
        for (Profile profile : profiles) {
            shape.append('\n').append(profile.shape(model));
        }
        return shape.toString();
    }

    void add(String name, Family.Type type, String unit, String help, Family.Source source) {
        if (paused && !source.template.type.startsWith("agent")) {
            return;
        }
        Family family = byName.get(name);
        if (family == null) {
            family = new Family(name, type, unit, help, adding);
            List<String> lines = family.lineNames();
            if (lines.stream().anyMatch(lineNames::contains)) {
                return; // x_count beside a histogram x
            }
            lineNames.addAll(lines);
            byName.put(name, family);
            families.add(family);
            family.sources.add(source);
        } else if (family.profile != adding) {
            share(family, type, source);
        } else if (family.type == type) {
            family.sources.add(source);
        }
    }

    private static void share(Family family, Family.Type type, Family.Source later) {
        if (!family.type.isScalar() || !type.isScalar()) {
            return;
        }
        for (Family.Source first : family.sources) {
            if (first.sameValues(later)) {
                List<Label> both = new ArrayList<>(first.labels);
                for (Label label : later.labels) {
                    if (both.stream().noneMatch(known -> known.name.equals(label.name))) {
                        both.add(label);
                    } else if (!both.contains(label)) {
                        return;
                    }
                }
                first.labels = both;
            }
        }
    }

    /** A counter is named without its {@code _total}, unless that is another family's name. */
    private void nameOpen(Family family) {
        family.openName = family.name;
        family.openType = family.type.open;
        if (family.type == Family.Type.COUNTER) {
            String base = family.name.endsWith("_total")
                    ? family.name.substring(0, family.name.length() - "_total".length()) : null;
            if (base == null || lineNames.contains(base)) {
                family.openType = Family.Type.UNTYPED.open;
            } else {
                family.openName = base;
            }
        }
    }
}
