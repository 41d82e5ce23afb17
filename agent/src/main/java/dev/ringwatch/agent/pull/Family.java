package dev.ringwatch.agent.pull;

import dev.ringwatch.agent.frame.Metric;
import dev.ringwatch.agent.frame.Template;
import java.util.ArrayList;
import java.util.List;

/** The series of one name: what is said before them, and which cells they are. */
final class Family {
    enum Type {
        COUNTER("counter", "counter"), GAUGE("gauge", "gauge"), UNTYPED("untyped", "unknown"),
                HISTOGRAM("histogram", "histogram"),
        /**
         * Text 0.0.4 has no such type; quantiles of a histogram's buckets are right all the same,
         * rates are not asked of it.
         */
        GAUGE_HISTOGRAM("histogram", "gaugehistogram"), SUMMARY("summary", "summary");

        final String text;
        final String open;

        Type(String text, String open) {
            this.text = text;
            this.open = open;
        }

        boolean isScalar() {
            return this == COUNTER || this == GAUGE || this == UNTYPED;
        }
    }

    /**
     * What is shown of a histogram whose parts are families of their own; bounds and sums are in
     * the unit that the shift makes.
     */
    enum Part { BUCKETS, SUM, COUNT }

    /** One metric of one template, and how this family shows it. */
    static final class Source {
        final Template template;
        final Metric metric;
        List<Label> labels;
        /** Added to the metric's exponent: other exporters show Cassandra's own units. */
        final int shift;
        /** Of doubles. */
        final double factor;
        /**
         * Entities that are left out, by their first label; a star at the end stands for whatever
         * follows.
         */
        List<String> without = List.of();
        /** The only entity that is shown, or null for all: the family is named after it. */
        String[] only;
        /** Null for all of it. */
        Part part;
        /** Set by the layout. */
        Series series;
        Recent recent;

        Source(Template template, Metric metric, List<Label> labels, int shift, double factor) {
            this.template = template;
            this.metric = metric;
            this.labels = labels;
            this.shift = shift;
            this.factor = factor;
        }

        boolean leavesOut(int slot) {
            if (only != null && template.entity(slot) != only) {
                return true;
            }
            for (int w = 0; w < without.size(); w++) {
                String each = without.get(w);
                String value = template.labelValue(slot, 0);
                if (each.endsWith("*") ? value.startsWith(each.substring(0, each.length() - 1))
                        : value.equals(each)) {
                    return true;
                }
            }
            return false;
        }

        boolean sameValues(Source other) {
            return metric == other.metric && only == other.only && part == other.part
                    && without.equals(other.without)
                    && shift == other.shift && factor == other.factor;
        }
    }

    final String name;
    final Type type;
    final String unit;
    final String help;
    final Profile profile;
    final List<Source> sources = new ArrayList<>();
    /** OpenMetrics: names and types a counter without its {@code _total}. */
    String openName;
    String openType;

    Family(String name, Type type, String unit, String help, Profile profile) {
        this.name = name;
        this.type = type;
        this.unit = unit;
        this.help = help;
        this.profile = profile;
    }

    /** Every name its lines may begin with. */
    List<String> lineNames() {
        List<String> names = new ArrayList<>(List.of(name));
        if (!type.isScalar()) {
            for (String suffix : new String[] {"_sum", "_count", "_bucket", "_gsum", "_gcount"}) {
                names.add(name + suffix);
            }
        }
        return names;
    }

    /** Whether it has more slots than stand in one block. */
    boolean isLarge() {
        for (Source source : sources) {
            if (source.template.slots() > Metric.BLOCK) {
                return true;
            }
        }
        return false;
    }
}
