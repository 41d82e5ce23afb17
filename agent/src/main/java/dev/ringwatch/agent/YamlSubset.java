package dev.ringwatch.agent;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * YAML as people write configurations: maps and lists, by indentation or in braces and brackets
 * over any number of lines, texts plain or quoted, comments. Anchors, aliases, tags, merge keys,
 * blocks of text and texts over several lines are errors that name them; nothing is guessed. What
 * it reads, the Go side reads the same: {@code agent/testdata/yaml.txt} holds both to it.
 *
 * <p>A parser of its own because the host's may be of any version, or not there.
 */
final class YamlSubset {
    private static final int MAX_DEPTH = 50;
    private static final int MAX_ERRORS = 20;
    private static final char END = '\0';

    private final String text;
    private final List<String> errors;
    private int at;
    /** Of the line that is read; counts from 1. */
    private int line = 1;
    private int lineStart;
    private int depth;
    /** What is wrong was found at the beginning of the entry that follows. */
    private boolean ahead;

    /** What is wrong; reading goes on behind the entry that has it. */
    private static final class Wrong extends Exception {
        private static final long serialVersionUID = 1;

        Wrong(int line, String what) {
            super("line " + line + ": " + what, null, false, false);
        }
    }

    private YamlSubset(String text, List<String> errors) {
        this.text = text;
        this.errors = errors;
    }

    /**
     * Values are {@code String}, {@code List<Object>}, {@code Map<String, Object>}, or null for
     * nothing.
     */
    static Map<String, Object> parse(List<String> lines, List<String> errors) {
        String all = String.join("\n", lines);
        YamlSubset parser = new YamlSubset(
                (all.startsWith("\uFEFF") ? all.substring(1) : all).replace(END, '\uFFFD'), errors);
        return parser.document();
    }

    private Map<String, Object> document() {
        Map<String, Object> map = new LinkedHashMap<>();
        boolean any = toContent();
        if (any && column() == 0 && isMark("---")) {
            at += 3;
            any = toContent();
        }
        if (any && isMark("...")) {
            any = false;
        }
        try {
            if (any && peek() == '{') {
                map = braces(-1);
                endOfLine();
            } else if (any) {
                map = map(column());
            }
        } catch (Wrong wrong) {
            fail(wrong);
            return map;
        }
        while (toContent() && !(column() == 0 && isMark("...")) && errors.size() < MAX_ERRORS) {
            fail(new Wrong(line, isMark("---") ? "a second document begins: only one is read"
                    : "unexpected indentation"));
            skipLine();
        }
        return map;
    }

    private boolean isMark(String mark) {
        return text.startsWith(mark, at)
                && (at + 3 == text.length() || isBlank(text.charAt(at + 3))
                        || text.charAt(at + 3) == '\n');
    }

    // Where reading is.

    private char peek() {
        return at < text.length() ? text.charAt(at) : END;
    }

    private char peek(int ahead) {
        return at + ahead < text.length() ? text.charAt(at + ahead) : END;
    }

    private static boolean isBlank(char c) {
        return c == ' ' || c == '\t';
    }

    private static boolean isGap(char c) {
        return isBlank(c) || c == '\n' || c == END;
    }

    private int column() {
        return at - lineStart;
    }

    private void skipBlanks() {
        while (isBlank(peek())) {
            at++;
        }
        if (peek() == '#' && (at == lineStart || isBlank(text.charAt(at - 1)))) {
            while (peek() != '\n' && at < text.length()) {
                at++;
            }
        }
    }

    private void skipLine() {
        while (at < text.length() && text.charAt(at++) != '\n') {
            continue;
        }
        line++;
        lineStart = at;
    }

    /** To what comes next, on this line or another; false at the end. */
    private boolean toContent() {
        skipBlanks();
        while (peek() == '\n') {
            skipLine();
            skipBlanks();
        }
        return at < text.length();
    }

    private void endOfLine() throws Wrong {
        skipBlanks();
        if (peek() != '\n' && at < text.length()) {
            throw new Wrong(line,
                    "something stands behind the value: put text like this in quotes");
        }
    }

    private void fail(Wrong wrong) {
        if (errors.size() < MAX_ERRORS) {
            errors.add(wrong.getMessage());
        }
    }

    /** To the next line that does not belong to the entry at this column. */
    private void skipEntry(int column) {
        if (ahead) {
            ahead = false;
            return;
        }
        do {
            skipLine();
            while (peek() == ' ') {
                at++;
            }
        } while (at < text.length() && (column() > column || peek() == '\n' || peek() == '#'));
    }

    // By indentation.

    private boolean isDash() {
        return peek() == '-' && isGap(peek(1));
    }

    private void indentedByBlanks() throws Wrong {
        if (text.substring(lineStart, at).indexOf('\t') >= 0
                && text.substring(lineStart, at).trim().isEmpty()) {
            throw new Wrong(line, "indent with blanks, not tabs");
        }
    }

