package dev.ringwatch.agent.beans;

import javax.management.ObjectName;

/** How a profile names attributes of beans. Called by one thread at a time. */
interface Namer {
    /** An attribute reached a rule that cannot name it. The exporter ends its scrape there. */
    final class Unusable extends RuntimeException {
        private static final long serialVersionUID = 1;

        Unusable(String why) {
            super(why, null, false, false);
        }
    }

    /** Whether anything of the bean may be named. */
    boolean wants(ObjectName bean);

    /** Whether this attribute of a bean is to be read at all. */
    default boolean wants(ObjectName bean, String attribute) {
        return true;
    }

    /**
     * Null if the attribute is not shown. The value is what it is now, and null where it has not
     * been read.
     *
     * @throws Unusable if a rule cannot name it
     */
    Named name(Attribute attribute, Object value);

    /**
     * Whether the name depends on the value: then it is asked for again when the value is another.
     */
    boolean looksAtValue(Attribute attribute);

    /** Whether texts are of use. */
    default boolean readsTexts() {
        return false;
    }

    /** Whether gauges that are bucket counts are shown by figures of them. */
    default boolean readsBuckets() {
        return false;
    }

    /** Whether the exporter adds what it says of itself and of the JVM. */
    default boolean showsJvm() {
        return false;
    }

    /** Attributes whose name was taken from what was kept. */
    default long cached() {
        return 0;
    }
}
