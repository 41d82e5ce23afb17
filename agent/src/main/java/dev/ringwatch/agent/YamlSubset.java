package dev.ringwatch.agent;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * As much of YAML as a short configuration needs: maps nested by indentation, scalars plain or
 * quoted, lists of scalars in brackets or with dashes, lists of maps of one key, comments. Anything
 * else is an error with its line, never a guess. A parser of its own because the host's may be of
 * any version, and because this one is small enough to be sure of.
 */
final class YamlSubset {
    private final List<String> errors;
    private final List<Line> lines = new ArrayList<>();
    private int at;

    private static final class Line {
        final int number;
        final int indent;
        final String text;

        Line(int number, int indent, String text) {
            this.number = number;
            this.indent = indent;
            this.text = text;
        }
    }

    private YamlSubset(List<String> errors) {
        this.errors = errors;
    }

    /**
     * Values are {@code String}, {@code List<Object>}, {@code Map<String, Object>}, or null for
     * nothing.
     */
    static Map<String, Object> parse(List<String> text, List<String> errors) {
        YamlSubset parser = new YamlSubset(errors);
        for (int i = 0; i < text.size(); i++) {
            String line = withoutComment(text.get(i));
            String trimmed = line.trim();
            if (trimmed.isEmpty() || trimmed.equals("---") && parser.lines.isEmpty()) {
                continue;
            }
            int indent = 0;
            while (line.charAt(indent) == ' ') {
                indent++;
            }
            if (line.charAt(indent) == '\t') {
                errors.add("line " + (i + 1) + ": indent with blanks, not tabs");
                continue;
            }
            parser.lines.add(new Line(i + 1, indent, trimmed));
        }
        Map<String, Object> map = parser.map(0);
        while (parser.at < parser.lines.size()) {
            parser.error(parser.lines.get(parser.at++), "unexpected indentation");
        }
        return map;
    }

    private Map<String, Object> map(int indent) {
        Map<String, Object> map = new LinkedHashMap<>();
        while (at < lines.size() && lines.get(at).indent == indent) {
            Line line = lines.get(at++);
            int colon = colon(line.text);
            if (colon < 0) {
                error(line, "expected \"key: value\"");
                continue;
            }
            String key = unquote(line, line.text.substring(0, colon).trim());
            String rest = line.text.substring(colon + 1).trim();
            Object value = rest.isEmpty() ? nested(indent) : scalarOrList(line, rest);
            if (map.containsKey(key)) {
                error(line, "\"" + key + "\" is there twice");
            }
            map.put(key, value);
        }
        return map;
    }

    /** What stands under a key without a value of its own. */
    private Object nested(int indent) {
        if (at >= lines.size()) {
            return null;
        }
        Line first = lines.get(at);
        if (first.text.startsWith("- ") && first.indent >= indent || first.text.equals("-")) {
            List<Object> list = new ArrayList<>();
            while (at < lines.size() && lines.get(at).indent == first.indent
                    && lines.get(at).text.startsWith("-")) {
                Line line = lines.get(at++);
                list.add(item(line, line.text.substring(1).trim()));
            }
            return list;
        }
        return first.indent > indent ? map(first.indent) : null;
    }

    /**
     * A scalar, a map in braces, or a map of one key whose value is a scalar, a map in braces or a
     * map on the lines below.
     */
    private Object item(Line line, String text) {
        if (text.startsWith("{")) {
            return braces(line, text);
        }
        int colon = colon(text);
        if (colon < 0) {
            return unquote(line, text);
        }
        Map<String, Object> map = new LinkedHashMap<>();
        String rest = text.substring(colon + 1).trim();
        Object value = rest.isEmpty() ? nested(line.indent + 1)
                : rest.startsWith("{") ? braces(line, rest) : scalarOrList(line, rest);
        map.put(unquote(line, text.substring(0, colon).trim()), value);
        return map;
    }

