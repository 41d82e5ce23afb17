package dev.ringwatch.agent.pull;

import dev.ringwatch.agent.frame.Bounds;
import dev.ringwatch.agent.frame.Kind;
import dev.ringwatch.agent.frame.Metric;
import dev.ringwatch.agent.frame.Model;
import dev.ringwatch.agent.frame.Template;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Collectors;

/**
 * A profile's series as entities of the node's own frames, with the labels that a scrape job would
 * add: what it makes of the model is copied into templates beside the model's own, cell by cell
 * where a block of cells changed.
 *
 * <p>An empty value is no label. A name that the frame has already, the node's own first, is left
 * out. When the profile has other families, all its templates are made anew, at most once a minute:
 * that takes a key frame.
 */
public final class SentNames {
    /** A value of more characters may be too long for a frame. */
    private static final int MAX_VALUE = 341;
    private static final int MAX_SAID = 20;

    private static final class Row extends Template.Entity {
        final Template template;
        final List<String> values;
        int users;

        Row(Template template, List<String> values) {
            this.template = template;
            this.values = values;
        }
    }

    /** The entities of one source template under one set of labels. */
    private final class Rows {
        final Family.Source source;
        final Template target;
        /** By the target's labels; null is no label. */
        final Label[] labels;
        final Map<List<String>, Row> known;
        final List<Cells> cells = new ArrayList<>();
        Row[] rows = new Row[0];
        String[][] of = new String[0][];

        Rows(Family.Source source, Template target, Label[] labels,
                Map<List<String>, Row> known) {
            this.source = source;
            this.target = target;
            this.labels = labels;
            this.known = known;
        }

        /**
         * First what has gone, so that what comes with the same labels begins anew. What a key
         * frame has only moved to another slot keeps its row.
         */
        void leave() {
            int slots = source.template.slots();
            if (of.length < slots) {
                of = Arrays.copyOf(of, slots);
                rows = Arrays.copyOf(rows, slots);
            }
            Map<String[], Row> left = null;
            for (int slot = 0; slot < of.length; slot++) {
                if (of[slot] != null && of[slot] != entity(slot)) {
                    left = left == null ? new IdentityHashMap<>() : left;
                    left.put(of[slot], rows[slot]);
                    of[slot] = null;
                    rows[slot] = null;
                }
            }
            if (left == null) {
                return;
            }
            for (int slot = 0; slot < of.length; slot++) {
                if (of[slot] == null) {
                    rows[slot] = left.remove(entity(slot));
                    of[slot] = rows[slot] == null ? null : entity(slot);
                }
            }
            left.values().forEach(this::leave);
            for (Cells each : cells) {
                each.copyAll = true;
            }
        }

        /** How many have no room. */
        int enter() {
            int without = 0;
            for (int slot = 0; slot < of.length; slot++) {
                String[] entity = entity(slot);
                String[] values = entity == null || of[slot] != null ? null : values(entity);
                if (values != null) {
                    rows[slot] = enter(values);
                    of[slot] = rows[slot] == null ? null : entity;
                    without += rows[slot] == null ? 1 : 0;
                    for (int c = 0; rows[slot] != null && c < cells.size(); c++) {
                        cells.get(c).copyAll = true;
                    }
                }
            }
            return without;
        }

        private String[] entity(int slot) {
            return slot < source.template.slots() && source.template.isLive(slot)
                    && !source.leavesOut(slot) ? source.template.entity(slot) : null;
        }

        /** Null if one may be too long for any frame. */
        private String[] values(String[] entity) {
            String[] values = new String[labels.length];
            for (int l = 0; l < labels.length; l++) {
                values[l] = labels[l] == null ? "" : labels[l].value(entity);
                if (values[l].length() > MAX_VALUE) {
                    return null;
                }
            }
            return values;
        }

        private Row enter(String[] values) {
            List<String> key = Arrays.asList(values);
            Row row = known.get(key);
            if (row == null) {
                if (!room.take(target, key)) {
                    return null;
                }
                row = new Row(target, key);
                known.put(key, row);
                target.addEntity(row, values);
            }
            row.users++;
            return row;
        }

