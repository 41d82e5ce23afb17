package dev.ringwatch.agent.delivery;

/** How long delivery waits for what; tests are in more of a hurry than production. */
final class Pace {
    /** Of the bound that doubles with every round of failures. */
    long firstPauseMs = 500;
    long maxPauseMs = 60_000;
    /**
     * Before another address is tried; anything up to that, so that the agents of a dead one do not
     * move all at once.
     */
    long switchMs = 250;
    /** Away from the home address before it is tried again; up to twice that. */
    long awayMs = 300_000;
    /** A failure that lasts so long is an outage: frames go to disk. */
    long outageMs = 30_000;
    /** Between attempts to use a spool that could not be used. */
    long spoolAgainMs = 300_000;
    /**
     * Between two frames of the backlog, at least and at most. 20 a second clear an hour's outage
     * at a frame every 5 s in 36 s and are no load; an ingest that answers 429 or 503 slows its
     * agents down.
     */
    long minGapMs = 50;
    long maxGapMs = 10_000;
}
