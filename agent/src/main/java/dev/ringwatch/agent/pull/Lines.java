package dev.ringwatch.agent.pull;

import dev.ringwatch.agent.frame.Kind;
import dev.ringwatch.agent.frame.Metric;
import java.nio.charset.StandardCharsets;

/**
 * Writes families as text 0.0.4 or OpenMetrics 1.0: their headers and their numbers. {@link
 * Histograms} writes the rest.
 */
final class Lines {
    private final Text out;
    private final boolean open;
    private final Histograms histograms;
    private byte[] name;
    private boolean headed;

    Lines(Text out, boolean open) {
        this.out = out;
        this.open = open;
        histograms = new Histograms(out, open);
    }

    /**
     * True if what was written since the last call will be another text soon, though no value
     * moves.
     */
    boolean fades() {
        return histograms.fades();
    }

    /** A family that is written whole: its header comes before its first line, if there is one. */
    void begin(Family family) {
        headed = false;
        name = family.name.getBytes(StandardCharsets.US_ASCII);
    }

    /** A family of which a part is written: the first part begins with the header, lines or not. */
    void part(Family family, boolean first) {
        begin(family);
        if (first) {
            head(family);
        }
        headed = true;
    }

    /** The lines of the slots of one source, from one up to another. */
    void slots(Family family, Family.Source source, int from, int to, long now) {
        Metric metric = source.metric;
        for (int slot = from; slot < Math.min(to, source.template.slots()); slot++) {
            if (!source.template.isLive(slot) || !metric.isPresent(slot)) {
                continue;
            }
            if (source.leavesOut(slot)) {
                continue;
            }
            boolean hasBounds = source.part == Family.Part.BUCKETS || !family.type.isScalar()
                    && family.type != Family.Type.SUMMARY;
            if (hasBounds && !Histograms.counted(metric, slot)) {
                continue;
            }
            if (!headed) {
                head(family);
            }
            byte[] labels = source.series.at(slot);
            if (source.part != null) {
                histograms.part(name, source, slot, labels);
            } else if (family.type.isScalar()) {
                scalar(source, slot, labels);
            } else if (family.type == Family.Type.SUMMARY) {
                histograms.summary(name, source, slot, labels, now);
            } else {
                histograms.whole(name, family.type, metric, slot, labels);
            }
        }
    }

    void eof() {
        out.add("# EOF\n");
    }

    private void head(Family family) {
        headed = true;
        String named = open ? family.openName : family.name;
        out.add("# HELP ");
        out.add(named);
        out.add(' ');
        out.add(family.help);
        out.add("\n# TYPE ");
        out.add(named);
        out.add(' ');
        out.add(open ? family.openType : family.type.text);
        out.add('\n');
        if (open && !family.unit.isEmpty() && named.endsWith("_" + family.unit)) {
            out.add("# UNIT ");
            out.add(named);
            out.add(' ');
            out.add(family.unit);
            out.add('\n');
        }
    }

    private void scalar(Family.Source source, int slot, byte[] labels) {
        Metric metric = source.metric;
        out.add(name);
        if (metric.kind == Kind.STRING) {
            out.labelsAnd(labels);
            out.add(Text.label(textLabel(source), metric.text(slot)));
            out.add("} 1\n");
            return;
        }
        out.labels(labels);
        if (metric.kind == Kind.GAUGE_DOUBLE) {
            out.real(Double.longBitsToDouble(metric.value(slot)) * source.factor);
        } else {
            out.decimal(metric.value(slot), metric.exponent + source.shift,
                    metric.kind == Kind.COUNTER);
        }
        out.add('\n');
    }

    /**
     * The label of a text: {@code value}, or what is free with {@code exported_} before it, as
     * Prometheus makes room and the API does.
     */
    private static String textLabel(Family.Source source) {
        String name = "value";
        for (int l = 0; l < source.labels.size(); l++) {
            if (source.labels.get(l).name.equals(name)) {
                name = "exported_" + name;
                l = -1;
            }
        }
        return name;
    }
}
