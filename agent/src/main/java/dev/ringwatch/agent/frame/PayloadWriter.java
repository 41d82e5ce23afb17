package dev.ringwatch.agent.frame;

import java.util.Arrays;
import java.util.List;
import java.util.Map;

/**
 * The payload of a frame, FORMAT.md §4: the differences between a model and its key frame, in
 * canonical form.
 *
 * <p>Counts stand before what they count, so groups and columns are gathered in buffers of their
 * own first; those are kept from frame to frame. Cost of an idle pass: one comparison per cell, in
 * the order the cells lie in memory.
 */
final class PayloadWriter {
    private final Bytes groups = new Bytes(4096);
    private final Bytes columns = new Bytes(4096);
    private int groupCount;
    private int lastTemplate;
    private int columnCount;
    private int lastMetric;

    private int[] selected = new int[64];
    /** What a key frame is compared with. */
    private long[] zeros = new long[64];
    private boolean[] allPresent = new boolean[0];
    private long[] zeroBuckets = new long[64];

    /** Section 4.0, which is not there without events. */
    void events(List<Event> events, long at, Bytes out) {
        if (events.isEmpty()) {
            return;
        }
        groups.clear();
        groups.uvarint(events.size());
        for (Event event : events) {
            groups.uvarint(at - event.at);
            groups.string(event.kind);
            groups.u8(event.severity.ordinal());
            groups.uvarint(event.labels.size());
            for (Map.Entry<String, String> label : event.labels.entrySet()) {
                groups.string(label.getKey());
                groups.string(label.getValue());
            }
            groups.string(event.text);
        }
        out.uvarint(groups.length());
        out.append(groups);
    }

    void write(Model model, boolean key, Bytes out) {
        if (key) {
            identity(model, out);
        }
        dictionary(model, out);
        for (int t = 0; t < model.templateCount(); t++) {
            model.template(t).number();
        }
        entities(model, out);
        if (!key) {
            removed(model, out);
        }
        presence(model, key, out);
        values(model, key, out);
    }

    private static void identity(Model model, Bytes out) {
        out.string(model.datacenter());
        out.string(model.rack());
        out.uvarint(model.facts().size());
        for (Map.Entry<String, String> fact : model.facts().entrySet()) {
            out.string(fact.getKey());
            out.string(fact.getValue());
        }
    }

    private static void dictionary(Model model, Bytes out) {
        out.uvarint(model.boundsCount() - model.keyBounds);
        for (int b = model.keyBounds; b < model.boundsCount(); b++) {
            bounds(model.bounds(b), out);
        }
        out.uvarint(model.templateCount() - model.keyTemplates);
        for (int t = model.keyTemplates; t < model.templateCount(); t++) {
            template(model.template(t), out);
        }
    }

    private static void bounds(Bounds bounds, Bytes out) {
        out.svarint(bounds.exponent);
        out.uvarint(bounds.size());
        out.svarint(bounds.bound(0));
        for (int i = 1; i < bounds.size(); i++) {
            out.uvarint(bounds.bound(i) - bounds.bound(i - 1));
        }
    }

    private static void template(Template template, Bytes out) {
        out.string(template.type);
        out.uvarint(template.labelCount());
        for (int i = 0; i < template.labelCount(); i++) {
            out.string(template.label(i));
        }
        out.uvarint(template.metricCount());
        for (int i = 0; i < template.metricCount(); i++) {
            Metric metric = template.metric(i);
            out.string(metric.name);
            out.u8(metric.kind.ordinal());
            out.string(metric.unit);
            out.svarint(metric.exponent);
            if (metric.bounds != null) {
                out.uvarint(metric.bounds.number);
                out.u8(metric.hasSum ? 1 : 0);
            }
        }
    }

