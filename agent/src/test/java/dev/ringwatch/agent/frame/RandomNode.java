package dev.ringwatch.agent.frame;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.UUID;

/**
 * A node whose entities, presence and values change at random, with its own record of what a reader
 * should see.
 */
final class RandomNode {
    private static final long[] CORNERS = {0, 1, -1, 127, 128, Long.MAX_VALUE, Long.MIN_VALUE,
        1L << 32, -(1L << 40)};

    final Model model = new Model();
    final FrameEncoder encoder;
    final long started;
    long at;
    long sequence = -1;
    boolean lastWasKey;
    /** Metric name + labels → value; what is not there has no value. */
    final Map<String, Object> expected = new HashMap<>();
    /** What the last frame says of it. */
    final List<Event> happened = new ArrayList<>();
    private final Random random;
    private final List<Entity> entities = new ArrayList<>();
    private final List<Bounds> bounds = new ArrayList<>();
    private int names;

    private static final class Entity extends Template.Entity {
        final Template template;
        final String[] labels;

        Entity(Template template, String[] labels) {
            this.template = template;
            this.labels = labels;
        }
    }

    RandomNode(long seed, Compressor compressor) {
        random = new Random(seed);
        at = 1 + (random.nextLong() >>> 20);
        started = at;
        encoder = new FrameEncoder(new UUID(random.nextLong(), random.nextLong() | 1),
                text(1 + random.nextInt(20)), 1 + random.nextInt(300_000), compressor);
        model.place(text(random.nextInt(10)), text(random.nextInt(10)));
        for (int i = random.nextInt(5); i > 0; i--) {
            model.fact("fact_" + i, text(random.nextInt(30)));
        }
        for (int i = 1 + random.nextInt(5); i > 0; i--) {
            addTemplate();
        }
    }

    /** Changes something, maybe nothing, and writes it. */
    Bytes next() {
        sequence++;
        at += 1 + random.nextInt(60_000);
        for (int i = random.nextInt(4) == 0 ? 0 : random.nextInt(40); i > 0; i--) {
            change();
        }
        boolean key = sequence == 0 || model.needsKeyFrame() || random.nextInt(8) == 0
                || at / FrameEncoder.WINDOW_MS != keyAt / FrameEncoder.WINDOW_MS;
        lastWasKey = key;
        long cost = random.nextInt(3) == 0 ? -1 : random.nextInt();
        happen();
        if (key) {
            keyAt = at;
            return encoder.key(model, started, sequence, at, cost);
        }
        return encoder.delta(model, started, sequence, at, cost);
    }

    private long keyAt;

    private void happen() {
        happened.clear();
        int count = random.nextInt(3) > 0 ? 0 : 1 + random.nextInt(random.nextInt(9) == 0 ? 64 : 4);
        for (int i = 0; i < count; i++) {
            Map<String, String> labels = new HashMap<>();
            for (int l = random.nextInt(18); l > 0; l--) {
                labels.put("label_" + l, text(random.nextInt(12)));
            }
            long age = Math.min(at - 1, (count - i) * 1_000L);
            happened.add(new Event(at - age, "kind_" + random.nextInt(5),
                    Event.Severity.values()[random.nextInt(3)], labels,
                    text(random.nextInt(random.nextInt(5) == 0 ? 3_000 : 40))));
        }
        encoder.carry(List.copyOf(happened));
    }

    private void change() {
        int what = random.nextInt(100);
        if (what < 2) {
            addTemplate();
        } else if (what < 3) {
            Template template = model.template(random.nextInt(model.templateCount()));
            template.add(metric()); // whose every cell is without a value
        } else if (what < 4) {
            model.place(text(3), text(3));
        } else if (what < 20) {
            addEntity();
        } else if (entities.isEmpty()) {
            return;
        } else if (what < 28) {
            remove(entities.get(random.nextInt(entities.size())));
        } else if (what < 32) { // dropped and created again
            Entity entity = entities.get(random.nextInt(entities.size()));
            remove(entity);
            add(entity.template, entity.labels);
        } else {
            Entity entity = entities.get(random.nextInt(entities.size()));
            value(entity, entity.template.metric(random.nextInt(entity.template.metricCount())));
        }
    }

    private void addTemplate() {
        if (model.templateCount() > 12) {
            return;
        }
        String[] labels = new String[random.nextInt(4)];
        for (int i = 0; i < labels.length; i++) {
            labels[i] = "label_" + i;
        }
        Template template = new Template("type_" + names++, labels);
        for (int i = 1 + random.nextInt(6); i > 0; i--) {
            template.add(metric());
        }
        model.add(template);
        for (int i = random.nextInt(6); i > 0; i--) {
            addEntity(template);
        }
    }

