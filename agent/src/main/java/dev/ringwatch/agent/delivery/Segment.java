package dev.ringwatch.agent.delivery;

import java.nio.file.Path;

/** One file of the spool. */
final class Segment {
    final long number;
    final Path file;
    /** Written by this process, which therefore knows what is in it. */
    final boolean own;
    long bytes;
    /** Frames of the ledger that are still in it; copies are not. Own segments only. */
    long frames;
    /** The last key frame that it holds a frame of; own segments only. */
    int lastKey;

    Segment(long number, Path file, boolean own, long bytes) {
        this.number = number;
        this.file = file;
        this.own = own;
        this.bytes = bytes;
    }
}
