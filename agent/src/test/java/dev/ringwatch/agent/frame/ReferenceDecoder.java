package dev.ringwatch.agent.frame;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.UUID;
import java.util.zip.CRC32C;
import java.util.zip.DataFormatException;
import java.util.zip.Inflater;

/**
 * FORMAT.md read the plain way, for tests only: no speed, every rule that a writer could break
 * checked. The state of a node at a frame is the key frame's with the delta frame applied.
 */
public final class ReferenceDecoder {
    /** A node's state as a frame gives it. */
    public static final class State {
        public UUID node;
        public String cluster;
        public long started, sequence, at, interval, keyAge, cost;
        public int check, length, compression, rawLength;
        public String datacenter, rack;
        public final Map<String, String> facts = new TreeMap<>();
        public final List<Bounds> bounds = new ArrayList<>();
        public final List<Type> types = new ArrayList<>();
        /** What happened up to this frame and since the one before. */
        public final List<Event> events = new ArrayList<>();
        boolean hasEvents;

        public boolean isKey() {
            return keyAge == 0;
        }

        public Type type(String name) {
            for (Type type : types) {
                if (type.name.equals(name)) {
                    return type;
                }
            }
            return null;
        }

        /**
         * Metric → label values → value; {@code Long}, {@code Double}, {@code String} or {@link
         * Histogram}.
         */
        public Object value(String metric, String... labels) {
            for (Type type : types) {
                for (int m = 0; m < type.metrics.size(); m++) {
                    if (!type.metrics.get(m).name.equals(metric)) {
                        continue;
                    }
                    for (int e = 0; e < type.entities.size(); e++) {
                        if (type.entities.get(e) != null
                                && Arrays.equals(type.entities.get(e), labels)) {
                            return type.absent.contains(cell(m, e)) ? null : type.get(m, e);
                        }
                    }
                }
            }
            return null;
        }
    }

    public static final class Type {
        public String name;
        public String[] labels;
        public final List<Metric> metrics = new ArrayList<>();
        /** By entity number; null where removed. */
        public final List<String[]> entities = new ArrayList<>();
        final java.util.Set<Long> absent = new java.util.HashSet<>();
        final Map<Long, Object> values = new HashMap<>();

        Object get(int metric, int entity) {
            Object value = values.get(cell(metric, entity));
            if (value != null) {
                return value;
            }
            return zero(metrics.get(metric));
        }

        static Object zero(Metric m) {
            switch (m.kind) {
                case COUNTER: case GAUGE: return 0L;
                case GAUGE_DOUBLE: return 0.0;
                case STRING: return "";
                default: return new Histogram(m.bounds.buckets());
            }
        }

        List<Integer> live() {
            List<Integer> live = new ArrayList<>();
            for (int e = 0; e < entities.size(); e++) {
                if (entities.get(e) != null) {
                    live.add(e);
                }
            }
            return live;
        }
    }

    public static final class Histogram {
        public long sum;
        public final long[] buckets;

        Histogram(int count) {
            buckets = new long[count];
        }

        public long count() {
            return Arrays.stream(buckets).sum();
        }

        @Override
        public boolean equals(Object other) {
            return other instanceof Histogram && sum == ((Histogram) other).sum
                    && Arrays.equals(buckets, ((Histogram) other).buckets);
        }

        @Override
        public int hashCode() {
            return Arrays.hashCode(buckets);
        }

        @Override
        public String toString() {
            return "sum " + sum + " " + Arrays.toString(buckets);
        }
    }

    static long cell(int metric, int entity) {
        return ((long) metric << 32) | entity;
    }

    private final byte[] in;
    private int at;
    private int end;

    private ReferenceDecoder(byte[] in, int from, int end) {
        this.in = in;
        this.at = from;
        this.end = end;
    }

