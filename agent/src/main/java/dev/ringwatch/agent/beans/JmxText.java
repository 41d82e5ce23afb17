package dev.ringwatch.agent.beans;

import java.util.Arrays;

/** How the JMX exporter writes names and help, as version 1.0.1 does. */
final class JmxText {
    private JmxText() {
    }

    /** What the exporter says of an attribute whose rule has no help of its own. */
    static String help(Attribute attribute) {
        String where = attribute.domain + ":name=" + attribute.properties.get("name") + ",type="
                + attribute.properties.get("type")
                + ",attribute=" + attribute.name;
        return attribute.description == null || attribute.description.equals(attribute.name)
                ? where : attribute.description + " " + where;
    }

    /** Letters, digits and colons as they are, all else an underscore, never two of them. */
    static String safe(String name) {
        StringBuilder safe = new StringBuilder(name.length() + 1);
        boolean afterUnderscore = false;
        if (!name.isEmpty() && Character.isDigit(name.charAt(0))) {
            safe.append('_');
        }
        for (int i = 0; i < name.length(); i++) {
            char c = name.charAt(i);
            boolean legal = c == ':' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0'
                    && c <= '9';
            if (legal) {
                safe.append(c);
            } else if (!afterUnderscore) {
                safe.append('_');
            }
            afterUnderscore = !legal;
        }
        return safe.toString();
    }

    /** The exporter's library takes these ends off, and puts {@code _total} on counters. */
    static String withoutReserved(String name) {
        for (boolean cut = true; cut;) {
            cut = false;
            for (String end : Arrays.asList("_total", "_created", "_bucket", "_info")) {
                if (name.equals(end)) {
                    return end.substring(1);
                }
                if (name.endsWith(end)) {
                    name = name.substring(0, name.length() - end.length());
                    cut = true;
                }
            }
        }
        return name;
    }

    static String snakeCase(String name) {
        StringBuilder out = new StringBuilder();
        boolean after = true;
        for (int i = 0; i < name.length(); i++) {
            char c = name.charAt(i);
            boolean upper = Character.isUpperCase(c);
            if (i > 0 && !after && upper) {
                out.append('_');
            }
            out.append(Character.toLowerCase(c));
            after = upper || c == '_';
        }
        return out.toString();
    }
}
