package dev.ringwatch.agent.beans;

/**
 * A text that lets itself be looked at so often and no oftener: a regular expression that
 * backtracks without end is stopped. Looks, not time, are counted, so that the same pattern ends
 * the same way on every machine; a million of them take a few milliseconds.
 */
final class BoundedText implements CharSequence {
    /** The JMX exporter's own example takes some thousand for the longest names. */
    static final int MAX_LOOKS = 1_000_000;

    static final class Exceeded extends RuntimeException {
        private static final long serialVersionUID = 1;

        Exceeded() {
            super("too many steps", null, false, false);
        }
    }

    private final String text;
    private int looks = MAX_LOOKS;

    BoundedText(String text) {
        this.text = text;
    }

    /** All looks are to be had again: for the next expression. */
    void renew() {
        looks = MAX_LOOKS;
    }

    @Override
    public char charAt(int index) {
        if (--looks < 0) {
            throw new Exceeded();
        }
        return text.charAt(index);
    }

    @Override
    public int length() {
        return text.length();
    }

    @Override
    public CharSequence subSequence(int from, int to) {
        return text.substring(from, to);
    }

    @Override
    public String toString() {
        return text;
    }
}