    /** @param key the state of the key frame, or null if this must be one */
    public static State decode(byte[] frame, State key) {
        ReferenceDecoder d = new ReferenceDecoder(frame, 0, frame.length);
        require(d.u8() == 'R' && d.u8() == 'W' && d.u8() == 'F' && d.u8() == 1, "magic");
        State s = new State();
        s.check = d.u32();
        s.length = d.u32();
        require(s.length == frame.length, "length");
        CRC32C crc = new CRC32C();
        crc.update(frame, 8, frame.length - 8);
        require((int) crc.getValue() == s.check, "check");
        int packing = d.u8();
        s.compression = packing & 0x7f;
        s.hasEvents = packing > 0x7f;
        s.node = new UUID(Long.reverseBytes(d.u64()), Long.reverseBytes(d.u64()));
        s.cluster = d.string();
        s.started = d.uvarint();
        s.sequence = d.uvarint();
        s.at = d.uvarint();
        s.interval = d.uvarint();
        s.keyAge = d.uvarint();
        if (s.keyAge > 0) {
            require(key != null && key.isKey() && key.at == s.at - s.keyAge && key.check == d.u32(),
                    "the right key frame");
            require(s.at / 300_000 == key.at / 300_000, "one window");
        }
        s.cost = d.uvarint();
        s.rawLength = (int) d.uvarint();
        byte[] payload = decompress(s.compression,
                Arrays.copyOfRange(frame, d.at, frame.length), s.rawLength);
        require(payload.length == s.rawLength, "raw length");
        ReferenceDecoder p = new ReferenceDecoder(payload, 0, payload.length);
        p.payload(s, s.isKey() ? null : key);
        require(p.at == p.end, "nothing after the payload");
        return s;
    }

    private static byte[] decompress(int compression, byte[] bytes, int rawLength) {
        switch (compression) {
            case 0:
                return bytes;
            case 1:
                byte[] out = new byte[rawLength];
                Inflater inflater = new Inflater(true);
                inflater.setInput(bytes);
                try {
                    require(inflater.inflate(out) == rawLength
                            && (inflater.finished() || inflater.inflate(new byte[1]) == 0),
                            "deflate");
                } catch (DataFormatException e) {
                    throw new IllegalStateException(e);
                }
                inflater.end();
                return out;
            case 2:
                return com.github.luben.zstd.Zstd.decompress(bytes, rawLength);
            default:
                throw new IllegalStateException("compression " + compression);
        }
    }

    private void events(State s) {
        int length = (int) uvarint();
        int from = at;
        int count = (int) uvarint();
        require(count > 0 && count <= 64 && length <= 65_536, "how many events");
        for (int i = 0; i < count; i++) {
            long age = uvarint();
            require(age < s.at && (i == 0 || s.at - age >= s.events.get(i - 1).at),
                    "times ascend");
            String kind = string();
            require(kind.matches("[a-z][a-z0-9_]*") && kind.length() <= 255, "kind " + kind);
            Event.Severity severity = Event.Severity.values()[u8()];
            int labels = (int) uvarint();
            require(labels <= 16, "how many labels");
            Map<String, String> all = new TreeMap<>();
            String previous = "";
            for (int l = 0; l < labels; l++) {
                String name = string();
                String value = string();
                require(previous.compareTo(name) < 0 && name.matches("[a-zA-Z_][a-zA-Z0-9_]*")
                        && !Arrays.asList("cluster", "datacenter", "rack", "node", "le",
                                "quantile").contains(name), "label " + name);
                require(!value.isEmpty() && bytes(value) <= 1_024, "value of " + name);
                all.put(name, value);
                previous = name;
            }
            String text = string();
            require(bytes(text) <= 1_024, "text " + text);
            Event event = new Event(s.at - age, kind, severity, all, text);
            require(event.text.equals(text) && event.labels.equals(all), "what the agent bounds");
            s.events.add(event);
        }
        require(at == from + length, "length of the events");
    }

