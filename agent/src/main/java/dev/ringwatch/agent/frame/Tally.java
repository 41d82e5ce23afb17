package dev.ringwatch.agent.frame;

/** How much a source holds, and what it left out: the agent's metrics of itself say so. */
public interface Tally {
    /** Values that could not be had. */
    long gaugeErrors();

    /** Metrics that are not sent, since a frame has no place for them. */
    long refused();

    int entities();

    /** Entities that are not sent, since there are too many. */
    long entitiesRefused();
}
