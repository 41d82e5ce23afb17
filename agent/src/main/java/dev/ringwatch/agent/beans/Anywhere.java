package dev.ringwatch.agent.beans;

import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.regex.PatternSyntaxException;

/**
 * A regular expression that may begin anywhere in a text, {@code ^.*(?:…)}, as the JMX exporter
 * wraps its patterns. The engine would try it at each character of each bean's name. Most patterns
 * have characters that each match must have, such as {@code metrics<type=} and {@code ><>Count}:
 * the engine is asked only where a text has all of them, one behind the other.
 */
final class Anywhere {
    private final Pattern pattern;
    private final List<String> literals;
    private Beginning last = new Beginning("", 0, 0);

    /** A text's beginning, and how many of the literals it has, up to where. */
    private static final class Beginning {
        final String text;
        final int has;
        final int upTo;

        Beginning(String text, int has, int upTo) {
            this.text = text;
            this.has = has;
            this.upTo = upTo;
        }
    }

    /**
     * @param regex what may begin anywhere
     * @param end what follows it up to the end of the text
     */
    Anywhere(String regex, String end) {
        pattern = Pattern.compile("^.*(?:" + regex + ')' + end);
        literals = mayBranch(regex) ? List.of() : literals(regex);
    }

    int groups() {
        return pattern.matcher("").groupCount();
    }

    /** Whether a group has that name, which is letters and digits. */
    boolean hasGroup(String name) {
        try {
            Pattern.compile(pattern.pattern() + "\\k<" + name + ">");
            return true;
        } catch (PatternSyntaxException none) {
            return false;
        }
    }

    /** For tests. */
    List<String> literals() {
        return literals;
    }

    /**
     * Null if it does not match the whole text.
     *
     * @param beginning of the text. Texts that share it come one behind the other, as a bean's
     *         attributes do: it is searched once, and then only what follows it.
     */
    Matcher match(BoundedText text, String beginning) {
        Beginning begun = last; // another thread may look at another bean
        if (!beginning.equals(begun.text)) {
            begun = begin(beginning);
            last = begun;
        }
        int from = begun.upTo;
        for (int i = begun.has; i < literals.size(); i++) {
            String literal = literals.get(i);
            int at = text.toString().indexOf(literal,
                    Math.max(from, beginning.length() - literal.length() + 1));
            if (at < 0) {
                return null;
            }
            from = at + literal.length();
        }
        text.renew();
        Matcher matcher = pattern.matcher(text);
        return matcher.matches() ? matcher : null;
    }

    private Beginning begin(String text) {
        int has = 0;
        int upTo = 0;
        for (; has < literals.size(); has++) {
            int at = text.indexOf(literals.get(has), upTo);
            if (at < 0) {
                break;
            }
            upTo = at + literals.get(has).length();
        }
        return new Beginning(text, has, upTo);
    }

    /**
     * The texts that a match has, in their order: of an expression without alternatives, what
     * stands outside of all groups and classes and is not repeated. What is hard to tell is left
     * out, and nothing is told of what follows flags.
     */
    private static List<String> literals(String regex) {
        List<String> all = new ArrayList<>();
        StringBuilder one = new StringBuilder();
        for (int i = 0; i < regex.length(); i++) {
            char c = regex.charAt(i);
            int begin = i;
            if (c == '[') {
                i = endOfClass(regex, i);
            } else if (c == '(') {
                i = endOfGroup(regex, i);
                if (i < 0) {
                    break;
                }
            } else if (c == '\\') {
                i++;
            }
            char last = i < regex.length() ? regex.charAt(i) : '\0';
            boolean literal = c == '\\' ? !Character.isLetterOrDigit(last)
                    : i == begin && ".^$|?*+{}])".indexOf(c) < 0;
            boolean repeated = i + 1 < regex.length() && "?*+{".indexOf(regex.charAt(i + 1)) >= 0;
            if (literal && !repeated && last >= ' ' && last <= '~') {
                one.append(last);
                continue;
            }
            add(all, one);
            if (c == '{') { // what it repeats has been left out
                i = Math.max(i, regex.indexOf('}', i));
            }
        }
        add(all, one);
        return all;
    }

    private static void add(List<String> all, StringBuilder one) {
        if (one.length() > 0) {
            all.add(one.toString());
            one.setLength(0);
        }
    }

    private static int endOfClass(String regex, int from) {
        int depth = 0;
        for (int i = from; i < regex.length(); i++) {
            char c = regex.charAt(i);
            i += c == '\\' ? 1 : 0;
            depth += c == '[' ? 1 : c == ']' ? -1 : 0;
            if (depth == 0) {
                return i;
            }
        }
        return regex.length();
    }

    /** −1 if there are flags in it. */
    private static int endOfGroup(String regex, int from) {
        int depth = 0;
        for (int i = from; i < regex.length(); i++) {
            char c = regex.charAt(i);
            if (c == '\\') {
                i++;
            } else if (c == '[') {
                i = endOfClass(regex, i);
            } else if (c == '(') {
                depth++;
                char kind = regex.startsWith("(?", i) && i + 2 < regex.length()
                        ? regex.charAt(i + 2) : ':';
                if (Character.isLetter(kind) || kind == '-') {
                    return -1;
                }
            } else if (c == ')' && --depth == 0) {
                return i;
            }
        }
        return regex.length();
    }

    /** Whether there are alternatives outside of all groups, or what only a parser could tell. */
    private static boolean mayBranch(String regex) {
        int depth = 0;
        for (int i = 0; i < regex.length(); i++) {
            char c = regex.charAt(i);
            if (c == '\\') {
                i++;
                if (i < regex.length() && regex.charAt(i) == 'Q') {
                    return true;
                }
            } else if (c == '[') {
                i = endOfClass(regex, i);
            } else {
                depth += c == '(' ? 1 : c == ')' ? -1 : 0;
                if (depth < 0 || depth == 0 && c == '|') { // or it ends the group around it
                    return true;
                }
            }
        }
        return false;
    }
}
