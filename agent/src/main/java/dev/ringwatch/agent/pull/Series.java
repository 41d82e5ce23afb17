package dev.ringwatch.agent.pull;

import dev.ringwatch.agent.frame.Template;
import java.util.Arrays;
import java.util.List;

/**
 * The labels of a template's entities as text, made once per entity and shared by all families that
 * label alike: a thousand tables have a thousand of these, not a hundred thousand. Slots move; an
 * entity's own array tells whose text it is.
 */
final class Series {
    private static final byte[] NONE = {};

    private final Template template;
    private final List<Label> labels;
    private byte[][] text = new byte[0][];
    private String[][] of = new String[0][];

    Series(Template template, List<Label> labels) {
        this.template = template;
        this.labels = labels;
    }

    /** {@code keyspace="a",table="b"}; empty where there are no labels. */
    byte[] at(int slot) {
        if (labels.isEmpty()) {
            return NONE;
        }
        if (slot >= text.length) {
            text = Arrays.copyOf(text, template.slots());
            of = Arrays.copyOf(of, template.slots());
        }
        String[] entity = template.entity(slot);
        if (of[slot] != entity) {
            of[slot] = entity;
            text[slot] = make(entity);
        }
        return text[slot];
    }

    private byte[] make(String[] entity) {
        Text line = new Text(256);
        for (Label label : labels) {
            if (line.length() > 0) {
                line.add(',');
            }
            line.add(Text.label(label.name, label.value(entity)));
        }
        return Arrays.copyOf(line.array(), line.length());
    }
}
