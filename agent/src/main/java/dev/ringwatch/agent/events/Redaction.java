package dev.ringwatch.agent.events;

import java.util.Arrays;
import java.util.HashSet;
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

    /** Where a statement begins in another text. */
    private static final Pattern STATEMENT = Pattern.compile("\\b(?:"
            + "SELECT\\b.*?\\bFROM\\b|INSERT\\s+(?:JSON|INTO)\\b|UPDATE\\s+\\S+\\s+(?:USING|SET)\\b"
            + "|DELETE\\b.{0,1000}?\\bFROM\\b|BEGIN\\s+(?:\\w+\\s+)?BATCH\\b"
            + "|(?:CREATE|ALTER|DROP)\\s+(?:OR\\s+REPLACE\\s+)?(?:ROLE|USER|TABLE|KEYSPACE|TYPE"
            + "|CUSTOM|INDEX|MATERIALIZED|FUNCTION|AGGREGATE|COLUMNFAMILY)\\b"
            + "|(?:GRANT|REVOKE)\\s|TRUNCATE\\s|LIST\\s+(?:ROLES|USERS|ALL)\\b"
            + "|WITH\\s+(?:\\w+\\s+)?PASSWORD\\b)",
            Pattern.CASE_INSENSITIVE | Pattern.DOTALL);

    /** What a value follows whose end nobody can tell: the text ends there. */
    private static final Pattern ENDS = Pattern.compile(
            "\\b(?:(?:partition|row|clustering|index)\\s+)?keys?\\b\\s*(?:[:=(\\[]|\\S)"
            + "|\\b(?:statement|query|queries|mutation|cql|row|value|literal|constant)s?\\b"
            + "\\s*[:=(\\[<{]|DecoratedKey|Mutation\\(",
            Pattern.CASE_INSENSITIVE);

    private static final Pattern SECRET = Pattern.compile(
            "(\\w*(?:passw(?:or)?d|pwd|passphrase|secret|credential|api_?key|access_?key"
            + "|private_?key|token)\\w*)(\\s*(?:[:=]|\\bis\\b|\\bto\\b)\\s*|\\s+)\\S+",
            Pattern.CASE_INSENSITIVE);
    private static final Pattern BEARER =
            Pattern.compile("\\b(bearer|basic)\\s+\\S+", Pattern.CASE_INSENSITIVE);
    private static final Pattern IDS = Pattern.compile(
            "\\b[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}\\b"
            + "|\\b0[xX][0-9a-fA-F]+|\\b(?=[a-fA-F]*[0-9])[0-9a-fA-F]{16,}\\b");
    private static final Pattern BRACES = Pattern.compile("\\{.*(?:\\}|$)", Pattern.DOTALL);

    private static final String OPENING = "\"`\u201c\u201e\u2018\u201a\u00ab\u2039\u300c\u300e\uff02";
    private static final String CLOSING = "\"`\u201d\u201c\u2019\u2018\u00bb\u203a\u300d\u300f\uff02";

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
                out.append('?');
            } else if (c == '"') {
                int end = end(cql, i + 1, "\"");
                String name = cql.substring(i + 1, Math.max(i + 1, end - 1)).replace("\"\"", "\"");
                out.append(!name.isEmpty() && isName.test(name)
                        ? '"' + name.replace("\"", "\"\"") + '"' : "?");
                i = end;
            } else if (cql.startsWith("$$", i)) {
                i = end(cql, i + 2, "$$");
                out.append('?');
            } else if (cql.startsWith("/*", i)) {
                i = end(cql, i + 2, "*/");
                out.append('?');
            } else if (cql.startsWith("--", i) || cql.startsWith("//", i)) {
                i = end(cql, i + 2, "\n");
                out.append('?');
            } else if ("(),=<>;[]{}*!+:".indexOf(c) >= 0) {
                out.append(c);
                i++;
            } else {
                int from = i;
                while (i < cql.length() && !Character.isWhitespace(cql.charAt(i))
                        && "(),=<>;[]{}*!+'\"".indexOf(cql.charAt(i)) < 0) {
                    i++;
                }
                out.append(word(cql.substring(from, i), isName));
            }
        }
        return collapsed(out.toString());
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

    private static String word(String word, Predicate<String> isName) {
        String[] parts = word.split("\\.", -1);
        for (String part : parts) {
            boolean known = WORD.matcher(part).matches()
                    && (WORDS.contains(part.toLowerCase(Locale.ROOT)) || isName.test(part));
            if (!known) {
                return "?";
            }
        }
        return parts.length > 3 ? "?" : word;
    }

    /** So that lists of any length, and collections of any content, read the same. */
    private static String collapsed(String text) {
        String before;
        String now = text;
        do {
            before = now;
            now = now.replaceAll("\\?(?: ?[,:+]? ?\\?)+", "?")
                    .replaceAll("([ =(,]):\\?", "$1?")
                    .replaceAll("[\\[{] ?\\?? ?[\\]}]", "?")
                    .replaceAll("[\\[{] ?\\?[^\\]}?]*$", "?")
                    .replaceAll("\\(\\?\\)(?:, ?\\(\\?\\))+", "(?)");
        } while (!now.equals(before));
        return now.trim();
    }

    /** Any text of a log. */
    public static String text(String text) {
        Matcher statement = STATEMENT.matcher(text);
        if (statement.find()) {
            return plain(text.substring(0, statement.start())) + " "
                    + statement(text.substring(statement.start()), none -> false);
        }
        return plain(text);
    }

    private static String plain(String text) {
        Matcher ends = ENDS.matcher(text);
        if (ends.find()) {
            text = text.substring(0, ends.start())
                    + ends.group().replaceAll("(?s)[^A-Za-z ].*|(?<=\\s)\\S+$", "").trim() + " ?";
        }
        text = unquoted(text);
        text = BRACES.matcher(text).replaceAll("?");
        text = withoutAddresses(text);
        text = SECRET.matcher(text).replaceAll("$1$2?");
        text = BEARER.matcher(text).replaceAll("$1 ?");
        return IDS.matcher(text).replaceAll("?").trim();
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
     * apostrophe within a word is none.
     */
    private static String unquoted(String text) {
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
            } else if (c == '\'' && (i == 0 || !Character.isLetterOrDigit(text.charAt(i - 1)))) {
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
            } else if (i + 1 == text.length()
                    || !Character.isLetterOrDigit(text.charAt(i + 1))) {
                return i;
            }
        }
        return -1;
    }
}