    private void entities(Model model, Bytes out) {
        beginGroups();
        for (int t = 0; t < model.templateCount(); t++) {
            Template template = model.template(t);
            int count = 0;
            for (int slot = template.keySlots; slot < template.slots(); slot++) {
                count += template.isLive(slot) ? 1 : 0;
            }
            if (count == 0) {
                continue;
            }
            beginGroup(t);
            groups.uvarint(count);
            for (int slot = template.keySlots; slot < template.slots(); slot++) {
                if (template.isLive(slot)) {
                    for (int i = 0; i < template.labelCount(); i++) {
                        groups.string(template.labelValue(slot, i));
                    }
                }
            }
        }
        endGroups(out);
    }

    private void removed(Model model, Bytes out) {
        beginGroups();
        for (int t = 0; t < model.keyTemplates; t++) {
            Template template = model.template(t);
            ensure(template.slots());
            int count = 0;
            for (int slot = 0; slot < template.keySlots; slot++) {
                if (!template.isLive(slot)) {
                    selected[count++] = slot;
                }
            }
            if (count == 0) {
                continue;
            }
            beginGroup(t);
            groups.uvarint(count);
            int previous = -1;
            for (int i = 0; i < count; i++) {
                groups.uvarint(selected[i] - previous - 1);
                previous = selected[i];
            }
        }
        endGroups(out);
    }

    private void presence(Model model, boolean key, Bytes out) {
        beginGroups();
        for (int t = 0; t < model.templateCount(); t++) {
            Template template = model.template(t);
            ensure(template.slots());
            beginColumns();
            for (int m = 0; m < template.metricCount(); m++) {
                Metric metric = template.metric(m);
                boolean[] base = key ? allPresent : metric.basePresent;
                boolean[] now = metric.present;
                int count = 0;
                for (int slot = 0, slots = template.slots(); slot < slots; slot++) {
                    if (now[slot] != base[slot] && template.isLive(slot)) {
                        selected[count++] = slot;
                    }
                }
                if (count > 0) {
                    beginColumn(m);
                    selector(template, count);
                }
            }
            endColumns(t);
        }
        endGroups(out);
    }

    private void values(Model model, boolean key, Bytes out) {
        beginGroups();
        for (int t = 0; t < model.templateCount(); t++) {
            Template template = model.template(t);
            ensure(template.slots());
            beginColumns();
            for (int m = 0; m < template.metricCount(); m++) {
                Metric metric = template.metric(m);
                switch (metric.kind) {
                    case HISTOGRAM:
                    case GAUGE_HISTOGRAM:
                        histograms(template, m, metric, key);
                        break;
                    case STRING:
                        strings(template, m, metric, key);
                        break;
                    default:
                        numbers(template, m, metric, key);
                }
            }
            endColumns(t);
        }
        endGroups(out);
    }

    private void numbers(Template template, int m, Metric metric, boolean key) {
        long[] base = key ? zeros : metric.base;
        long[] now = metric.now;
        boolean[] present = metric.present;
        int count = 0;
        for (int slot = 0, slots = template.slots(); slot < slots; slot++) {
            if (now[slot] != base[slot] && present[slot]) {
                selected[count++] = slot;
            }
        }
        if (count == 0) {
            return;
        }
        beginColumn(m);
        selector(template, count);
        for (int i = 0; i < count; i++) {
            int slot = selected[i];
            switch (metric.kind) {
                case COUNTER:
                    columns.uvarint(now[slot] - base[slot]);
                    break;
                case GAUGE:
                    columns.svarint(now[slot] - base[slot]);
                    break;
                default:
                    columns.u64(now[slot]);
            }
        }
    }

    private void histograms(Template template, int m, Metric metric, boolean key) {
        int count = 0;
        for (int slot = 0, slots = template.slots(); slot < slots; slot++) {
            if ((key || metric.touched[slot]) && metric.present[slot]
                    && differs(metric, slot, key)) {
                selected[count++] = slot;
            }
        }
        if (count == 0) {
            return;
        }
        beginColumn(m);
        selector(template, count);
        for (int i = 0; i < count; i++) {
            histogram(metric, selected[i], key);
        }
    }