    private static int bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8).length;
    }

    private void payload(State s, State key) {
        if (s.hasEvents) {
            events(s);
        }
        if (key == null) {
            s.datacenter = string();
            s.rack = string();
            int facts = (int) uvarint();
            String previous = null;
            for (int i = 0; i < facts; i++) {
                String name = string();
                require(previous == null || previous.compareTo(name) < 0, "facts ascend");
                s.facts.put(name, string());
                previous = name;
            }
        } else {
            copy(key, s);
        }
        dictionary(s, key);
        int keyTypes = key == null ? 0 : key.types.size();
        groups(s, t -> {
            long count = uvarint();
            require(count > 0, "entities in a group");
            for (long i = 0; i < count; i++) {
                String[] labels = new String[t.labels.length];
                for (int l = 0; l < labels.length; l++) {
                    labels[l] = string();
                }
                t.entities.add(labels);
            }
        });
        Map<Type, Integer> keyCounts = new HashMap<>();
        if (key != null) {
            for (int i = 0; i < keyTypes; i++) {
                keyCounts.put(s.types.get(i), key.types.get(i).entities.size());
            }
            groups(s, t -> {
                long count = uvarint();
                require(count > 0, "removed in a group");
                for (int e : indexes((int) count)) {
                    require(e < keyCounts.getOrDefault(t, 0) && t.entities.get(e) != null,
                            "removed is the key frame's");
                    t.entities.set(e, null);
                }
            });
        }
        unique(s);
        groups(s, t -> columns(t, (m, selected) -> {
            for (int e : selected) {
                long cell = cell(m, e);
                if (!t.absent.remove(cell)) {
                    t.absent.add(cell);
                }
            }
        }));
        groups(s, t -> columns(t, (m, selected) -> {
            for (int e : selected) {
                require(!t.absent.contains(cell(m, e)), "a value for a cell that is not present");
                entry(t, m, e);
            }
        }));
    }

    private void dictionary(State s, State key) {
        long bounds = uvarint();
        for (long i = 0; i < bounds; i++) {
            int exponent = (int) svarint();
            long[] uppers = new long[(int) uvarint()];
            uppers[0] = svarint();
            for (int b = 1; b < uppers.length; b++) {
                uppers[b] = uppers[b - 1] + uvarint();
            }
            s.bounds.add(new Bounds(exponent, uppers));
        }
        long types = uvarint();
        for (long i = 0; i < types; i++) {
            Type t = new Type();
            t.name = string();
            require(s.type(t.name) == null && t.name.matches("[a-z][a-z0-9_]*"), "type " + t.name);
            t.labels = new String[(int) uvarint()];
            for (int l = 0; l < t.labels.length; l++) {
                t.labels[l] = string();
            }
            long metrics = uvarint();
            require(metrics > 0, "metrics of " + t.name);
            for (long m = 0; m < metrics; m++) {
                String name = string();
                require(name.matches("[a-zA-Z_:][a-zA-Z0-9_:]*"), "metric name " + name);
                Kind kind = Kind.values()[u8()];
                String unit = string();
                int exponent = (int) svarint();
                t.metrics.add(kind.hasBuckets()
                        ? Metric.histogram(name, kind, unit, exponent,
                                s.bounds.get((int) uvarint()), u8() == 1)
                        : Metric.scalar(name, kind, unit, exponent));
            }
            s.types.add(t);
        }
        java.util.Set<String> names = new java.util.HashSet<>();
        for (Type t : s.types) {
            for (Metric m : t.metrics) {
                require(names.add(m.name), "metric named twice: " + m.name);
            }
        }
    }

    private static void unique(State s) {
        for (Type t : s.types) {
            java.util.Set<List<String>> labels = new java.util.HashSet<>();
            for (int e : t.live()) {
                require(labels.add(Arrays.asList(t.entities.get(e))),
                        t.name + " twice: " + Arrays.toString(t.entities.get(e)));
            }
        }
    }

    private void entry(Type t, int m, int e) {
        Metric metric = t.metrics.get(m);
        Object base = t.get(m, e);
        Object value;
        switch (metric.kind) {
            case COUNTER: value = (Long) base + nonZero(uvarint()); break;
            case GAUGE: value = (Long) base + nonZero(svarint()); break;
            case GAUGE_DOUBLE:
                value = Double.longBitsToDouble(u64());
                require(!((Double) value).isNaN() && !value.equals(base), "double");
                break;
            case STRING:
                value = string();
                require(!value.equals(base), "string that differs");
                break;
            default:
                value = histogram(metric, (Histogram) base);
        }
        t.values.put(cell(m, e), value);
    }

    private Histogram histogram(Metric metric, Histogram base) {
        Histogram h = new Histogram(base.buckets.length);
        long sum = metric.hasSum ? svarint() : 0;
        h.sum = base.sum + sum;
        System.arraycopy(base.buckets, 0, h.buckets, 0, h.buckets.length);
        int k = (int) uvarint();
        require(k > 0 || sum != 0, "a histogram that differs");
        for (int i = 0, b = -1; i < k; i++) {
            b += (int) uvarint() + 1;
            h.buckets[b] += nonZero(metric.kind == Kind.HISTOGRAM ? uvarint() : svarint());
            require(metric.kind == Kind.GAUGE_HISTOGRAM || h.buckets[b] >= 0, "bucket below 2^63");
        }
        return h;
    }

    /** The key frame's state; cells that were not present count as zero from here on. */
    private static void copy(State key, State s) {
        s.datacenter = key.datacenter;
        s.rack = key.rack;
        s.facts.putAll(key.facts);
        s.bounds.addAll(key.bounds);
        for (Type from : key.types) {
            Type t = new Type();
            t.name = from.name;
            t.labels = from.labels;
            t.metrics.addAll(from.metrics);
            t.entities.addAll(from.entities);
            t.absent.addAll(from.absent);
            t.values.putAll(from.values);
            s.types.add(t);
        }
    }

    private interface Group {
        void read(Type type);
    }

    private interface Column {
        void read(int metric, int[] entities);
    }

    private void groups(State s, Group group) {
        long count = uvarint();
        int number = -1;
        for (long i = 0; i < count; i++) {
            number += (int) uvarint() + 1;
            group.read(s.types.get(number));
        }
    }

    private void columns(Type t, Column column) {
        long count = uvarint();
        require(count > 0, "columns in a group");
        int metric = -1;
        for (long i = 0; i < count; i++) {
            metric += (int) uvarint() + 1;
            require(metric < t.metrics.size(), "metric number");
            int c = (int) uvarint();
            List<Integer> live = t.live();
            int[] selected;
            if (c == 0) {
                require(!live.isEmpty(), "a column without entities");
                selected = live.stream().mapToInt(Integer::intValue).toArray();
            } else {
                selected = indexes(c);
                for (int e : selected) {
                    require(live.contains(e), "a live entity");
                }
                require(c < live.size(), "all live entities have one form");
            }
            column.read(metric, selected);
        }
    }

    private int[] indexes(int count) {
        int[] list = new int[count];
        int previous = -1;
        for (int i = 0; i < count; i++) {
            previous += (int) uvarint() + 1;
            list[i] = previous;
        }
        return list;
    }

    private static long nonZero(long difference) {
        require(difference != 0, "a difference of zero");
        return difference;
    }

    private int u8() {
        return in[at++] & 0xff;
    }

    private int u32() {
        return u8() | u8() << 8 | u8() << 16 | u8() << 24;
    }

    private long u64() {
        return (u32() & 0xffffffffL) | ((long) u32() << 32);
    }

    private long uvarint() {
        long value = 0;
        for (int shift = 0; ; shift += 7) {
            int b = u8();
            value |= (long) (b & 0x7f) << shift;
            if (b < 0x80) {
                require(b != 0 || shift == 0, "shortest varint");
                return value;
            }
        }
    }

    private long svarint() {
        long z = uvarint();
        return (z >>> 1) ^ -(z & 1);
    }

    private String string() {
        int length = (int) uvarint();
        at += length;
        return new String(in, at - length, length, StandardCharsets.UTF_8);
    }

    private static void require(boolean holds, String what) {
        if (!holds) {
            throw new IllegalStateException("broken: " + what);
        }
    }
}
