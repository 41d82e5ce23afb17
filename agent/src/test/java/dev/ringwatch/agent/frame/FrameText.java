package dev.ringwatch.agent.frame;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;

/**
 * Reads the text form of {@code frame/testdata/vectors} into the encoder's model. The grammar
 * stands in frame/text_test.go.
 */
final class FrameText {
    final String name;
    final StringBuilder hex = new StringBuilder();
    private final List<List<String>> lines = new ArrayList<>();
    private final Map<String, String> header = new HashMap<>();

    private FrameText(String name) {
        this.name = name;
    }

    static List<FrameText> parse(List<String> text) {
        List<FrameText> all = new ArrayList<>();
        for (String line : text) {
            line = line.trim();
            if (line.isEmpty() || line.charAt(0) == '#') {
                continue;
            }
            List<String> words = words(line);
            FrameText last = all.isEmpty() ? null : all.get(all.size() - 1);
            switch (words.get(0)) {
                case "frame":
                    all.add(new FrameText(words.get(1)));
                    break;
                case "hex":
                    last.hex.append(words.get(1));
                    break;
                case "node": case "cluster": case "started": case "sequence": case "at":
                case "interval": case "key_age": case "key": case "cost":
                    last.header.put(words.get(0), words.get(1));
                    break;
                default:
                    last.lines.add(words);
            }
        }
        return all;
    }

    /** The frame's bytes; a delta frame writes its key frame first. */
    byte[] encode(List<FrameText> all) {
        FrameEncoder encoder = new FrameEncoder(UUID.fromString(header.get("node")),
                header.get("cluster"), number("interval"), null);
        Model model = new Model();
        FrameText key = this;
        if (header.containsKey("key")) {
            for (FrameText other : all) {
                key = other.name.equals(header.get("key")) ? other : key;
            }
        }
        key.apply(model);
        encoder.carry(key.events());
        Bytes bytes = encoder.key(model, key.number("started"), key.number("sequence"),
                key.number("at"), key.number("cost"));
        if (key != this) {
            apply(model);
            encoder.carry(events());
            bytes = encoder.delta(model, number("started"), number("sequence"), number("at"),
                    number("cost"));
        }
        return bytes.copy();
    }

    private long number(String field) {
        return Long.parseUnsignedLong(header.get(field));
    }

    private List<Event> events() {
        List<Event> events = new ArrayList<>();
        for (List<String> words : lines) {
            if (words.get(0).equals("event")) {
                Map<String, String> labels = new HashMap<>();
                for (int i = 5; i < words.size(); i += 2) {
                    labels.put(words.get(i), words.get(i + 1));
                }
                events.add(new Event(number("at") - Long.parseLong(words.get(1)), words.get(2),
                        Event.Severity.valueOf(words.get(3).toUpperCase()), labels,
                        words.get(4)));
            }
        }
        return events;
    }

    private void apply(Model model) {
        List<Bounds> bounds = new ArrayList<>();
        for (int i = 0; i < model.boundsCount(); i++) {
            bounds.add(model.bounds(i));
        }
        String datacenter = "";
        Template template = null;
        for (List<String> words : lines) {
            switch (words.get(0)) {
                case "datacenter":
                    datacenter = words.get(1);
                    break;
                case "rack":
                    model.place(datacenter, words.get(1));
                    break;
                case "fact":
                    model.fact(words.get(1), words.get(2));
                    break;
                case "bounds":
                    long[] uppers = new long[words.size() - 2];
                    for (int i = 0; i < uppers.length; i++) {
                        uppers[i] = Long.parseLong(words.get(i + 2));
                    }
                    bounds.add(model.bounds(Integer.parseInt(words.get(1)), uppers));
                    break;
                case "template":
                    template = model.add(new Template(words.get(1),
                            words.get(2).equals("-") ? new String[0] : words.get(2).split(",")));
                    break;
                case "metric":
                    template.add(metric(words, bounds));
                    break;
                case "entity":
                    Template of = model.template(Integer.parseInt(words.get(1)));
                    int slot = of.addEntity(null,
                            words.subList(2, words.size()).toArray(new String[0]));
                    for (int m = 0; m < of.metricCount(); m++) {
                        of.metric(m).present[slot] = true;
                    }
                    break;
                case "removed":
                    for (String word : words.subList(2, words.size())) {
                        model.template(Integer.parseInt(words.get(1)))
                                .removeEntity(Integer.parseInt(word));
                    }
                    break;
                case "presence":
                    for (int flipped : selected(model, words, words.size())) {
                        Metric metric = metric(model, words);
                        metric.present[flipped] = !metric.present[flipped];
                    }
                    break;
                case "value":
                    values(model, words);
                    break;
                case "event":
                    break; // no part of the node's state
                default:
                    throw new IllegalArgumentException(words.toString());
            }
        }
    }

