package dev.ringwatch.agent.frame;

/** What a metric's values are: FORMAT.md §5. The order is the number on the wire. */
public enum Kind {
    COUNTER, GAUGE, GAUGE_DOUBLE, HISTOGRAM, GAUGE_HISTOGRAM, STRING;

    boolean hasBuckets() {
        return this == HISTOGRAM || this == GAUGE_HISTOGRAM;
    }
}
