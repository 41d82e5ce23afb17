package dev.ringwatch.agent.activity;

import java.lang.reflect.InvocationTargetException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.cassandra.config.DatabaseDescriptor;

/**
 * Which keystores Cassandra encrypts with. What differs: 4.0 says {@code isEnabled} where later
 * ones say {@code getEnabled}; factories came with 4.1, keystores for outgoing connections with
 * 5.0, and files of passwords with 6.0, where clients' options are a class of their own.
 */
final class Encryption {
    private static final String[] ENABLED = {"getEnabled", "isEnabled"};
    private static final String FACTORIES = "org.apache.cassandra.security.";
    private static final String DEFAULT = "DefaultSslContextFactory";

    private Encryption() {}

    /** By their use, {@code internode} or {@code client}; none where that is not encrypted. */
    static Map<String, List<Keystore>> keystores() throws ReflectiveOperationException {
        return keystores(option("getInternodeMessagingEncyptionOptions"), // Cassandra's spelling
                option("getNativeProtocolEncryptionOptions"));
    }

    static Map<String, List<Keystore>> keystores(Object internode, Object client)
            throws ReflectiveOperationException {
        Map<String, List<Keystore>> all = new TreeMap<>();
        Object between = field(internode, "internode_encryption");
        if (between != null && !between.toString().equals("none")) {
            all.put("internode", of(internode));
        }
        if (isEnabled(client)) {
            all.put("client", of(client));
        }
        all.values().removeIf(List::isEmpty);
        return all;
    }

    private static Object option(String getter) throws ReflectiveOperationException {
        return DatabaseDescriptor.class.getMethod(getter).invoke(null);
    }

    private static boolean isEnabled(Object options) throws InvocationTargetException,
            IllegalAccessException {
        for (String method : ENABLED) {
            try {
                return Boolean.TRUE.equals(options.getClass().getMethod(method).invoke(options));
            } catch (NoSuchMethodException otherVersion) {
                continue;
            }
        }
        return false;
    }

    /** Empty where a factory has the keys of which nothing is known. */
    private static List<Keystore> of(Object options) throws ReflectiveOperationException {
        List<Keystore> all = new ArrayList<>();
        Object factory = field(options, "ssl_context_factory");
        String name = factory == null ? DEFAULT : text(factory, "class_name");
        name = name.startsWith(FACTORIES) ? name.substring(FACTORIES.length()) : name;
        boolean pem = name.equals("PEMBasedSslContextFactory");
        if (!pem && !name.equals(DEFAULT)) {
            return all;
        }
        Object parameters = factory == null ? null : field(factory, "parameters");
        for (String prefix : new String[] {"", "outbound_"}) {
            Object inline = pem && parameters instanceof Map
                    ? ((Map<?, ?>) parameters).get(prefix + "private_key") : null;
            String file = text(options, prefix + "keystore");
            if (inline != null) {
                all.add(Keystore.of(inline.toString()));
            } else if (!file.isEmpty()) {
                all.add(Keystore.in(file, text(options, "store_type"),
                        (String) field(options, prefix + "keystore_password"),
                        (String) field(options, prefix + "keystore_password_file")));
            }
        }
        return all;
    }

    private static String text(Object of, String name) throws IllegalAccessException {
        Object value = field(of, name);
        return value == null ? "" : value.toString();
    }

    /** Null where a version has none of that name. */
    private static Object field(Object of, String name) throws IllegalAccessException {
        try {
            return of.getClass().getField(name).get(of);
        } catch (NoSuchFieldException otherVersion) {
            return null;
        }
    }
}