        private void leave(Row row) {
            for (Cells each : cells) {
                each.out.absent(row.slot());
            }
            if (--row.users == 0) {
                known.remove(row.values);
                target.removeEntity(row.slot());
                room.give(1);
            }
        }
    }

    /** What is copied: a value as it is, one part of a histogram, or quantiles of it. */
    private enum What { VALUE, COUNT, SUM, BUCKETS, QUANTILES }

    private final class Cells {
        final Family.Source source;
        final What what;
        final Metric out;
        /** One, or one for each quantile. */
        final Rows[] rows;
        private final int[] ends;
        private int[] seen = new int[0];
        private boolean[] fades = new boolean[0];
        boolean copyAll = true;

        Cells(Family.Source source, What what, Metric out, Rows... rows) {
            this.source = source;
            this.what = what;
            this.out = out;
            this.rows = rows;
            ends = what == What.BUCKETS ? Histograms.ends(source.metric.bounds, source.shift)
                    : null;
            for (Rows each : rows) {
                each.cells.add(this);
            }
        }

        void copy(long now) {
            int blocks = (source.template.slots() + Metric.BLOCK - 1) / Metric.BLOCK;
            if (seen.length < blocks) {
                seen = Arrays.copyOf(seen, blocks);
                fades = Arrays.copyOf(fades, blocks);
                copyAll = true;
            }
            for (int b = 0; b < blocks; b++) {
                int changes = source.metric.changes(b);
                if (copyAll || fades[b] || seen[b] != changes) {
                    seen[b] = changes;
                    fades[b] = false;
                    int end = Math.min(source.template.slots(), (b + 1) * Metric.BLOCK);
                    for (int slot = b * Metric.BLOCK; slot < end; slot++) {
                        copy(slot, b, now);
                    }
                }
            }
            copyAll = false;
        }

        private void copy(int slot, int block, long now) {
            boolean there = source.template.isLive(slot) && source.metric.isPresent(slot)
                    && !source.leavesOut(slot);
            if (what == What.QUANTILES) {
                quantiles(slot, block, there, now);
                return;
            }
            Row row = rows[0].rows[slot];
            if (row == null) {
                return;
            }
            if (!there) {
                out.absent(row.slot());
            } else if (what == What.BUCKETS) {
                buckets(slot, row.slot());
            } else if (what == What.COUNT) {
                out.set(row.slot(), Histograms.total(source.metric, slot));
            } else if (source.metric.kind == Kind.GAUGE_DOUBLE) {
                out.setDouble(row.slot(), Double.longBitsToDouble(source.metric.value(slot))
                        * source.factor);
            } else {
                out.set(row.slot(), source.metric.value(slot));
            }
        }

        /** One that has never counted anything stays without buckets. */
        private void buckets(int slot, int to) {
            long[] counts = source.metric.buckets(slot);
            if (counts == null) {
                out.setEmpty(to);
                return;
            }
            long[] into = out.writeBuckets(to);
            int next = 0;
            for (int e = 0; e < into.length; e++) {
                into[e] = 0;
                for (int end = e < ends.length ? ends[e] : counts.length; next < end; next++) {
                    into[e] += counts[next];
                }
            }
            if (out.hasSum) {
                out.setSum(to, source.metric.value(slot));
            }
        }

        private void quantiles(int slot, int block, boolean there, long now) {
            boolean counts = source.metric.kind == Kind.HISTOGRAM;
            boolean some = there && source.recent.look(slot, source.template.entity(slot), now);
            fades[block] |= some && counts;
            for (int q = 0; q < rows.length; q++) {
                Row row = rows[q].rows[slot];
                if (row != null && there && (some || counts)) {
                    out.set(row.slot(), some ? source.recent.bound(Histograms.QUANTILES[q]) : 0);
                } else if (row != null) {
                    out.absent(row.slot());
                }
            }
        }
    }

    private static final int USUAL_PORT = 9472;

    private final Model model;
    private final Profile profile;
    private final FrameRoom room;
    private final int port;
    private final Map<String, String> given;
    private Map<String, String> added = Map.of();
    private final Map<Metric, Recent> recents = new IdentityHashMap<>();
    private final SentTemplates targets;
    private final Map<String, Rows> rows = new LinkedHashMap<>();
    private final Map<Template, Map<List<String>, Row>> known = new IdentityHashMap<>();
    private final List<Cells> cells = new ArrayList<>();
    private Layout layout;
    private boolean tooMuch;
    private int leftOut;
    private Set<String> lostNames = Set.of();

