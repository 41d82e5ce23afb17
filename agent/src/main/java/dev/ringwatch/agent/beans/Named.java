package dev.ringwatch.agent.beans;

/** What a profile calls one attribute of one bean. */
final class Named {
    enum Type { COUNTER, GAUGE, UNTYPED }

    /** As text 0.0.4 has it. */
    final String name;
    final Type type;
    final String help;
    final String[] labels;
    final String[] values;
    /** Shown instead of the attribute's own value, or null. */
    final Double constant;
    /** Of numbers. */
    final double factor;
    /** Tells series apart whose labels are the same. */
    final String origin;

    Named(String name, Type type, String help, String[] labels, String[] values, Double constant,
            double factor, String origin) {
        this.name = name;
        this.type = type;
        this.help = help;
        this.labels = labels;
        this.values = values;
        this.constant = constant;
        this.factor = factor;
        this.origin = origin;
    }
}
