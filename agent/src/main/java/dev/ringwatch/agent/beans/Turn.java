package dev.ringwatch.agent.beans;

/** What is read in this pass of that which is not read in each. */
final class Turn {
    /**
     * Four times a minute: what only forgets and still changes. Always set where {@link #slow} is.
     */
    boolean seldom;
    /** What is dear: {@link #seldom}, or {@link #slow} for the node's while it is quiet. */
    boolean dear;
    /** Once a minute: what walks SSTables or the disk, and what forgets but shows the same. */
    boolean slow;
    /** Of what is slow also that which follows from SSTables. */
    boolean sstables;
}
