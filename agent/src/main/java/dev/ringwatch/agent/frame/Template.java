package dev.ringwatch.agent.frame;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * A type of entity: its labels, its metrics, and the slots of its entities.
 *
 * <p>Slots are handed out in order. A removed entity's slot stays dead until the next key frame
 * closes the gaps, so within a window the slots below {@link #keySlots} are the key frame's entity
 * numbers.
 */
public final class Template {
    public final String type;
    /** Its cells are copies of others' under another profile's names. */
    public boolean sent;
    private final String[] labels;
    private final List<Metric> metrics = new ArrayList<>();
    /** With those that are not to be seen: they have cells like the others, which nobody reads. */
    private final List<Metric> all = new ArrayList<>();
    /** Asked what is to be seen; null shows everything. */
    Model model;
    private String[][] entities = new String[8][];
    private boolean[] live = new boolean[8];
    private Object[] owners = new Object[8];
    private int slots;
    private int liveCount;

    /** As of the window's key frame. */
    int keySlots;
    int keyMetrics;
    /**
     * Entity number of each slot in the frame being written, -1 for the dead; filled by {@link
     * #number()}.
     */
    int[] numbers = new int[8];

    public Template(String type, String... labels) {
        this.type = type;
        this.labels = labels.clone();
    }

    public int labelCount() {
        return labels.length;
    }

    public String label(int index) {
        return labels[index];
    }

    public boolean hasLabel(String name) {
        return Arrays.asList(labels).contains(name);
    }

    /**
     * Appends a metric; every entity there is starts without a value in it. The next frame must be
     * a key frame.
     */
    public Metric add(Metric metric) {
        metric.grow(live.length);
        for (int slot = 0; slot < slots; slot++) {
            metric.reset(slot);
        }
        all.add(metric);
        if (model == null || model.shows(this, metric)) {
            metrics.add(metric);
            if (model != null && metrics.size() == 1) {
                model.begin(this);
            }
        }
        return metric;
    }

    /** Takes a metric out again; only of templates that no frame is made of. */
    public void drop(Metric metric) {
        all.remove(metric);
        metrics.remove(metric);
    }

    /**
     * Moves entities to the first slots, as a key frame does; only of templates that no frame is
     * made of.
     */
    public void closeGaps() {
        compact();
    }

    public int metricCount() {
        return metrics.size();
    }

    public Metric metric(int index) {
        return metrics.get(index);
    }

    /** A new entity. {@code owner} is told when its slot moves; it may be null. */
    public int addEntity(Entity owner, String... values) {
        if (values.length != labels.length) {
            throw new IllegalArgumentException(type + " has " + labels.length + " labels");
        }
        if (slots == live.length) {
            grow(slots * 2);
        }
        int slot = slots++;
        entities[slot] = values.clone();
        owners[slot] = owner;
        live[slot] = true;
        liveCount++;
        for (int i = 0; i < all.size(); i++) {
            all.get(i).reset(slot);
        }
        if (owner != null) {
            owner.slot = slot;
        }
        return slot;
    }

    public void removeEntity(int slot) {
        if (!live[slot]) {
            throw new IllegalStateException(type + ": entity removed twice");
        }
        live[slot] = false;
        liveCount--;
        owners[slot] = null;
        for (int i = 0; i < all.size(); i++) {
            all.get(i).absent(slot);
        }
    }

    public int slots() {
        return slots;
    }

    public boolean isLive(int slot) {
        return live[slot];
    }

    public int liveCount() {
        return liveCount;
    }

    /**
     * The label values of an entity, not to be changed: another entity has another array. Null in a
     * slot nobody has.
     */
    public String[] entity(int slot) {
        return entities[slot];
    }

    public String labelValue(int slot, int label) {
        return entities[slot][label];
    }

    private void grow(int capacity) {
        entities = Arrays.copyOf(entities, capacity);
        live = Arrays.copyOf(live, capacity);
        owners = Arrays.copyOf(owners, capacity);
        numbers = Arrays.copyOf(numbers, capacity);
        for (int i = 0; i < all.size(); i++) {
            all.get(i).grow(capacity);
        }
    }

    /** Closes the gaps that removed entities left, keeping the order. */
    void compact() {
        int to = 0;
        for (int from = 0; from < slots; from++) {
            if (!live[from]) {
                continue;
            }
            if (from != to) {
                move(from, to);
            }
            to++;
        }
        for (int slot = to; slot < slots; slot++) {
            entities[slot] = null;
            owners[slot] = null;
            live[slot] = false;
            for (int i = 0; i < all.size(); i++) {
                all.get(i).reset(slot);
            }
        }
        slots = to;
    }

    private void move(int from, int to) {
        entities[to] = entities[from];
        live[to] = true;
        owners[to] = owners[from];
        if (owners[to] != null) {
            ((Entity) owners[to]).slot = to;
        }
        for (int i = 0; i < all.size(); i++) {
            all.get(i).move(from, to);
        }
    }

    /** What is now is what the key frame said. */
    void rebase() {
        for (int i = 0; i < metrics.size(); i++) {
            metrics.get(i).rebase(slots);
        }
        keySlots = slots;
        keyMetrics = metrics.size();
    }

    /** Gives every live slot its entity number in a frame against the key frame. */
    void number() {
        int next = keySlots;
        for (int slot = 0; slot < slots; slot++) {
            if (!live[slot]) {
                numbers[slot] = -1;
            } else {
                numbers[slot] = slot < keySlots ? slot : next++;
            }
        }
    }

    /**
     * Who fills an entity's cells holds one of these; its slot is kept right when key frames move
     * slots.
     */
    public static class Entity {
        int slot = -1;

        public final int slot() {
            return slot;
        }
    }
}
