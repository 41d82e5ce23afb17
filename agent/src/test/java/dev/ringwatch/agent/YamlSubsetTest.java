package dev.ringwatch.agent;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** The cases that the Go side's reader of YAML is held to as well. */
class YamlSubsetTest {
    @Test
    void cases() throws Exception {
        String[] cases = Files.readString(Path.of("testdata/yaml.txt")).split("\n== ");
        StringBuilder wrong = new StringBuilder();
        for (int i = 1; i < cases.length; i++) {
            String name = cases[i].substring(0, cases[i].indexOf('\n'));
            String rest = cases[i].substring(name.length() + 1);
            boolean read = rest.contains("\n-> ");
            String[] parts = rest.split("\n(->|=> wrong:|=> refused:) ");
            String want = parts[1].trim();
            List<String> errors = new ArrayList<>();
            Map<String, Object> got = YamlSubset.parse(
                    Arrays.asList(parts[0].replace("\\t", "\t").split("\n", -1)), errors);
            String said = read && errors.isEmpty() ? json(got) : String.join("; ", errors);
            if (read ? !said.equals(want) : !said.contains(want)) {
                wrong.append(name).append(": ").append(said).append(", want ").append(want)
                        .append('\n');
            }
        }
        assertEquals("", wrong.toString());
        assertTrue(cases.length > 40, cases.length + " cases");
    }

    @Test
    void eachMistakeIsSaid() {
        List<String> errors = new ArrayList<>();
        Map<String, Object> map = YamlSubset.parse(Arrays.asList("a: [x", "b: &y 1", "c:",
                "  d: \"e", "  f: 1", "g: {h: 1}"), errors);
        assertEquals(3, errors.size(), errors.toString());
        assertEquals(Map.of("h", "1"), map.get("g"));
        assertEquals("1", ((Map<?, ?>) map.get("c")).get("f"));
    }

    @Test
    void deepNestingIsAnError() {
        for (String text : List.of("a: " + "[".repeat(9_999), "a: " + "{b: ".repeat(9_999),
                "- ".repeat(9_999), "a:\n" + "  - ".repeat(9_999))) {
            List<String> errors = new ArrayList<>();
            YamlSubset.parse(Arrays.asList(text.split("\n")), errors);
            assertTrue(!errors.isEmpty());
        }
    }

    private static String json(Object value) {
        if (value instanceof Map) {
            List<String> entries = new ArrayList<>();
            ((Map<?, ?>) value).forEach((k, v) -> entries.add(json(k) + ": " + json(v)));
            return "{" + String.join(", ", entries) + "}";
        }
        if (value instanceof List) {
            List<String> items = new ArrayList<>();
            ((List<?>) value).forEach(item -> items.add(json(item)));
            return "[" + String.join(", ", items) + "]";
        }
        return value == null ? "null" : '"' + ((String) value).replace("\\", "\\\\")
                .replace("\"", "\\\"").replace("\n", "\\n") + '"';
    }
}