    /**
     * @param labels what a scrape job would add; {@code instance} is the node's address and the
     *     port, where neither they nor the profile have one
     */
    public SentNames(FrameRoom room, Profile profile, Map<String, String> labels, int port) {
        this.room = room;
        this.profile = profile;
        this.port = port > 0 ? port : USUAL_PORT;
        this.given = labels;
        model = room.add(this);
        targets = new SentTemplates(model, room, profile);
    }

    /** The model is locked by the caller, and written for this pass. */
    public void pass(boolean slowTurn) {
        boolean named = !model.fact("address").isEmpty() && !room.isClosed(); // who it is
        if (named && (slowTurn && (layout == null || !layout.isCurrent(model))
                || layout == null && !tooMuch || targets.isNameTaken())) {
            build();
        }
        room.measure();
        if (room.isExceeded()) {
            leave();
        } else {
            copy(slowTurn);
        }
        room.show();
    }

    private void copy(boolean slowTurn) {
        for (Rows each : rows.values()) {
            each.leave();
        }
        if (slowTurn && layout != null) {
            leftOut = 0;
        }
        for (Rows each : rows.values()) {
            if (slowTurn) {
                leftOut += each.enter();
            } else if (!room.isFull()) { // else it would look for room in vain
                each.enter();
            }
        }
        long now = System.currentTimeMillis();
        for (int c = 0; c < cells.size(); c++) {
            cells.get(c).copy(now);
        }
    }

    /** Entities that are sent now. */
    int entities() {
        return known.values().stream().mapToInt(Map::size).sum();
    }

    /**
     * Entities that had no room at the last turn of a minute; one of two sources may count twice.
     */
    int leftOut() {
        return leftOut;
    }

    /** Takes all that is sent out of the model, for this minute. */
    void leave() {
        leftOut += entities();
        clear();
        layout = null;
        tooMuch = true;
    }

    private void clear() {
        room.give(entities());
        targets.clear();
        known.clear();
        rows.clear();
        cells.clear();
    }

    private void build() {
        clear();
        tooMuch = false;
        layout = new Layout(model, List.of(profile), recents);
        String host = Label.host(model.fact("address"));
        added = new TreeMap<>(given);
        added.putIfAbsent("instance", (host.contains(":") ? '[' + host + ']' : host) + ":" + port);
        targets.begin();
        Map<String, Family> parts = new HashMap<>();
        for (Family family : layout.families) {
            parts.put(family.name, family);
        }
        Set<String> lost = new TreeSet<>();
        for (Family family : layout.families) {
            if (isOfBuckets(family, parts)) {
                continue;
            }
            if (!send(family, parts)) {
                lost.add(family.name);
            }
        }
        if (!lost.isEmpty() && !lost.equals(lostNames)) {
            room.say("send_profiles: " + profile + ": the node's own frames have these names "
                    + "already, with other labels or values, or a frame cannot have them, so they "
                    + "are not sent: "
                    + lost.stream().limit(MAX_SAID).collect(Collectors.joining(", "))
                    + (lost.size() > MAX_SAID ? " and " + (lost.size() - MAX_SAID) + " more" : ""));
        }
        lostNames = lost;
    }

    /** Sums and counts beside buckets are the histogram's. */
    private static boolean isOfBuckets(Family family, Map<String, Family> all) {
        for (String end : new String[] {"_sum", "_count"}) {
            if (family.name.endsWith(end)) {
                String base = family.name.substring(0, family.name.length() - end.length());
                Family buckets = all.get(base + "_bucket");
                if (buckets != null && buckets.sources.get(0).part == Family.Part.BUCKETS) {
                    return true;
                }
            }
        }
        return false;
    }

