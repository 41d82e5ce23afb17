package dev.ringwatch.agent.activity;

import java.util.Arrays;

/**
 * When each part of the ring of tokens was repaired last, in seconds; 0 is never. Repairs come by
 * ranges of every size: a node's, a virtual node's, a tool's segments.
 *
 * <p>Where parts become many, neighbours whose times are alike become one with the earlier time, so
 * what is said is never too good. What was never repaired is not mixed with what was: else a hole
 * would grow and not be filled again.
 */
final class Coverage {
    /** Beyond so many holes and parts, nothing is said of a table. */
    static final int MAX_PARTS = 65_536;

    private final int wanted;
    /** Part i is of the tokens after starts[i], up to and with starts[i + 1]. */
    private long[] starts = {Long.MIN_VALUE};
    private int[] times = {0};
    private int size = 1;
    private boolean tooMany;

    /** @param wantedParts so many are kept apart, if no more than that is never repaired */
    Coverage(int wantedParts) {
        wanted = Math.max(2, wantedParts);
    }

    int size() {
        return size;
    }

    /** The range after left, up to and with right, as Cassandra has it; it may go over the end. */
    void repaired(long left, long right, int seconds) {
        if (left < right) {
            lay(left, right, seconds);
        } else {
            lay(left, Long.MAX_VALUE, seconds);
            lay(Long.MIN_VALUE, right, seconds);
        }
    }

    private void lay(long left, long right, int seconds) {
        if (tooMany || left == right || isNoNews(left, right, seconds)) {
            return;
        }
        int from = cut(left);
        int to = right == Long.MAX_VALUE ? size : cut(right);
        for (int i = from; i < to; i++) {
            times[i] = Math.max(times[i], seconds);
        }
        joinEqual(Math.max(0, from - 1), Math.min(size - 1, to));
        if (size > wanted) {
            joinAlike();
        }
        if (size > MAX_PARTS) {
            giveUp();
        }
    }

    /** Nothing is said of it from now on. */
    void giveUp() {
        tooMany = true;
        size = 1;
        starts = new long[] {Long.MIN_VALUE};
        times = new int[] {0};
    }

    private boolean isNoNews(long left, long right, int seconds) {
        int first = part(left);
        for (int i = first; i < size && (i == first || starts[i] < right); i++) {
            if (times[i] < seconds) {
                return false;
            }
        }
        return true;
    }

    /** The part that begins at a token or has it within. */
    private int part(long token) {
        int at = Arrays.binarySearch(starts, 0, size, token);
        return at >= 0 ? at : -at - 2;
    }

    /** Makes a part begin at a token; which one. */
    private int cut(long token) {
        int at = Arrays.binarySearch(starts, 0, size, token);
        if (at >= 0) {
            return at;
        }
        int next = -at - 1;
        if (size == starts.length) {
            starts = Arrays.copyOf(starts, size + size / 2 + 4);
            times = Arrays.copyOf(times, starts.length);
        }
        System.arraycopy(starts, next, starts, next + 1, size - next);
        System.arraycopy(times, next, times, next + 1, size - next);
        starts[next] = token;
        times[next] = times[next - 1];
        size++;
        return next;
    }

    /** Joins neighbours of one time within these parts. */
    private void joinEqual(int from, int to) {
        int kept = from;
        for (int i = from + 1; i <= to; i++) {
            if (times[i] != times[kept]) {
                kept++;
                starts[kept] = starts[i];
                times[kept] = times[i];
            }
        }
        int gone = to - kept;
        if (gone > 0) {
            System.arraycopy(starts, to + 1, starts, kept + 1, size - to - 1);
            System.arraycopy(times, to + 1, times, kept + 1, size - to - 1);
            size -= gone;
        }
    }

    /** Leaves three quarters of what is wanted, by joining those whose times differ least. */
    private void joinAlike() {
        int[] apart = new int[size - 1];
        int count = 0;
        for (int i = 1; i < size; i++) {
            if (times[i] != 0 && times[i - 1] != 0) {
                apart[count++] = Math.abs(times[i] - times[i - 1]);
            }
        }
        int surplus = Math.min(count, size - wanted * 3 / 4);
        if (surplus <= 0) {
            return;
        }
        Arrays.sort(apart, 0, count);
        int alike = apart[surplus - 1];
        int kept = 0;
        for (int i = 1; i < size; i++) {
            if (surplus > 0 && times[i] != 0 && times[kept] != 0
                    && Math.abs(times[i] - times[i - 1]) <= alike) {
                times[kept] = Math.min(times[kept], times[i]);
                surplus--;
            } else {
                kept++;
                starts[kept] = starts[i];
                times[kept] = times[i];
            }
        }
        size = kept + 1;
    }

    /** When the part was repaired that has waited longest; 0 if some part never was. */
    int oldest() {
        return oldest(this, this);
    }

    /** The same where a part counts as repaired by either. */
    static int oldest(Coverage one, Coverage other) {
        if (one.tooMany || other.tooMany) {
            return 0;
        }
        int oldest = Integer.MAX_VALUE;
        int i = 0;
        int j = 0;
        while (i < one.size && j < other.size) {
            oldest = Math.min(oldest, Math.max(one.times[i], other.times[j]));
            long oneEnds = i + 1 < one.size ? one.starts[i + 1] : Long.MAX_VALUE;
            long otherEnds = j + 1 < other.size ? other.starts[j + 1] : Long.MAX_VALUE;
            if (oneEnds <= otherEnds) {
                i++;
            }
            if (otherEnds <= oneEnds) {
                j++;
            }
        }
        return oldest;
    }

    boolean hasTooMany() {
        return tooMany;
    }
}
