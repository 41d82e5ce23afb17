package dev.ringwatch.agent.beans;

import java.io.StringReader;
import java.math.BigInteger;
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

    /** A date, or bytes: no text, though it is written as one. */
    private static final class Typed {
        private final String text;

        Typed(String text) {
            this.text = text;
        }

        @Override
        public String toString() {
            return text;
        }
    }

    private int nodes;

    private Yaml() {}

    /**
     * Maps are {@code Map<Object, Object>}, lists {@code List<Object>}, scalars {@code String},
     * {@code Boolean}, {@code Long}, {@code BigInteger}, {@code Double}, null, or something else
     * that is no text. Of a key that is there twice the last one counts; {@code <<} merges.
     *
     * @throws IllegalArgumentException if the text is no YAML, has tags that nobody knows, or is
     *     too deep or too large when its aliases are expanded
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
        if (!(node instanceof ScalarNode) && !node.getTag().equals(Tag.MAP)
                && !node.getTag().equals(Tag.SEQ)) {
            throw unknown(node.getTag());
        }
        if (node instanceof MappingNode) {
            Map<Object, Object> map = new LinkedHashMap<>();
            fill(map, (MappingNode) node, true, depth + 1);
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

    /** @param own else they are merged, and what is there already stays */
    private void fill(Map<Object, Object> map, MappingNode from, boolean own, int depth) {
        for (NodeTuple entry : from.getValue()) {
            if (entry.getKeyNode().getTag().equals(Tag.MERGE)) {
                merge(map, entry.getValueNode(), depth);
                continue;
            }
            Object key = value(entry.getKeyNode(), depth);
            if (own || !map.containsKey(key)) {
                map.put(key, value(entry.getValueNode(), depth));
            }
        }
    }

    private void merge(Map<Object, Object> map, Node from, int depth) {
        if (++nodes > MAX_NODES || depth > MAX_DEPTH) {
            throw new IllegalArgumentException("it merges more than " + MAX_NODES
                    + " values or deeper than " + MAX_DEPTH);
        }
        if (from instanceof MappingNode) {
            fill(map, (MappingNode) from, false, depth + 1);
        } else if (from instanceof SequenceNode && depth < MAX_DEPTH) {
            for (Node each : ((SequenceNode) from).getValue()) {
                if (!(each instanceof MappingNode)) {
                    throw new IllegalArgumentException("<< merges maps, and what is there is none");
                }
                merge(map, each, depth + 1);
            }
        } else {
            throw new IllegalArgumentException("<< merges maps, and what is there is none");
        }
    }

    private static Object scalar(ScalarNode node) {
        String text = node.getValue();
        Tag tag = node.getTag();
        if (tag.equals(Tag.STR)) {
            return text;
        }
        if (tag.equals(Tag.NULL)) {
            return null;
        }
        if (tag.equals(Tag.BOOL)) {
            return text.matches("(?i)yes|true|on");
        }
        if (tag.equals(Tag.TIMESTAMP) || tag.equals(Tag.BINARY)) {
            return new Typed(text);
        }
        try {
            if (tag.equals(Tag.INT)) {
                return whole(text.replace("_", ""));
            }
            if (tag.equals(Tag.FLOAT)) {
                return fraction(text.replace("_", ""));
            }
        } catch (NumberFormatException e) {
            throw new IllegalArgumentException("\"" + text + "\" is no number", e);
        }
        throw unknown(tag);
    }

    private static IllegalArgumentException unknown(Tag tag) {
        return new IllegalArgumentException("the tag " + tag.getValue() + " means nothing here");
    }

    /** In YAML 1.1 {@code 010} is 8 and {@code 1:30} is 90. */
    private static Object whole(String text) {
        boolean minus = text.startsWith("-");
        String digits = minus || text.startsWith("+") ? text.substring(1) : text;
        BigInteger number;
        if (digits.startsWith("0b")) {
            number = new BigInteger(digits.substring(2), 2);
        } else if (digits.startsWith("0x")) {
            number = new BigInteger(digits.substring(2), 16);
        } else if (digits.indexOf(':') >= 0) {
            number = BigInteger.ZERO;
            for (String part : digits.split(":")) {
                number = number.multiply(BigInteger.valueOf(60)).add(new BigInteger(part));
            }
        } else {
            number = new BigInteger(digits, digits.startsWith("0") ? 8 : 10);
        }
        number = minus ? number.negate() : number;
        return number.bitLength() < 64 ? (Object) number.longValue() : number;
    }

    private static double fraction(String text) {
        boolean minus = text.startsWith("-");
        String digits = minus || text.startsWith("+") ? text.substring(1) : text;
        double number = 0;
        if (digits.equalsIgnoreCase(".inf")) {
            number = Double.POSITIVE_INFINITY;
        } else if (digits.equalsIgnoreCase(".nan")) {
            number = Double.NaN;
        } else {
            for (String part : digits.split(":")) {
                number = number * 60 + Double.parseDouble(part);
            }
        }
        return minus ? -number : number;
    }
}
