package dev.ringwatch.agent.beans;

import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import javax.management.ObjectName;

/** One number of one bean: an attribute, or what lies within one that is composed of others. */
final class Attribute {
    final String domain;
    /** In the order of the bean's name, with the keys of a table's row. */
    final Map<String, String> properties;
    /** From the attribute inwards, without the last. */
    final List<String> path;
    final String name;
    final String description;
    /** Made when it is first asked for. */
    private String bean;

    Attribute(String domain, Map<String, String> properties, List<String> path, String name,
            String description) {
        this.domain = domain;
        this.properties = properties;
        this.path = path;
        this.name = name;
        this.description = description;
    }

    Attribute(ObjectName bean, Map<String, String> properties, String name, String description) {
        this(bean.getDomain(), properties, Collections.emptyList(), name, description);
    }

    /** Another one of the same bean: they share how it is written. */
    Attribute beside(String other, String itsDescription) {
        Attribute one = new Attribute(domain, properties, path, other, itsDescription);
        one.bean = bean();
        return one;
    }

    /** {@code domain<type=Table, name=ReadLatency><>}: what patterns see before the attribute. */
    String bean() {
        if (bean == null) {
            String of = properties.toString();
            String in = path.toString();
            bean = domain + '<' + of.substring(1, of.length() - 1) + "><"
                    + in.substring(1, in.length() - 1) + '>';
        }
        return bean;
    }

    /** The properties in the order in which they stand; values keep their quotes. */
    static Map<String, String> properties(ObjectName bean) {
        Map<String, String> properties = new LinkedHashMap<>();
        String text = bean.getKeyPropertyListString();
        int at = 0;
        while (at < text.length()) {
            int equals = text.indexOf('=', at);
            int end = equals + 1;
            if (end < text.length() && text.charAt(end) == '"') {
                for (end++; end < text.length() && text.charAt(end) != '"'; end++) {
                    end += text.charAt(end) == '\\' ? 1 : 0;
                }
                end++;
            } else {
                int comma = text.indexOf(',', end);
                end = comma < 0 ? text.length() : comma;
            }
            properties.put(text.substring(at, equals), text.substring(equals + 1, end));
            at = end + 1;
        }
        return properties;
    }
}
