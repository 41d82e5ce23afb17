package dev.ringwatch.agent.host;

import java.io.IOException;
import java.io.RandomAccessFile;
import java.util.Arrays;

/**
 * A file of {@code /proc}, read again on each pass without opening it again or allocating, and a
 * cursor over its text.
 */
public final class ProcFile {
    private final RandomAccessFile file;
    private byte[] text = new byte[8192];
    private int length;
    private int at;
    private int lineEnd;
    private int marked;

    /** Of a file that is not there, {@link #reload} is always false. */
    public ProcFile(String path) {
        RandomAccessFile opened;
        try {
            opened = new RandomAccessFile(path, "r");
        } catch (IOException absent) {
            opened = null;
        }
        file = opened;
    }

    /** Reads the file anew; the cursor stands before its first line. */
    public boolean reload() {
        if (file == null) {
            return false;
        }
        try {
            file.seek(0);
            length = 0;
            for (int n = file.read(text, 0, text.length); n > 0;
                    n = file.read(text, length, text.length - length)) {
                length += n;
                if (length == text.length) {
                    text = Arrays.copyOf(text, length * 2);
                }
            }
        } catch (IOException gone) {
            return false;
        }
        at = 0;
        lineEnd = -1;
        return length > 0;
    }

    /** Moves to the beginning of the next line; false after the last. */
    public boolean line() {
        at = lineEnd + 1;
        if (at >= length) {
            return false;
        }
        lineEnd = at;
        while (lineEnd < length && text[lineEnd] != '\n') {
            lineEnd++;
        }
        return true;
    }

    /**
     * Whether what follows on this line begins with these characters; if so the cursor passes them.
     */
    public boolean skip(String prefix) {
        if (lineEnd - at < prefix.length()) {
            return false;
        }
        for (int i = 0; i < prefix.length(); i++) {
            if (text[at + i] != prefix.charAt(i)) {
                return false;
            }
        }
        at += prefix.length();
        return true;
    }

    /**
     * The next run of digits on this line, points left out ({@code 0.42} is 42); −1 if there is
     * none.
     */
    public long number() {
        while (at < lineEnd && !digit(text[at])) {
            at++;
        }
        if (at == lineEnd) {
            return -1;
        }
        long value = 0;
        while (at < lineEnd && (digit(text[at]) || text[at] == '.')) {
            if (text[at] != '.') {
                value = value * 10 + text[at] - '0';
            }
            at++;
        }
        return value;
    }

    /** The next word on this line, ended by a blank or {@code end}. Allocates. */
    public String word(char end) {
        int from = wordStart();
        int to = from;
        while (to < lineEnd && text[to] != ' ' && text[to] != end) {
            to++;
        }
        at = Math.min(to + 1, lineEnd);
        return new String(text, from, to - from, java.nio.charset.StandardCharsets.UTF_8);
    }

    /** Whether the next word is this one; passes it in either case. */
    boolean isWord(byte[] word, char end) {
        int from = wordStart();
        int to = from;
        while (to < lineEnd && text[to] != ' ' && text[to] != end) {
            to++;
        }
        at = Math.min(to + 1, lineEnd);
        return Arrays.equals(text, from, to, word, 0, word.length);
    }

    void mark() {
        marked = at;
    }

    void reset() {
        at = marked;
    }

    private int wordStart() {
        int from = at;
        while (from < lineEnd && text[from] == ' ') {
            from++;
        }
        return from;
    }

    private static boolean digit(byte b) {
        return b >= '0' && b <= '9';
    }
}
