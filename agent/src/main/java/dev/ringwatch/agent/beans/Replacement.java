package dev.ringwatch.agent.beans;

import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;

/**
 * A text with {@code $1} and {@code \} in it, as {@link Matcher#replaceAll} reads them, taken apart
 * once.
 */
final class Replacement {
    /** Texts, and groups by number or name, in turn. */
    private final List<Object> parts = new ArrayList<>();

    /**
     * @param groups how many the pattern has
     * @throws IllegalArgumentException if it refers to a group that is not there
     */
    Replacement(String template, int groups) {
        StringBuilder plain = new StringBuilder();
        for (int i = 0; i < template.length(); i++) {
            char c = template.charAt(i);
            if (c != '$' && c != '\\') {
                plain.append(c);
                continue;
            }
            if (++i == template.length()) {
                throw new IllegalArgumentException("\"" + template + "\" ends with " + c);
            }
            char next = template.charAt(i);
            if (c == '\\') {
                plain.append(next);
            } else if (next == '{') {
                int close = template.indexOf('}', i);
                if (close < 0) {
                    throw new IllegalArgumentException("\"" + template
                            + "\": a group's name is not closed");
                }
                add(plain, template.substring(i + 1, close));
                i = close;
            } else if (next >= '0' && next <= '9') {
                int group = next - '0';
                if (group > groups) {
                    throw new IllegalArgumentException("\"" + template + "\" names group " + group
                            + ", the pattern has " + groups);
                }
                while (i + 1 < template.length() && Character.isDigit(template.charAt(i + 1))
                        && group * 10 + template.charAt(i + 1) - '0' <= groups) {
                    group = group * 10 + template.charAt(++i) - '0';
                }
                add(plain, group);
            } else {
                throw new IllegalArgumentException("\"" + template
                        + "\": after $ comes a group's number");
            }
        }
        if (plain.length() > 0) {
            parts.add(plain.toString());
            parts.add("");
        }
    }

    private void add(StringBuilder plain, Object group) {
        parts.add(plain.toString());
        plain.setLength(0);
        parts.add(group);
    }

    /** @param match of the whole text, or null if there was no pattern */
    String expand(Matcher match) {
        StringBuilder out = new StringBuilder();
        for (int i = 0; i < parts.size(); i += 2) {
            out.append(parts.get(i));
            Object group = parts.get(i + 1);
            String text = group instanceof Integer ? match.group((Integer) group)
                    : group.equals("") ? null : match.group((String) group);
            out.append(text == null ? "" : text);
        }
        return out.toString();
    }
}