    /** False if a frame cannot have it. */
    private boolean send(Family family, Map<String, Family> all) {
        Family.Source first = family.sources.get(0);
        if (family.type == Family.Type.SUMMARY) {
            return summary(family);
        }
        if (!family.type.isScalar() || first.metric.kind == Kind.STRING) {
            return false;
        }
        int exponent = first.metric.exponent + first.shift;
        if (first.part == Family.Part.BUCKETS) {
            String base = family.name.substring(0, family.name.length() - "_bucket".length());
            long[] bounds = Arrays.stream(McacNames.BOUNDS).asLongStream().toArray();
            Bounds shown = model.bounds(0, bounds);
            return add(family, Metric.histogram(base, Kind.HISTOGRAM, "", exponent, shown,
                    all.containsKey(base + "_sum")), What.BUCKETS);
        } else if (first.part == Family.Part.COUNT) {
            return add(family, Metric.scalar(family.name, Kind.COUNTER, "", 0), What.COUNT);
        } else if (first.part == Family.Part.SUM) {
            return add(family, Metric.scalar(family.name, Kind.GAUGE, "", exponent), What.SUM);
        }
        boolean real = first.metric.kind == Kind.GAUGE_DOUBLE;
        return add(family, Metric.scalar(family.name, first.metric.kind, "", real ? 0 : exponent),
                What.VALUE);
    }

    private boolean add(Family family, Metric out, What what) {
        Template target = targets.fit(List.of(out))
                ? targets.of(family, added.keySet(), false) : null;
        if (target == null) {
            return false;
        }
        add(family, target, out, what);
        return true;
    }

    private boolean summary(Family family) {
        Family.Source first = family.sources.get(0);
        List<Metric> out = new ArrayList<>();
        out.add(Metric.scalar(family.name, Kind.GAUGE, "",
                first.metric.bounds.exponent + first.shift));
        out.add(Metric.scalar(family.name + "_count",
                first.metric.kind == Kind.HISTOGRAM ? Kind.COUNTER : Kind.GAUGE, "", 0));
        if (first.metric.hasSum) {
            out.add(Metric.scalar(family.name + "_sum", Kind.GAUGE, "",
                    first.metric.exponent + first.shift));
        }
        if (!targets.fit(out)) {
            return false;
        }
        Template quantiles = targets.of(family, added.keySet(), true);
        Template rest = quantiles == null ? null
                : targets.of(family, added.keySet(), false);
        if (rest == null) {
            return false;
        }
        add(family, quantiles, out.get(0), What.QUANTILES);
        add(family, rest, out.get(1), What.COUNT);
        if (first.metric.hasSum) {
            add(family, rest, out.get(2), What.SUM);
        }
        return true;
    }

    /** Sources of another exponent than the first one's would be another value: they are left. */
    private void add(Family family, Template target, Metric out, What what) {
        targets.add(target, out);
        Family.Source first = family.sources.get(0);
        for (Family.Source source : family.sources) {
            boolean same = source.metric.kind == first.metric.kind && source.part == first.part
                    && source.metric.exponent + source.shift == first.metric.exponent + first.shift
                    && source.metric.hasSum == first.metric.hasSum;
            if (!same) {
                continue;
            }
            if (what != What.QUANTILES) {
                cells.add(new Cells(source, what, out, rows(source, target, null)));
                continue;
            }
            Rows[] all = new Rows[Histograms.QUANTILES.length];
            for (int q = 0; q < all.length; q++) {
                all[q] = rows(source, target, Histograms.QUANTILE_NAMES[q]);
            }
            cells.add(new Cells(source, what, out, all));
        }
    }

    private Rows rows(Family.Source source, Template target, String quantile) {
        Label[] labels = new Label[target.labelCount()];
        for (int l = 0; l < labels.length; l++) {
            String name = target.label(l);
            if (name.equals(SentTemplates.label("quantile")) && quantile != null) {
                labels[l] = Label.constant(name, quantile);
                continue;
            }
            for (Label label : source.labels) {
                if (SentTemplates.label(label.name).equals(name)) {
                    labels[l] = label;
                }
            }
            if (labels[l] == null && added.containsKey(name)) {
                labels[l] = Label.constant(name, added.get(name));
            }
        }
        String key = System.identityHashCode(source.template) + "/" + target.type + "/"
                + source.labels + "/" + quantile + "/" + Arrays.toString(source.only)
                + source.without;
        return rows.computeIfAbsent(key,
                k -> new Rows(source, target, labels,
                known.computeIfAbsent(target, t -> new HashMap<>())));
    }
}
