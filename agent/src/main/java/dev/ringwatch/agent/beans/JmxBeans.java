package dev.ringwatch.agent.beans;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import javax.management.MalformedObjectNameException;
import javax.management.ObjectName;

/** Which beans and attributes a configuration of the JMX exporter wants. */
final class JmxBeans {
    /** Nothing says which beans are included. */
    private final boolean all;
    private final List<ObjectName> included = new ArrayList<>();
    private final List<ObjectName> excluded = new ArrayList<>();
    private final Map<ObjectName, Set<String>> excludedAttributes = new HashMap<>();

    /** @throws IllegalArgumentException with what is wrong, where the exporter ends */
    JmxBeans(Map<?, ?> yaml) {
        all = !yaml.containsKey("includeObjectNames")
                && !yaml.containsKey("whitelistObjectNames");
        objectNames(yaml, "includeObjectNames", "whitelistObjectNames", included);
        objectNames(yaml, "excludeObjectNames", "blacklistObjectNames", excluded);
        attributes(yaml);
    }

    /** Whether a list of what is included says that nothing is. */
    boolean isEmpty() {
        return !all && included.isEmpty();
    }

    boolean has(ObjectName bean) {
        return (all || applies(included, bean)) && !applies(excluded, bean);
    }

    boolean has(ObjectName bean, String attribute) {
        Set<String> names = excludedAttributes.get(bean);
        return names == null || !names.contains(attribute);
    }

    private static boolean applies(List<ObjectName> patterns, ObjectName bean) {
        for (ObjectName pattern : patterns) {
            if (pattern.apply(bean)) {
                return true;
            }
        }
        return false;
    }

    static List<?> list(String key, Object value) {
        if (!(value instanceof List)) {
            throw new IllegalArgumentException(key + " must be a list: give it one, or take it"
                    + " out");
        }
        return (List<?>) value;
    }

    private static void objectNames(Map<?, ?> yaml, String key, String old, List<ObjectName> into) {
        String there = yaml.containsKey(key) ? key : old;
        for (Object name : yaml.containsKey(there) ? list(there, yaml.get(there)) : List.of()) {
            into.add(objectName(there, name));
        }
    }

    private static ObjectName objectName(String key, Object name) {
        if (!(name instanceof String)) {
            throw new IllegalArgumentException(key + ": \"" + name
                    + "\" is no object name: write one in quotes");
        }
        try {
            return new ObjectName((String) name);
        } catch (MalformedObjectNameException e) {
            throw new IllegalArgumentException(key + ": \"" + name + "\" is no object name: "
                    + e.getMessage(), e);
        }
    }

    private void attributes(Map<?, ?> yaml) {
        String key = "excludeObjectNameAttributes";
        if (!yaml.containsKey(key)) {
            return;
        }
        if (!(yaml.get(key) instanceof Map)) {
            throw new IllegalArgumentException(key + " must be a map of object names to lists");
        }
        for (Map.Entry<?, ?> entry : ((Map<?, ?>) yaml.get(key)).entrySet()) {
            ObjectName bean = objectName(key, entry.getKey());
            Set<String> names = excludedAttributes.computeIfAbsent(bean, b -> new HashSet<>());
            for (Object name : list(key + " of " + bean, entry.getValue())) {
                if (name != null && !(name instanceof String)) {
                    throw new IllegalArgumentException(key + ": \"" + name
                            + "\" must be a text: quote it");
                }
                names.add((String) name);
            }
        }
    }
}
