package dev.ringwatch.agent.beans;

/** What a profile calls one attribute of one bean. Texts that many have are shared by the namer. */
final class Named {
    enum Type { COUNTER, GAUGE, UNTYPED }

    /** As text 0.0.4 has it. */
    final String name;
    final Type type;
    final String help;
    final Labels labels;
    /** Shown instead of the attribute's own value, or null. */
    final Double constant;
    /** Of numbers. */
    final double factor;
    private final String bean;
    private final String attribute;

    /** @param bean which, with {@code attribute} behind it, tells series of equal labels apart */
    Named(String name, Type type, String help, Labels labels, Double constant, double factor,
            String bean, String attribute) {
        this.name = name;
        this.type = type;
        this.help = help;
        this.labels = labels;
        this.constant = constant;
        this.factor = factor;
        this.bean = bean;
        this.attribute = attribute;
    }

    /** A number that is no bean's. */
    static Named own(String name, Type type, String help, Labels labels) {
        return new Named(name, type, help, labels, null, 1, name, "");
    }

    /** Tells series apart whose labels are the same. */
    String origin() {
        return bean + attribute;
    }
}
