package dev.ringwatch.agent.events;

import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.function.Predicate;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Takes out of a text what users have stored or keep secret.
 *
 * <p>Of a statement it does not look for literals, which may stand without quotes, be cut in the
 * middle or hold anything: it lets through CQL's own words, names that the schema has, and marks,
 * and a question mark stands for all else. Of any other text it takes out what looks like a value,
 * and cuts it where a value may begin whose end cannot be known.
 */
public final class Redaction {
    private static final Set<String> WORDS = new HashSet<>(Arrays.asList((
            "select json distinct from where and in per partition limit allow filtering order by "
            + "asc desc group as contains key like is not token count min max sum avg writetime "
            + "ttl cast insert into values if exists using timestamp update set delete begin "
            + "unlogged logged counter batch apply create alter drop truncate table columnfamily "
            + "keyspace keyspaces index custom type role roles user users with password hashed "
            + "login nologin superuser nosuperuser options access datacenters all grant revoke on "
            + "of to permissions permission materialized view function aggregate replace primary "
            + "clustering add rename use list ann between or default unset").split(" ")));

    private static final Pattern WORD = Pattern.compile("[A-Za-z_][A-Za-z0-9_]*");

    /** Where a statement begins in another text; the first two if {@link #FROM} follows. */
    private static final Pattern STATEMENT = Pattern.compile("\\b(?:"
            + "(SELECT|DELETE)\\b|INSERT\\s+(?:JSON|INTO)\\b|UPDATE\\s+\\S+\\s+(?:USING|SET)\\b"
            + "|BEGIN\\s+(?:\\w+\\s+)?BATCH\\b"
            + "|(?:CREATE|ALTER|DROP)\\s+(?:OR\\s+REPLACE\\s+)?(?:ROLE|USER|TABLE|KEYSPACE|TYPE"
            + "|CUSTOM|INDEX|MATERIALIZED|FUNCTION|AGGREGATE|COLUMNFAMILY)\\b"
            + "|(?:GRANT|REVOKE)\\s|TRUNCATE\\s|LIST\\s+(?:ROLES|USERS|ALL)\\b"
            + "|WITH\\s+(?:\\w+\\s+)?PASSWORD\\b)",
            Pattern.CASE_INSENSITIVE);
    private static final Pattern FROM = Pattern.compile("\\bFROM\\b", Pattern.CASE_INSENSITIVE);

    /** What a value follows whose end nobody can tell: the text ends there. */
    private static final Pattern ENDS = Pattern.compile(
            "\\b(?:keys?|values?|literals?|constants?|got|but\\s+(?:was|is|found|received))\\b"
            + "(?=\\s*\\S)"
            + "|\\b(?:statements?|query|queries|mutations?|cql|rows?)\\b(?=\\s*[:=(\\[<{])"
            + "|DecoratedKey|Mutation(?=\\()"
            + "|(?<!\\w)(?=\\w*?(?:passw(?:or)?d|pwd|passphrase|secret|credential|api_?key"
            + "|access_?key|private_?key))\\w++(?=\\s*\\S)"
            + "|(?<!\\w)(?=\\w*?token)\\w++(?=\\s*[:=]|\\s+(?:is|to)\\b)",
            Pattern.CASE_INSENSITIVE);

    /** A secret, or a place in the ring, which ends with the word. */
    private static final Pattern TOKEN = Pattern.compile(
            "(?<!\\w)(?=\\w*?token)(\\w++\\s++)\\S+", Pattern.CASE_INSENSITIVE);
    private static final Pattern BEARER =
            Pattern.compile("\\b(bearer|basic)\\s+\\S+", Pattern.CASE_INSENSITIVE);
    private static final Pattern IDS = Pattern.compile(
            "\\b[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}\\b"
            + "|\\b0[xX][0-9a-fA-F]+|\\b(?=[a-fA-F]*[0-9])[0-9a-fA-F]{16,}\\b");
    private static final Pattern BRACES = Pattern.compile("\\{.*(?:\\}|$)", Pattern.DOTALL);

    /** A tuple of values behind another. */
    private static final List<String> AGAIN = List.of("(?),(?)", "(?), (?)");

    private static final String OPENING =
            "\"`\u201c\u201e\u2018\u201a\u00ab\u2039\u300c\u300e\uff02";
    private static final String CLOSING =
            "\"`\u201d\u201c\u2019\u2018\u00bb\u203a\u300d\u300f\uff02";

