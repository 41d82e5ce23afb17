package dev.ringwatch.agent.beans;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Random;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.regex.PatternSyntaxException;
import org.junit.jupiter.api.Test;

/** What is tried in few texts has the matches and groups of what is tried in all. */
class AnywhereTest {
    private static final String[] PIECES = {"a", "b", "ab", "org.a", "\\.", "\\w", "\\Qa|b\\E",
        ".", ".*", "(a|b)", "(?:a|ab)", "[ab]", "[^a]", "[|]", "|", "?", "*", "+", "{2}", "{1,2}",
        "]", "\\]", "(b+)", "(?i)", "^", "$", "\\b", "(?=a)", ")(", ")?(", "<", "\\n",
        "é", "[a[b]|]"};
    private static final String[] TEXTS = {"a", "b", "ab", "org.a", "orgXa", ".", "<", "|", "\n",
        "é", "B", "x"};

    private static String some(Random random, String[] of, int most) {
        StringBuilder text = new StringBuilder();
        for (int n = random.nextInt(most) + 1; n > 0; n--) {
            text.append(of[random.nextInt(of.length)]);
        }
        return text.toString();
    }

    private static String found(Matcher matcher) {
        StringBuilder all = new StringBuilder(matcher == null ? "" : "matches ");
        for (int g = 0; matcher != null && g <= matcher.groupCount(); g++) {
            all.append(g).append('=').append(matcher.start(g)).append('-').append(matcher.end(g))
                    .append(' ');
        }
        return all.toString();
    }

    @Test
    void findsWhatTheEngineFinds() {
        long seed = System.nanoTime();
        Random random = new Random(seed);
        int matches = 0;
        int known = 0;
        for (int n = 0; n < 200_000; n++) {
            String regex = some(random, PIECES, 6);
            String end = random.nextBoolean() ? ".*$" : "$";
            Pattern engine;
            Anywhere tried;
            try {
                engine = Pattern.compile("^.*(?:" + regex + ')' + end);
                tried = new Anywhere(regex, end);
            } catch (PatternSyntaxException none) {
                continue;
            }
            known += tried.literals().isEmpty() ? 0 : 1;
            String text = some(random, TEXTS, 8);
            Matcher expected = engine.matcher(text);
            String all = expected.matches() ? found(expected) : "";
            matches += all.isEmpty() ? 0 : 1;
            for (int i = 0; i < 3; i++) { // whatever has been looked at before
                String beginning = text.substring(0, random.nextInt(text.length() + 1));
                assertEquals(all, found(tried.match(new BoundedText(text), beginning)),
                        () -> "seed " + seed + ": " + regex + " in " + text + " from " + beginning);
                String other = beginning + some(random, TEXTS, 3);
                Matcher ofOther = engine.matcher(other);
                assertEquals(ofOther.matches() ? found(ofOther) : "",
                        found(tried.match(new BoundedText(other), beginning)),
                        () -> "seed " + seed + ": " + regex + " in " + other + " from "
                        + beginning);
            }
        }
        assertTrue(matches > 1000 && known > 1000,
                matches + " matches, " + known + " with literals");
    }

    @Test
    void knowsWhatAMatchHas() {
        String[][] cases = {
            {"metrics<type=(\\S*)(?:, scope=(\\S*))?, name=(.+)><>Count",
                "metrics<type=", ", name=", "><>Count"},
            {"ab?c", "a", "c"}, {"ab|cd"}, {"a(b|c)d", "a", "d"}, {"a[|]", "a"}, {"\\.a\\w", ".a"},
            {"^a$", "a"}, {"a\\Q|\\E"}, {"a.b{2}c", "a", "c"}, {"a(?i)b", "a"},
            {"a((?i)b)c", "a"}, {"a(?<n>b)c", "a", "c"}, {"a[[b]c]d", "a", "d"},
            {"a[\\]]b", "a", "b"}, {""}};
        for (String[] each : cases) {
            assertEquals(List.of(each).subList(1, each.length),
                    new Anywhere(each[0], "$").literals(), each[0]);
        }
    }
}