    private Metric metric() {
        String name = "metric_" + names++;
        Kind kind = Kind.values()[random.nextInt(Kind.values().length)];
        String unit = random.nextBoolean() ? "seconds" : "";
        if (kind.hasBuckets()) {
            if (bounds.size() < 5) {
                long[] uppers = new long[1 + random.nextInt(20)];
                long last = random.nextInt(10) - 5;
                for (int i = 0; i < uppers.length; i++) {
                    last += 1 + random.nextInt(100);
                    uppers[i] = last;
                }
                bounds.add(model.bounds(random.nextInt(37) - 18, uppers));
            }
            return Metric.histogram(name, kind, unit, random.nextInt(37) - 18,
                    bounds.get(random.nextInt(bounds.size())), random.nextBoolean());
        }
        boolean scaled = kind == Kind.COUNTER || kind == Kind.GAUGE;
        return Metric.scalar(name, kind, unit, scaled ? random.nextInt(37) - 18 : 0);
    }

    private void addEntity() {
        addEntity(model.template(random.nextInt(model.templateCount())));
    }

    private void addEntity(Template template) {
        String[] labels = new String[template.labelCount()];
        for (int i = 0; i < labels.length; i++) {
            labels[i] = random.nextInt(5) == 0 ? text(random.nextInt(12)) : "v" + random.nextInt(8);
        }
        for (Entity other : entities) {
            if (other.template == template && Arrays.equals(other.labels, labels)) {
                return;
            }
        }
        add(template, labels);
    }

    private void add(Template template, String[] labels) {
        Entity entity = new Entity(template, labels);
        template.addEntity(entity, labels);
        entities.add(entity);
        for (int m = 0; m < template.metricCount(); m++) {
            if (random.nextInt(10) > 0) {
                value(entity, template.metric(m));
            }
        }
    }

    private void remove(Entity entity) {
        entity.template.removeEntity(entity.slot());
        entities.remove(entity);
        for (int m = 0; m < entity.template.metricCount(); m++) {
            expected.remove(id(entity.template.metric(m), entity.labels));
        }
    }

    private void value(Entity entity, Metric metric) {
        String id = id(metric, entity.labels);
        int slot = entity.slot();
        if (random.nextInt(10) == 0) {
            metric.absent(slot);
            expected.remove(id);
            return;
        }
        switch (metric.kind) {
            case COUNTER:
            case GAUGE:
                long value = number();
                metric.set(slot, value);
                expected.put(id, value);
                return;
            case GAUGE_DOUBLE:
                double real = random.nextInt(4) == 0 ? (random.nextBoolean() ? -0.0 : 0.0)
                        : random.nextGaussian() * 1e9;
                metric.setDouble(slot, real);
                expected.put(id, real);
                return;
            case STRING:
                String text = text(random.nextInt(20));
                metric.setText(slot, text);
                expected.put(id, text);
                return;
            default:
                histogram(metric, slot, id);
        }
    }

    private void histogram(Metric metric, int slot, String id) {
        ReferenceDecoder.Histogram h = new ReferenceDecoder.Histogram(metric.bounds.buckets());
        long[] to = metric.writeBuckets(slot);
        for (int i = 0; i < to.length; i++) {
            if (random.nextInt(3) == 0) {
                to[i] = metric.kind == Kind.HISTOGRAM ? number() & Long.MAX_VALUE : number();
            }
            h.buckets[i] = to[i];
        }
        if (metric.hasSum) {
            h.sum = number();
            metric.setSum(slot, h.sum);
        }
        expected.put(id, h);
    }

    private long number() {
        switch (random.nextInt(4)) {
            case 0: return CORNERS[random.nextInt(CORNERS.length)];
            case 1: return random.nextLong();
            default: return random.nextInt(1000);
        }
    }

    private String text(int length) {
        StringBuilder text = new StringBuilder();
        for (int i = 0; i < length; i++) {
            text.appendCodePoint(random.nextInt(10) == 0 ? 0x1F600 + random.nextInt(64)
                    : random.nextInt(10) == 0 ? 'ß' : 'a' + random.nextInt(26));
        }
        return text.toString();
    }

    static String id(Metric metric, String[] labels) {
        return metric.name + Arrays.toString(labels);
    }

    /** The same, of what a reader made of the frame. */
    static Map<String, Object> seen(ReferenceDecoder.State state) {
        Map<String, Object> seen = new HashMap<>();
        for (ReferenceDecoder.Type type : state.types) {
            for (int e : type.live()) {
                for (int m = 0; m < type.metrics.size(); m++) {
                    if (!type.absent.contains(ReferenceDecoder.cell(m, e))) {
                        seen.put(id(type.metrics.get(m), type.entities.get(e)), type.get(m, e));
                    }
                }
            }
        }
        return seen;
    }
}
