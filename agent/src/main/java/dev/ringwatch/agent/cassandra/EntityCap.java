package dev.ringwatch.agent.cassandra;

import java.util.HashSet;
import java.util.Set;
import java.util.function.Consumer;

/**
 * Lets so many entities in and no more: a node with more tables than anybody foresaw shall not fill
 * its heap with us.
 */
final class EntityCap {
    /**
     * Refused ones are remembered by name so that each counts once; a mebibyte of names is enough.
     */
    private static final int MAX_REMEMBERED = 10_000;
    /** Looking at all names again is work: not more often than in so many passes. */
    private static final int PASSES_BETWEEN_LOOKS = 60;

    private final int max;
    private final Consumer<String> say;
    private Set<String> waiting = new HashSet<>();
    private Set<String> before = new HashSet<>();
    private long refused;
    private long lookAgainAt;

    EntityCap(int max, Consumer<String> say) {
        this.max = max;
        this.say = say;
    }

    boolean isFull(int now) {
        return now >= max;
    }

    boolean admits(Family family, int now) {
        if (!isFull(now)) {
            return true;
        }
        String name = family.entity + '/' + String.join("/", family.values);
        if (waiting.size() < MAX_REMEMBERED && waiting.add(name) && !before.contains(name)) {
            if (refused == 0) {
                say.accept("there are more than max_entities " + max
                        + " tables and other entities: " + name
                        + " and all after it are not sent; filter some out, "
                        + "or raise max_entities");
            }
            refused++;
        }
        return false;
    }

    /** True if some were refused and there is room now: all names should be looked at again. */
    boolean hasRoomAgain(long pass, int now) {
        if (waiting.isEmpty() || now >= max || pass < lookAgainAt) {
            return false;
        }
        lookAgainAt = pass + PASSES_BETWEEN_LOOKS;
        before = waiting;
        waiting = new HashSet<>();
        return true;
    }

    long refused() {
        return refused;
    }
}