    /** What follows an apostrophe within a word. */
    private static final Pattern ENDING = Pattern.compile(
            "(?:s|t|d|m|re|ve|ll)(?![\\p{L}\\p{N}])", Pattern.CASE_INSENSITIVE);

    private Redaction() {}

    /**
     * @param isName whether the schema has such a name, as it is written
     */
    public static String statement(String cql, Predicate<String> isName) {
        StringBuilder out = new StringBuilder();
        int i = 0;
        while (i < cql.length()) {
            char c = cql.charAt(i);
            if (Character.isWhitespace(c)) {
                i++;
                blank(out);
            } else if (c == '\'') {
                i = end(cql, i + 1, "'");
                value(out);
            } else if (c == '"') {
                int end = end(cql, i + 1, "\"");
                String name = cql.substring(i + 1, Math.max(i + 1, end - 1)).replace("\"\"", "\"");
                if (!name.isEmpty() && isName.test(name)) {
                    out.append('"').append(name.replace("\"", "\"\"")).append('"');
                } else {
                    value(out);
                }
                i = end;
            } else if (cql.startsWith("$$", i)) {
                i = end(cql, i + 2, "$$");
                value(out);
            } else if (cql.startsWith("/*", i)) {
                i = end(cql, i + 2, "*/");
                value(out);
            } else if (cql.startsWith("--", i) || cql.startsWith("//", i)) {
                i = end(cql, i + 2, "\n");
                value(out);
            } else if ("(),=<>;[]{}*!+:".indexOf(c) >= 0) {
                mark(out, c);
                i++;
            } else {
                int from = i;
                while (i < cql.length() && !Character.isWhitespace(cql.charAt(i))
                        && "(),=<>;[]{}*!+'\"".indexOf(cql.charAt(i)) < 0) {
                    i++;
                }
                String word = cql.substring(from, i);
                if (isKnown(word, isName)) {
                    out.append(word);
                } else {
                    value(out);
                }
            }
        }
        return withoutCut(out);
    }

    private static void blank(StringBuilder out) {
        if (out.length() > 0 && out.charAt(out.length() - 1) != ' ') {
            out.append(' ');
        }
    }

    /** Behind the end of what was opened; doubled marks are not its end. */
    private static int end(String cql, int from, String mark) {
        int i = from;
        for (;;) {
            int at = cql.indexOf(mark, i);
            if (at < 0) {
                return cql.length();
            }
            boolean doubled = mark.length() == 1 && mark.charAt(0) != '\n'
                    && cql.startsWith(mark, at + 1);
            if (!doubled) {
                return at + mark.length();
            }
            i = at + 2;
        }
    }

    private static boolean isKnown(String word, Predicate<String> isName) {
        String[] parts = word.split("\\.", -1);
        for (String part : parts) {
            boolean known = WORD.matcher(part).matches()
                    && (WORDS.contains(part.toLowerCase(Locale.ROOT)) || isName.test(part));
            if (!known) {
                return false;
            }
        }
        return parts.length <= 3;
    }

    /**
     * A question mark, or none if it would only continue a list that ends in one: lists of any
     * length, and collections of any content, read the same.
     */
    private static void value(StringBuilder out) {
        int end = out.length();
        if (end > 1 && out.charAt(end - 1) == ':' && " =(,".indexOf(out.charAt(end - 2)) >= 0) {
            out.setLength(--end); // a bound value's name
        }
        int at = beforeBlank(out, end);
        if (at > 0 && ",:+".indexOf(out.charAt(at - 1)) >= 0) {
            at = beforeBlank(out, at - 1);
        }
        if (at > 0 && out.charAt(at - 1) == '?') {
            out.setLength(at);
        } else {
            out.append('?');
        }
    }

    private static int beforeBlank(StringBuilder out, int end) {
        return end > 0 && out.charAt(end - 1) == ' ' ? end - 1 : end;
    }

    /** A collection that it closes is a value, and a tuple behind an equal one says nothing. */
    private static void mark(StringBuilder out, char mark) {
        if (mark == ']' || mark == '}') {
            int at = beforeBlank(out, out.length());
            if (at > 0 && out.charAt(at - 1) == '?') {
                at = beforeBlank(out, at - 1);
            }
            if (at > 0 && isOpening(out.charAt(at - 1))) {
                out.setLength(at - 1);
                value(out);
                return;
            }
        }
        out.append(mark);
        if (mark == ')') {
            for (String again : AGAIN) {
                if (out.length() >= again.length()
                        && out.indexOf(again, out.length() - again.length()) >= 0) {
                    out.setLength(out.length() - again.length() + "(?)".length());
                    return;
                }
            }
        }
    }

