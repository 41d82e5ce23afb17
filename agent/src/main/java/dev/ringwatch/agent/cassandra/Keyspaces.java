package dev.ringwatch.agent.cassandra;

import java.lang.reflect.Method;
import java.util.Collection;
import java.util.Map;
import java.util.TreeMap;
import org.apache.cassandra.schema.KeyspaceMetadata;

/** The keyspaces of Cassandra's schema, in whatever version. */
public final class Keyspaces {
    private Keyspaces() {}

    /** Its type is the class in one version and an interface in another. */
    private static final class Access {
        static final Object SCHEMA;
        static final Method KEYSPACES;
        static final Method KEYSPACE;

        static {
            try {
                Class<?> schema = Class.forName("org.apache.cassandra.schema.Schema");
                SCHEMA = schema.getField("instance").get(null);
                KEYSPACES = SCHEMA.getClass().getMethod("getKeyspaces");
                KEYSPACE = SCHEMA.getClass().getMethod("getKeyspaceMetadata", String.class);
            } catch (ReflectiveOperationException otherVersion) {
                throw new LinkageError("the schema of this version is not known", otherVersion);
            }
        }
    }

    /** Null if there is none of that name. */
    public static KeyspaceMetadata of(String name) {
        try {
            return (KeyspaceMetadata) Access.KEYSPACE.invoke(Access.SCHEMA, name);
        } catch (ReflectiveOperationException thrown) {
            return null;
        }
    }

    /** By their names. */
    public static Map<String, KeyspaceMetadata> all() throws ReflectiveOperationException {
        Map<String, KeyspaceMetadata> all = new TreeMap<>();
        for (Object name : (Collection<?>) Access.KEYSPACES.invoke(Access.SCHEMA)) {
            KeyspaceMetadata keyspace = of((String) name);
            if (keyspace != null) {
                all.put((String) name, keyspace);
            }
        }
        return all;
    }
}
