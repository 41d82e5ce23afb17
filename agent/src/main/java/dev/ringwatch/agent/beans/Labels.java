package dev.ringwatch.agent.beans;

import java.util.Arrays;

/** Names and values of a series' labels, in order. Neither array is changed. */
final class Labels {
    static final Labels NONE = new Labels(new String[0], new String[0]);

    final String[] names;
    final String[] values;
    private final int hash;

    Labels(String[] names, String[] values) {
        this.names = names;
        this.values = values;
        this.hash = 31 * Arrays.hashCode(names) + Arrays.hashCode(values);
    }

    /** @param pairs a name and its value in turn */
    static Labels of(String... pairs) {
        String[] names = new String[pairs.length / 2];
        String[] values = new String[pairs.length / 2];
        for (int i = 0; i < pairs.length; i += 2) {
            names[i / 2] = pairs[i];
            values[i / 2] = pairs[i + 1];
        }
        return new Labels(names, values);
    }

    Labels with(String name, String value) {
        String[] moreNames = Arrays.copyOf(names, names.length + 1);
        String[] moreValues = Arrays.copyOf(values, values.length + 1);
        moreNames[names.length] = name;
        moreValues[values.length] = value;
        return new Labels(moreNames, moreValues);
    }

    @Override
    public boolean equals(Object other) {
        return this == other || other instanceof Labels && hash == ((Labels) other).hash
                && Arrays.equals(names, ((Labels) other).names)
                && Arrays.equals(values, ((Labels) other).values);
    }

    @Override
    public int hashCode() {
        return hash;
    }
}
