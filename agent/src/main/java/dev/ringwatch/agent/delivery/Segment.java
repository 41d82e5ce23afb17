package dev.ringwatch.agent.delivery;

import java.nio.file.Path;
import java.util.Arrays;

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

    /** Checks of key frames in it that were answered for when they were sent from memory. */
    private int[] answered = {};

    Segment(long number, Path file, boolean own, long bytes) {
        this.number = number;
        this.file = file;
        this.own = own;
        this.bytes = bytes;
    }

    /** The copy of a key frame is to be passed over. */
    void answered(int key) {
        frames--;
        answered = Arrays.copyOf(answered, answered.length + 1);
        answered[answered.length - 1] = key;
    }

    boolean isAnswered(int key) {
        for (int known : answered) {
            if (known == key) {
                return true;
            }
        }
        return false;
    }
}
