package dev.ringwatch.agent.pull;

import dev.ringwatch.agent.frame.Model;
import java.util.Locale;

/**
 * One label of a family's series: its name and where its value comes from. Equal labels say the
 * same of every entity.
 */
final class Label {
    /** What becomes of an entity's value; exporters differ in how they write the same thing. */
    enum Form {
        CONSTANT, PLAIN, LOWER,
        /** {@code KeyCache} → {@code key}. */
        CACHE,
        /** {@code 10.0.5.6:7000} → {@code 10.0.5.6}. */
        HOST,
        /** {@code 10.0.5.6:7000} → {@code 10.0.5.6_7000}, as names of beans have it. */
        JMX,
        /** This value and the next one: {@code Read-LOCAL_ONE}, {@code table.index}. */
        DASHED, DOTTED,
        /** What the model can say of the entity besides. */
        DESCRIBED,
        /**
         * As MCAC writes it: {@code Native-Transport-Requests} → {@code native.transport.requests},
         * or the first part of that.
         */
        CLEAN, FIRST,
        /** The constant and all values as MCAC writes them, with points between. */
        JOINED,
        /** {@code G1 Young Generation} → {@code g1_young_generation}. */
        GC
    }

    final String name;
    private final Form form;
    private final int index;
    private final String constant;
    private final Model model;

    private Label(String name, Form form, int index, String constant) {
        this(name, form, index, constant, null);
    }

    private Label(String name, Form form, int index, String constant, Model model) {
        this.name = name;
        this.form = form;
        this.index = index;
        this.constant = constant;
        this.model = model;
    }

    static Label described(String name, Model model) {
        return new Label(name, Form.DESCRIBED, -1, "", model);
    }

    static Label constant(String name, String value) {
        return new Label(name, Form.CONSTANT, -1, value);
    }

    /** @param labels how many the template has */
    static Label joined(String name, String constant, int labels) {
        return new Label(name, Form.JOINED, labels, constant);
    }

    /** @param index of the template's label */
    static Label of(String name, int index, Form form) {
        return new Label(name, form, index, "");
    }

    String value(String[] entity) {
        switch (form) {
            case CONSTANT: return constant;
            case DESCRIBED: return model.described(name, entity);
            case LOWER: return entity[index].toLowerCase(Locale.ROOT);
            case CACHE: return entity[index].replace("Cache", "").toLowerCase(Locale.ROOT);
            case HOST: return host(entity[index]);
            case JMX: return jmx(entity[index]);
            case DASHED: return entity[index] + '-' + entity[index + 1];
            case DOTTED: return entity[index] + '.' + entity[index + 1];
            case CLEAN: return McacNames.clean(entity[index]);
            case FIRST: return McacNames.clean(entity[index]).split("\\.")[0];
            case GC: return entity[index].replaceAll("[^a-zA-Z0-9]+", "_").toLowerCase(Locale.ROOT);
            case JOINED: return index == 0 ? constant : constant + '.'
                    + McacNames.clean(String.join(".", entity));
            default: return entity[index];
        }
    }

    static String jmx(String address) {
        return address.replaceAll("[:\\[\\]]", "_");
    }

    /** Without the port, and without an IPv6 address's brackets. */
    static String host(String address) {
        int colon = address.lastIndexOf(':');
        String host = colon > 0 && address.indexOf(':') == colon || address.startsWith("[")
                && address.contains("]:")
                ? address.substring(0, colon) : address;
        return host.replace("[", "").replace("]", "");
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof Label && toString().equals(other.toString());
    }

    @Override
    public int hashCode() {
        return toString().hashCode();
    }

    @Override
    public String toString() {
        return name + '=' + form + index + constant;
    }
}