    private static Metric metric(List<String> words, List<Bounds> bounds) {
        String unit = words.get(3).equals("-") ? "" : words.get(3);
        Kind kind = Kind.valueOf(words.get(2).toUpperCase());
        int exponent = Integer.parseInt(words.get(4));
        if (words.size() == 5) {
            return Metric.scalar(words.get(1), kind, unit, exponent);
        }
        return Metric.histogram(words.get(1), kind, unit, exponent,
                bounds.get(Integer.parseInt(words.get(5).substring("bounds=".length()))),
                words.get(6).equals("sum=1"));
    }

    private static Metric metric(Model model, List<String> words) {
        return model.template(Integer.parseInt(words.get(1)))
                .metric(Integer.parseInt(words.get(2)));
    }

    private static List<Integer> selected(Model model, List<String> words, int end) {
        List<Integer> slots = new ArrayList<>();
        Template template = model.template(Integer.parseInt(words.get(1)));
        if (words.get(3).equals("all")) {
            for (int slot = 0; slot < template.slots(); slot++) {
                if (template.isLive(slot)) {
                    slots.add(slot);
                }
            }
        } else {
            for (String word : words.subList(3, end)) {
                slots.add(Integer.parseInt(word));
            }
        }
        return slots;
    }

    private static void values(Model model, List<String> words) {
        int at = words.indexOf(":");
        Metric metric = metric(model, words);
        for (int slot : selected(model, words, at)) {
            at++;
            int end = at;
            while (end < words.size() && !words.get(end).equals(";")) {
                end++;
            }
            value(metric, slot, words.subList(at, end));
            at = end;
        }
    }

    private static void value(Metric metric, int slot, List<String> entry) {
        switch (metric.kind) {
            case COUNTER:
                metric.set(slot, metric.base[slot] + Long.parseUnsignedLong(entry.get(0)));
                break;
            case GAUGE:
                metric.set(slot, metric.base[slot] + Long.parseLong(entry.get(0)));
                break;
            case GAUGE_DOUBLE:
                metric.setDouble(slot,
                        Double.longBitsToDouble(Long.parseUnsignedLong(entry.get(0), 16)));
                break;
            case STRING:
                metric.setText(slot, entry.get(0));
                break;
            default:
                for (String word : entry) {
                    if (word.startsWith("sum=")) {
                        metric.setSum(slot, metric.base[slot] + Long.parseLong(word.substring(4)));
                    } else {
                        String[] bucket = word.split(":");
                        metric.writeBuckets(slot)[Integer.parseInt(bucket[0])]
                                += Long.parseLong(bucket[1]);
                    }
                }
        }
    }

    /** Splits at blanks outside quotes and takes the quotes off. */
    private static List<String> words(String line) {
        List<String> words = new ArrayList<>();
        int i = 0;
        while (i < line.length()) {
            StringBuilder word = new StringBuilder();
            if (line.charAt(i) == '"') {
                for (i++; line.charAt(i) != '"'; i++) {
                    char c = line.charAt(i);
                    if (c != '\\') {
                        word.append(c);
                        continue;
                    }
                    c = line.charAt(++i);
                    switch (c) {
                        case 'n': word.append('\n'); break;
                        case 't': word.append('\t'); break;
                        case 'u':
                            word.append((char) Integer.parseInt(line.substring(i + 1, i + 5), 16));
                            i += 4;
                            break;
                        default: word.append(c);
                    }
                }
                i++;
            } else {
                while (i < line.length() && line.charAt(i) != ' ') {
                    word.append(line.charAt(i++));
                }
            }
            words.add(word.toString());
            while (i < line.length() && line.charAt(i) == ' ') {
                i++;
            }
        }
        return words;
    }
}
