package dev.ringwatch.agent.frame;

import java.util.Arrays;

/**
 * Inclusive upper bounds of a histogram's buckets, strictly rising; bound <i>b</i> stands for
 * <i>b</i>&nbsp;&times;&nbsp;10<sup>exponent</sup>. Over <i>n</i> bounds lie <i>n</i>+1 buckets.
 */
public final class Bounds {
    public final int exponent;
    private final long[] bounds;
    /** Position in the model's dictionary; set when the model takes it in. */
    int number = -1;

    public Bounds(int exponent, long[] bounds) {
        if (bounds.length == 0) {
            throw new IllegalArgumentException("no bounds");
        }
        for (int i = 1; i < bounds.length; i++) {
            if (bounds[i] <= bounds[i - 1]) {
                throw new IllegalArgumentException("bounds do not rise at " + i);
            }
        }
        this.exponent = exponent;
        this.bounds = bounds.clone();
    }

    public int buckets() {
        return bounds.length + 1;
    }

    public int size() {
        return bounds.length;
    }

    public long bound(int index) {
        return bounds[index];
    }

    boolean same(int otherExponent, long[] otherBounds) {
        return exponent == otherExponent && Arrays.equals(bounds, otherBounds);
    }
}
