package dev.ringwatch.agent.frame;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.BiPredicate;
import java.util.function.Function;

/** All that is known of one node at one instant, and what its window's key frame said. */
public final class Model {
    private final List<Bounds> bounds = new ArrayList<>();
    private final List<Template> templates = new ArrayList<>();
    /** With those of which nothing is to be seen. */
    private final List<Template> known = new ArrayList<>();
    private String cluster = "";
    private String node = "";
    /** The fact in which a node that runs says what it does not do; absent if it serves. */
    public static final String NOT_SERVING = "not_serving";

    private String datacenter = "";
    private String rack = "";
    /** Names ascend bytewise: they are ASCII, whose order as strings is the same. */
    private final TreeMap<String, String> facts = new TreeMap<>();
    private final Map<String, Function<String[], String>> described = new HashMap<>();
    private boolean identityChanged;
    private BiPredicate<Template, Metric> shown;
    private volatile long passes;
    private volatile boolean paused;

    int keyTemplates;
    int keyBounds;

    /** The dictionary's set of these bounds, added if it is not there. */
    public Bounds bounds(int exponent, long[] values) {
        for (Bounds known : bounds) {
            if (known.same(exponent, values)) {
                return known;
            }
        }
        Bounds added = new Bounds(exponent, values);
        added.number = bounds.size();
        bounds.add(added);
        return added;
    }

    /**
     * Which metrics are to be seen; who writes the others writes for nobody. Set before any is
     * added.
     */
    public void show(BiPredicate<Template, Metric> wanted) {
        shown = wanted;
    }

    /** Takes in a template. It is seen from its first metric that is to be seen. */
    public Template add(Template template) {
        template.model = this;
        known.add(template);
        if (template.metricCount() > 0) {
            templates.add(template);
        }
        return template;
    }

    /** Takes a template out with all its entities: the next frame is a key frame. */
    public void remove(Template template) {
        known.remove(template);
        identityChanged |= templates.remove(template);
    }

    /** Whether a template has that type already, be anything of it to be seen or not. */
    public boolean hasType(String type) {
        for (int i = 0; i < known.size(); i++) {
            if (known.get(i).type.equals(type)) {
                return true;
            }
        }
        return false;
    }

    boolean shows(Template template, Metric metric) {
        return shown == null || shown.test(template, metric);
    }

    void begin(Template template) {
        templates.add(template);
    }

    public int templateCount() {
        return templates.size();
    }

    public Template template(int index) {
        return templates.get(index);
    }

    int boundsCount() {
        return bounds.size();
    }

    Bounds bounds(int index) {
        return bounds.get(index);
    }

    /** As frames have it; empty until Cassandra has told. */
    public String cluster() {
        return cluster;
    }

    public void cluster(String name) {
        cluster = name;
    }

    /** The id under which frames are sent; empty until it is known. */
    public String node() {
        return node;
    }

    public void node(String id) {
        node = id;
    }

    public String datacenter() {
        return datacenter;
    }

    public String rack() {
        return rack;
    }

    public void place(String newDatacenter, String newRack) {
        identityChanged |= !newDatacenter.equals(datacenter) || !newRack.equals(rack);
        datacenter = newDatacenter;
        rack = newRack;
    }

    public void fact(String name, String value) {
        identityChanged |= !value.equals(facts.put(name, value));
    }

    /** That fact holds no more. */
    public void forget(String name) {
        identityChanged |= facts.remove(name) != null;
    }

    /** The place and the facts of another model, and none but these. */
    void identityOf(Model other) {
        place(other.datacenter, other.rack);
        identityChanged |= !facts.equals(other.facts);
        facts.clear();
        facts.putAll(other.facts);
    }

    /** The fact of that name, or an empty text. */
    public String fact(String name) {
        return facts.getOrDefault(name, "");
    }

    /** Says of entities what frames do not, by the name of a label; to be asked once an entity. */
    public void describe(String label, Function<String[], String> of) {
        described.put(label, of);
    }

    /**
     * What is known of an entity under that label, by its own label values; empty if nothing is.
     */
    public String described(String label, String[] entity) {
        Function<String[], String> of = described.get(label);
        String value = of == null ? null : of.apply(entity);
        return value == null ? "" : value;
    }

    /** Called when a pass has written all it has to say. */
    public void passed() {
        passes++; // only the sampler writes it
    }

    /** Passes that are complete; while it stands still, so do all values. */
    public long passes() {
        return passes;
    }

    /**
     * Whether nothing is read of the node for now: what was read last is not to be shown as if it
     * were news.
     */
    public boolean isPaused() {
        return paused;
    }

    public void paused(boolean now) {
        paused = now;
    }

    Map<String, String> facts() {
        return facts;
    }

    /**
     * True if a delta frame could not say what has changed: the identity, or the metrics of a known
     * template.
     */
    public boolean needsKeyFrame() {
        if (identityChanged) {
            return true;
        }
        for (int i = 0; i < keyTemplates; i++) {
            if (templates.get(i).keyMetrics != templates.get(i).metricCount()) {
                return true;
            }
        }
        return false;
    }

    /** Moves entities to the first slots, as key frames do, where none are made. */
    public void closeGaps() {
        for (int i = 0; i < known.size(); i++) {
            if (known.get(i).slots() > known.get(i).liveCount()) {
                known.get(i).compact();
            }
        }
    }

    void beginKeyFrame() {
        keyTemplates = 0;
        keyBounds = 0;
        for (int i = 0; i < known.size(); i++) {
            known.get(i).compact();
            known.get(i).keySlots = 0;
        }
    }

    void endKeyFrame() {
        identityChanged = false;
        keyTemplates = templates.size();
        keyBounds = bounds.size();
        for (int i = 0; i < templates.size(); i++) {
            templates.get(i).rebase();
        }
    }
}
