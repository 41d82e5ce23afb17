package dev.ringwatch.agent.beans;

import java.util.HashMap;
import java.util.Map;

/**
 * Hands out one object for all that are equal: a hundred series of a table have one {@link Labels},
 * a thousand tables one help text. For one thread.
 */
final class Shared {
    /** Beyond so many it begins anew: some are there twice then, and all are right. */
    private static final int MAX = 50_000;

    private final Map<Object, Object> known = new HashMap<>();

    @SuppressWarnings("unchecked") // equal objects of one class
    <T> T one(T object) {
        if (known.size() >= MAX) {
            known.clear();
        }
        Object before = known.putIfAbsent(object, object);
        return before == null ? object : (T) before;
    }
}