    private Map<String, Object> braces(Line line, String text) {
        Map<String, Object> map = new LinkedHashMap<>();
        if (!text.endsWith("}")) {
            error(line, "a map must end on its line with }");
            return map;
        }
        for (String entry : split(text.substring(1, text.length() - 1))) {
            int colon = colon(entry);
            String key = colon < 0 ? "" : unquote(line, entry.substring(0, colon).trim());
            if (key.isEmpty() || entry.substring(colon + 1).trim().isEmpty()) {
                error(line, "expected \"key: value\" between commas");
            } else if (map.put(key, plain(line, entry.substring(colon + 1).trim())) != null) {
                error(line, "\"" + key + "\" is there twice");
            }
        }
        return map;
    }

    private Object scalarOrList(Line line, String text) {
        if (!text.startsWith("[")) {
            return plain(line, text);
        }
        List<Object> list = new ArrayList<>();
        if (!text.endsWith("]")) {
            error(line, "a list must end on its line with ]");
            return list;
        }
        for (String item : split(text.substring(1, text.length() - 1))) {
            list.add(item.startsWith("{") ? braces(line, item) : unquote(line, item));
        }
        return list;
    }

    private String plain(Line line, String text) {
        if ("{[|>&*".indexOf(text.charAt(0)) >= 0) {
            error(line, "this form of YAML is not understood: put text that begins like this in "
                    + "quotes");
        }
        return unquote(line, text);
    }

    /** At commas that are not in quotes or braces; empty parts are left out. */
    private static List<String> split(String text) {
        List<String> parts = new ArrayList<>();
        int from = 0;
        char quote = 0;
        int braces = 0;
        for (int i = 0; i <= text.length(); i++) {
            char c = i < text.length() ? text.charAt(i) : ',';
            if (quote != 0 && i < text.length()) {
                quote = c == quote ? 0 : quote;
            } else if (c == '"' || c == '\'') {
                quote = c;
            } else if (c == '{' || c == '}') {
                braces += c == '{' ? 1 : -1;
            } else if (c == ',' && (braces <= 0 || i == text.length())) {
                String part = text.substring(from, i).trim();
                if (!part.isEmpty()) {
                    parts.add(part);
                }
                from = i + 1;
            }
        }
        return parts;
    }

    private String unquote(Line line, String text) {
        if (text.length() >= 2 && text.charAt(0) == '\'' && text.endsWith("'")) {
            return text.substring(1, text.length() - 1).replace("''", "'");
        }
        if (text.length() >= 2 && text.charAt(0) == '"' && text.endsWith("\"")) {
            StringBuilder out = new StringBuilder();
            for (int i = 1; i < text.length() - 1; i++) {
                char c = text.charAt(i);
                if (c == '\\' && i + 1 < text.length() - 1) {
                    char escaped = text.charAt(++i);
                    c = escaped == 'n' ? '\n' : escaped == 't' ? '\t' : escaped;
                }
                out.append(c);
            }
            return out.toString();
        }
        if (text.startsWith("\"") || text.startsWith("'")) {
            error(line, "a quote is not closed");
        }
        return text;
    }

    /** The first colon that ends a key: followed by a blank or nothing. */
    private static int colon(String text) {
        char quote = 0;
        for (int i = 0; i < text.length(); i++) {
            char c = text.charAt(i);
            if (quote != 0) {
                quote = c == quote ? 0 : quote;
            } else if (i == 0 && (c == '"' || c == '\'')) {
                quote = c;
            } else if (c == ':' && (i + 1 == text.length() || text.charAt(i + 1) == ' ')) {
                return i;
            }
        }
        return -1;
    }

    private static String withoutComment(String line) {
        char quote = 0;
        for (int i = 0; i < line.length(); i++) {
            char c = line.charAt(i);
            if (quote != 0) {
                quote = c == quote ? 0 : quote;
            } else if (c == '"' || c == '\'') {
                quote = c;
            } else if (c == '#' && (i == 0 || line.charAt(i - 1) == ' ')) {
                return line.substring(0, i);
            }
        }
        return line;
    }

    private void error(Line line, String what) {
        errors.add("line " + line.number + ": " + what);
    }
}