    private Map<String, Object> map(int column) throws Wrong {
        Map<String, Object> map = new LinkedHashMap<>();
        int outside = depth;
        while (toContent() && column() >= column && errors.size() < MAX_ERRORS) {
            if (column == 0 && column() == 0 && (isMark("---") || isMark("..."))) {
                break;
            }
            try {
                indentedByBlanks();
                if (column() > column) {
                    throw new Wrong(line, "unexpected indentation");
                }
                if (isDash()) {
                    break;
                }
                int of = line;
                String key = named(key());
                if (map.containsKey(key)) {
                    fail(new Wrong(of, "\"" + key + "\" is there twice"));
                }
                map.put(key, null);
                map.put(key, under(column, true));
            } catch (Wrong wrong) {
                fail(wrong);
                depth = outside;
                skipEntry(column);
            }
        }
        return map;
    }

    private List<Object> list(int column) throws Wrong {
        List<Object> list = new ArrayList<>();
        int outside = depth;
        while (toContent() && column() == column && isDash() && errors.size() < MAX_ERRORS) {
            try {
                indentedByBlanks();
                at++;
                list.add(under(column, false));
            } catch (Wrong wrong) {
                fail(wrong);
                list.add(null);
                depth = outside;
                skipEntry(column);
            }
        }
        return list;
    }

    /** What stands behind a key or a dash at this column, or below it. */
    private Object under(int column, boolean ofKey) throws Wrong {
        int before = line;
        if (!toContent()) {
            return null;
        }
        if (line == before) {
            if (ofKey && isDash()) {
                throw new Wrong(line, "a list begins below its key, or stands in brackets");
            }
            return ofKey || !isDash() && !isKey() ? inline(column) : block();
        }
        if (column() > column || ofKey && column() == column && isDash()) {
            indentedByBlanks();
            return isDash() || isKey() ? block() : inline(column);
        }
        return null;
    }

    private Object block() throws Wrong {
        if (++depth > MAX_DEPTH) {
            throw new Wrong(line, "it is nested deeper than " + MAX_DEPTH);
        }
        Object value = isDash() ? list(column()) : map(column());
        depth--;
        return value;
    }

    private Object inline(int column) throws Wrong {
        Object value;
        switch (peek()) {
            case '{':
                value = braces(column);
                break;
            case '[':
                value = brackets(column);
                break;
            case '"': case '\'':
                value = quoted();
                break;
            default:
                value = plain(false);
        }
        endOfLine();
        return value;
    }

    /** Whether a key begins here. */
    private boolean isKey() {
        int from = at;
        try {
            key();
            return true;
        } catch (Wrong none) {
            return false;
        } finally {
            at = from;
        }
    }

    private String key() throws Wrong {
        char first = peek();
        String key = first == '"' || first == '\'' ? quoted() : plainKey();
        while (isBlank(peek())) {
            at++;
        }
        if (peek() != ':' || !isGap(peek(1))) {
            throw new Wrong(line, "expected \"key: value\"");
        }
        at++;
        return key;
    }

    private String named(String key) throws Wrong {
        if (key.equals("<<")) {
            throw new Wrong(line, "the merge key << is not understood: write its entries here");
        }
        return key;
    }

    private String plainKey() throws Wrong {
        notNamed();
        int from = at;
        for (; at < text.length() && peek() != '\n'; at++) {
            if (peek() == ':' && isGap(peek(1)) || peek() == '#' && at > from
                    && isBlank(text.charAt(at - 1))) {
                break;
            }
        }
        String key = text.substring(from, at).trim();
        if (key.isEmpty() || key.charAt(0) == '{' || key.charAt(0) == '[') {
            throw new Wrong(line, "expected \"key: value\"");
        }
        return key;
    }

    // In braces and brackets.

    /** To what comes next; a line that is not indented belongs to the next entry. */
    private void toInner(int opened, int column, char end) throws Wrong {
        int before = line;
        if (!toContent() || line > before && column() <= column && peek() != end) {
            ahead = line > before;
            throw new Wrong(opened, (end == '}' ? "a map" : "a list") + " must end with " + end);
        }
    }

    private Map<String, Object> braces(int column) throws Wrong {
        Map<String, Object> map = new LinkedHashMap<>();
        int opened = open();
        for (;;) {
            toInner(opened, column, '}');
            if (peek() == '}') {
                break;
            }
            String key = innerKey();
            toInner(opened, column, '}');
            if (peek() != ':') {
                throw new Wrong(line, "expected \"key: value\" between commas");
            }
            at++;
            toInner(opened, column, '}');
            Object value = peek() == ',' || peek() == '}' ? null : inner(column);
            if (map.containsKey(key)) {
                throw new Wrong(line, "\"" + key + "\" is there twice");
            }
            map.put(key, value);
            separator(opened, column, '}');
        }
        close();
        return map;
    }