    private static boolean isOpening(char c) {
        return c == '[' || c == '{';
    }

    /** Without the beginnings of collections that were cut. */
    private static String withoutCut(StringBuilder out) {
        for (;;) {
            int last = out.lastIndexOf("?");
            int at = last < 0 ? 0 : beforeBlank(out, last);
            if (at == 0 || !isOpening(out.charAt(at - 1))
                    || out.indexOf("]", last) >= 0 || out.indexOf("}", last) >= 0) {
                return out.toString().trim();
            }
            out.setLength(at - 1);
            value(out);
        }
    }

    /** Any text of a log. */
    public static String text(String text) {
        int lastQuote = lastQuote(text);
        int lastFrom = -1;
        for (Matcher from = FROM.matcher(text); from.find();) {
            lastFrom = from.start();
        }
        for (Matcher found = STATEMENT.matcher(text); found.find();) {
            if (found.group(1) == null || found.end() < lastFrom) {
                return plain(text.substring(0, found.start()), lastQuote) + " "
                        + statement(text.substring(found.start()), none -> false);
            }
        }
        return plain(text, lastQuote);
    }

    private static String plain(String text, int lastQuote) {
        Matcher ends = ENDS.matcher(text);
        if (ends.find()) {
            text = text.substring(0, ends.end()) + " ?";
        }
        text = unquoted(text, lastQuote);
        text = BRACES.matcher(text).replaceAll("?");
        text = withoutAddresses(text);
        text = BEARER.matcher(text).replaceAll("$1 ?");
        text = TOKEN.matcher(text).replaceAll("$1?");
        return IDS.matcher(text).replaceAll("?").trim();
    }

    /** The last apostrophe that may close a quote. */
    private static int lastQuote(String text) {
        int at = text.lastIndexOf('\'');
        while (at >= 0 && !endsWord(text, at)) {
            at = text.lastIndexOf('\'', at - 1);
        }
        return at;
    }

    private static boolean endsWord(String text, int quote) {
        return quote + 1 == text.length() || !Character.isLetterOrDigit(text.charAt(quote + 1));
    }

    /** Users and passwords in addresses, and addresses of mail: every word with an at sign. */
    private static String withoutAddresses(String text) {
        if (text.indexOf('@') < 0) {
            return text;
        }
        StringBuilder out = new StringBuilder();
        for (int i = 0; i < text.length();) {
            int from = i;
            boolean address = false;
            while (i < text.length() && !Character.isWhitespace(text.charAt(i))) {
                address |= text.charAt(i++) == '@';
            }
            out.append(address ? "?" : text.substring(from, i));
            if (i < text.length()) {
                out.append(text.charAt(i++));
            }
        }
        return out.toString();
    }

    /**
     * A question mark for all that stands in quotes, and for the rest if one is never closed. An
     * apostrophe as in {@code can't} is none, unless one follows that may close it.
     *
     * @param lastQuote the last of those, also if it stands behind what is left of the text
     */
    private static String unquoted(String text, int lastQuote) {
        Matcher ending = ENDING.matcher(text);
        StringBuilder out = new StringBuilder();
        for (int i = 0; i < text.length();) {
            char c = text.charAt(i);
            int kind = OPENING.indexOf(c);
            if (text.startsWith("$$", i)) {
                out.append('?');
                int close = text.indexOf("$$", i + 2);
                if (close < 0) {
                    return out.toString();
                }
                i = close + 2;
            } else if (kind >= 0) {
                out.append('?');
                int close = text.indexOf(CLOSING.charAt(kind), i + 1);
                if (close < 0) {
                    return out.toString();
                }
                i = close + 1;
            } else if (c == '\'' && (i < lastQuote || i == 0
                    || !Character.isLetterOrDigit(text.charAt(i - 1))
                    || !ending.region(i + 1, text.length()).lookingAt())) {
                out.append('?');
                int close = closed(text, i + 1);
                if (close < 0) {
                    return out.toString();
                }
                i = close + 1;
            } else {
                out.append(c);
                i++;
            }
        }
        return out.toString();
    }

    /** The next apostrophe that ends a word and is not doubled. */
    private static int closed(String text, int from) {
        for (int i = from; i < text.length(); i++) {
            if (text.charAt(i) != '\'') {
                continue;
            }
            if (text.startsWith("''", i)) {
                i++;
            } else if (endsWord(text, i)) {
                return i;
            }
        }
        return -1;
    }
}