    private boolean differs(Metric metric, int slot, boolean key) {
        if (metric.hasSum && metric.now[slot] != (key ? 0 : metric.base[slot])) {
            return true;
        }
        long[] now = metric.buckets[slot];
        return now != null && !Arrays.equals(now, 0, now.length, baseBuckets(metric, slot, key),
                0, now.length);
    }

    private long[] baseBuckets(Metric metric, int slot, boolean key) {
        long[] base = key ? null : metric.baseBuckets[slot];
        if (base == null) {
            if (zeroBuckets.length < metric.bounds.buckets()) {
                zeroBuckets = new long[metric.bounds.buckets()];
            }
            base = zeroBuckets;
        }
        return base;
    }

    private void histogram(Metric metric, int slot, boolean key) {
        if (metric.hasSum) {
            columns.svarint(metric.now[slot] - (key ? 0 : metric.base[slot]));
        }
        long[] now = metric.buckets[slot];
        if (now == null) {
            columns.uvarint(0);
            return;
        }
        long[] base = baseBuckets(metric, slot, key);
        int changed = 0;
        for (int b = 0; b < now.length; b++) {
            changed += now[b] != base[b] ? 1 : 0;
        }
        columns.uvarint(changed);
        int previous = -1;
        for (int b = 0; b < now.length; b++) {
            if (now[b] == base[b]) {
                continue;
            }
            columns.uvarint(b - previous - 1);
            previous = b;
            if (metric.kind == Kind.HISTOGRAM) {
                columns.uvarint(now[b] - base[b]);
            } else {
                columns.svarint(now[b] - base[b]);
            }
        }
    }

    private void strings(Template template, int m, Metric metric, boolean key) {
        int count = 0;
        for (int slot = 0, slots = template.slots(); slot < slots; slot++) {
            if (metric.present[slot]
                    && !text(metric.text, slot).equals(key ? "" : text(metric.baseText, slot))) {
                selected[count++] = slot;
            }
        }
        if (count == 0) {
            return;
        }
        beginColumn(m);
        selector(template, count);
        for (int i = 0; i < count; i++) {
            columns.string(text(metric.text, selected[i]));
        }
    }

    private static String text(String[] column, int slot) {
        return column[slot] == null ? "" : column[slot];
    }

    /** The chosen slots as entity numbers; "all live" has one form only. */
    private void selector(Template template, int count) {
        if (count == template.liveCount()) {
            columns.uvarint(0);
            return;
        }
        columns.uvarint(count);
        int previous = -1;
        for (int i = 0; i < count; i++) {
            int number = template.numbers[selected[i]];
            columns.uvarint(number - previous - 1);
            previous = number;
        }
    }

    private void beginGroups() {
        groups.clear();
        groupCount = 0;
        lastTemplate = -1;
    }

    private void beginGroup(int template) {
        groups.uvarint(template - lastTemplate - 1);
        lastTemplate = template;
        groupCount++;
    }

    private void endGroups(Bytes out) {
        out.uvarint(groupCount);
        out.append(groups);
    }

    private void beginColumns() {
        columns.clear();
        columnCount = 0;
        lastMetric = -1;
    }

    private void beginColumn(int metric) {
        columns.uvarint(metric - lastMetric - 1);
        lastMetric = metric;
        columnCount++;
    }

    private void endColumns(int template) {
        if (columnCount > 0) {
            beginGroup(template);
            groups.uvarint(columnCount);
            groups.append(columns);
        }
    }

    private void ensure(int slots) {
        if (selected.length < slots) {
            selected = new int[slots * 2];
            zeros = new long[slots * 2];
        }
        if (allPresent.length < selected.length) {
            allPresent = new boolean[selected.length];
            Arrays.fill(allPresent, true);
        }
    }
}
