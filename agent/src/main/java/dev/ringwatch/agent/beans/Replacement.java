package dev.ringwatch.agent.beans;

import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;

/**
 * A text with {@code $1} and {@code \} in it, as {@link Matcher#replaceAll} reads them, taken apart
 * once. One that {@code replaceAll} would throw at is kept with the reason, and throws when it is
 * expanded: a rule that nothing matches does no harm.
 */
final class Replacement {
    /** Texts, and groups by number or name, in turn. */
    private final List<Object> parts = new ArrayList<>();
    private final String wrong;

    /** @param pattern whose groups it refers to; null has none */
    Replacement(String template, Anywhere pattern) {
        wrong = parse(template, pattern);
    }

    private Replacement(String wrong) {
        this.wrong = wrong;
    }

    /** Of a label that has no text. */
    static Replacement missing(String label) {
        return new Replacement("the label " + label + " has no text");
    }

    /** What is wrong with it, or null. */
    String wrong() {
        return wrong;
    }

    private String parse(String template, Anywhere pattern) {
        int groups = pattern == null ? 0 : pattern.groups();
        StringBuilder plain = new StringBuilder();
        for (int i = 0; i < template.length(); i++) {
            char c = template.charAt(i);
            if (c != '$' && c != '\\') {
                plain.append(c);
                continue;
            }
            if (++i == template.length()) {
                return "\"" + template + "\" ends with " + c;
            }
            char next = template.charAt(i);
            if (c == '\\') {
                plain.append(next);
            } else if (next == '{') {
                int close = template.indexOf('}', i);
                String group = close < 0 ? "" : template.substring(i + 1, close);
                if (!group.matches("[a-zA-Z][a-zA-Z0-9]*")) {
                    return "\"" + template + "\": after ${ come a group's name and }";
                }
                if (pattern == null || !pattern.hasGroup(group)) {
                    return "\"" + template + "\" names group " + group
                            + ", which the pattern has not";
                }
                add(plain, group);
                i = close;
            } else if (isDigit(next)) {
                int group = next - '0';
                if (group > groups) {
                    return "\"" + template + "\" names group " + group + ", the pattern has "
                            + groups;
                }
                while (i + 1 < template.length() && isDigit(template.charAt(i + 1))
                        && group * 10 + template.charAt(i + 1) - '0' <= groups) {
                    group = group * 10 + template.charAt(++i) - '0';
                }
                add(plain, group);
            } else {
                return "\"" + template + "\": after $ comes a group's number";
            }
        }
        if (plain.length() > 0) {
            parts.add(plain.toString());
            parts.add("");
        }
        return null;
    }

    private static boolean isDigit(char c) {
        return c >= '0' && c <= '9';
    }

    private void add(StringBuilder plain, Object group) {
        parts.add(plain.toString());
        plain.setLength(0);
        parts.add(group);
    }

    /**
     * @param match of the whole text, or null if there was no pattern
     * @throws Namer.Unusable where {@code replaceAll} would throw
     */
    String expand(Matcher match) {
        if (wrong != null || match == null) {
            throw new Namer.Unusable(wrong != null ? wrong : "there is no pattern");
        }
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
