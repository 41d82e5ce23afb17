package dev.ringwatch.agent.beans;

import java.io.StringReader;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.yaml.snakeyaml.nodes.MappingNode;
import org.yaml.snakeyaml.nodes.Node;
import org.yaml.snakeyaml.nodes.NodeTuple;
import org.yaml.snakeyaml.nodes.ScalarNode;
import org.yaml.snakeyaml.nodes.SequenceNode;
import org.yaml.snakeyaml.nodes.Tag;

/**
 * A document of YAML as maps, lists and scalars, by the SnakeYAML that Cassandra reads its own
 * configuration with (1.26 in 4.0 to 6.0), which is also what the JMX exporter reads its files
 * with. Only nodes are asked for, never objects, so that no tag of a document can make one.
 */
final class Yaml {
    /** Aliases may repeat what they name: an expanded document has so many nodes and no more. */
    private static final int MAX_NODES = 100_000;
    private static final int MAX_DEPTH = 50;

    private int nodes;

    private Yaml() {}

    /**
     * Maps are {@code Map<String, Object>}, lists {@code List<Object>}, scalars {@code String},
     * {@code Boolean}, {@code Long}, {@code Double} or null.
     *
     * @throws IllegalArgumentException if the text is no YAML, or too deep or too large when its
     *     aliases are expanded
     */
    static Object parse(String text) {
        try {
            Node root = new org.yaml.snakeyaml.Yaml().compose(new StringReader(text));
            return root == null ? null : new Yaml().value(root, 0);
        } catch (IllegalArgumentException e) {
            throw e;
        } catch (RuntimeException | StackOverflowError e) {
            String why = e instanceof StackOverflowError ? "it is nested too deeply"
                    : String.valueOf(e.getMessage());
            throw new IllegalArgumentException("it is not YAML: "
                    + why.replaceAll("\\s+", " ").trim(), e);
        }
    }

    private Object value(Node node, int depth) {
        if (++nodes > MAX_NODES || depth > MAX_DEPTH) {
            throw new IllegalArgumentException("it has more than " + MAX_NODES
                    + " values or is nested deeper than " + MAX_DEPTH);
        }
        if (node instanceof MappingNode) {
            Map<String, Object> map = new LinkedHashMap<>();
            for (NodeTuple entry : ((MappingNode) node).getValue()) {
                if (!(entry.getKeyNode() instanceof ScalarNode)) {
                    throw new IllegalArgumentException("a key is no text");
                }
                map.put(((ScalarNode) entry.getKeyNode()).getValue(),
                        value(entry.getValueNode(), depth + 1));
            }
            return map;
        }
        if (node instanceof SequenceNode) {
            List<Object> list = new ArrayList<>();
            for (Node item : ((SequenceNode) node).getValue()) {
                list.add(value(item, depth + 1));
            }
            return list;
        }
        return scalar((ScalarNode) node);
    }

    private static Object scalar(ScalarNode node) {
        String text = node.getValue();
        Tag tag = node.getTag();
        try {
            if (tag.equals(Tag.NULL)) {
                return null;
            }
            if (tag.equals(Tag.BOOL)) {
                return text.matches("(?i)yes|true|on");
            }
            if (tag.equals(Tag.INT)) {
                return Long.valueOf(text.replace("_", ""));
            }
            if (tag.equals(Tag.FLOAT)) {
                return Double.valueOf(text.replace("_", ""));
            }
        } catch (NumberFormatException other) { // octal and the like: as it is written
            return text;
        }
        return text;
    }
}