    private List<Object> brackets(int column) throws Wrong {
        List<Object> list = new ArrayList<>();
        int opened = open();
        for (;;) {
            toInner(opened, column, ']');
            if (peek() == ']') {
                break;
            }
            Object value = inner(column);
            toInner(opened, column, ']');
            if (peek() == ':' && value instanceof String) { // a map of one entry
                at++;
                toInner(opened, column, ']');
                Map<String, Object> map = new LinkedHashMap<>();
                map.put((String) value, peek() == ',' || peek() == ']' ? null : inner(column));
                value = map;
            }
            list.add(value);
            separator(opened, column, ']');
        }
        close();
        return list;
    }

    private int open() throws Wrong {
        if (++depth > MAX_DEPTH) {
            throw new Wrong(line, "it is nested deeper than " + MAX_DEPTH);
        }
        at++;
        return line;
    }

    private void close() {
        at++;
        depth--;
    }

    private void separator(int opened, int column, char end) throws Wrong {
        toInner(opened, column, end);
        if (peek() == ',') {
            at++;
        } else if (peek() != end) {
            throw new Wrong(opened, (end == '}' ? "a map" : "a list") + " must end with " + end
                    + ", and have a comma between entries");
        }
    }

    private String innerKey() throws Wrong {
        return named(String.valueOf(peek() == '"' || peek() == '\'' ? quoted() : plain(true)));
    }

    private Object inner(int column) throws Wrong {
        switch (peek()) {
            case '{':
                return braces(column);
            case '[':
                return brackets(column);
            case '"': case '\'':
                return quoted();
            default:
                return plain(true);
        }
    }

    // Texts.

    /** Refuses what begins like a form that is not understood, by its name. */
    private void notNamed() throws Wrong {
        String what;
        switch (peek()) {
            case '&':
                what = "an anchor";
                break;
            case '*':
                what = "an alias";
                break;
            case '!':
                what = "a tag";
                break;
            case '|': case '>':
                what = "a block of text";
                break;
            case '%': case '@': case '`':
                what = "a reserved character";
                break;
            case '?':
                if (!isGap(peek(1))) {
                    return;
                }
                what = "a key of several lines";
                break;
            default:
                return;
        }
        int to = at;
        while (to < text.length() && to < at + 40 && !isGap(text.charAt(to))) {
            to++;
        }
        throw new Wrong(line, "this form of YAML is not understood: " + what + ", "
                + text.substring(at, to) + ": write the value itself, or put text that begins like "
                + "this in quotes");
    }

    /** Up to the end of its line, a comment, or what ends it in braces; null for nothing. */
    private String plain(boolean inner) throws Wrong {
        notNamed();
        int from = at;
        for (; at < text.length() && peek() != '\n'; at++) {
            char c = peek();
            if (c == '#' && at > from && isBlank(text.charAt(at - 1))) {
                break;
            }
            if (c == '$' && peek(1) == '{') { // the name of a variable
                int close = text.indexOf('}', at);
                int end = text.indexOf('\n', at);
                if (close > 0 && (end < 0 || close < end)) {
                    at = close;
                    continue;
                }
            }
            if (inner && (",[]{}".indexOf(c) >= 0
                    || c == ':' && (isGap(peek(1)) || ",[]{}".indexOf(peek(1)) >= 0))) {
                break;
            }
            if (!inner && c == ':' && isGap(peek(1))) {
                throw new Wrong(line, "a value has \": \" in it: put it in quotes");
            }
        }
        String value = text.substring(from, at).trim();
        if (value.isEmpty() && inner) {
            throw new Wrong(line, "expected a value, and there is \"" + peek() + "\"");
        }
        if (value.equals("-") && inner) {
            throw new Wrong(line, "expected a value, and there is a dash");
        }
        return value.isEmpty() || value.matches("~|null|Null|NULL") ? null : value;
    }

    private String quoted() throws Wrong {
        char quote = peek();
        StringBuilder out = new StringBuilder();
        for (at++; at < text.length() && peek() != '\n'; at++) {
            char c = peek();
            if (c == quote) {
                at++;
                if (quote == '"' || peek() != '\'') {
                    return out.toString();
                }
            } else if (c == '\\' && quote == '"') {
                at++;
                escaped(out);
                continue;
            }
            out.append(c);
        }
        throw new Wrong(line, "a quote is not closed on its line");
    }

    private void escaped(StringBuilder out) throws Wrong {
        char c = peek();
        int known = "0abtnvfre \"/\\N_LP\t".indexOf(c);
        int digits = c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0;
        if (at < text.length() && known >= 0) {
            out.append("\0\u0007\b\t\n\u000b\f\r\u001b \"/\\\u0085\u00a0\u2028\u2029\t"
                    .charAt(known));
            return;
        }
        try {
            if (digits > 0 && text.substring(at + 1, at + 1 + digits).matches("[0-9a-fA-F]+")) {
                out.appendCodePoint(Integer.parseUnsignedInt(
                        text.substring(at + 1, at + 1 + digits), 16));
                at += digits;
                return;
            }
        } catch (IllegalArgumentException | IndexOutOfBoundsException none) {
            // it is said below
        }
        throw new Wrong(line, "\\" + (c == END || c == '\n' ? "" : c)
                + " in double quotes means nothing: write \\\\ for a backslash");
    }
}
