package dev.ringwatch.agent.cql;

import java.lang.reflect.Method;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import org.apache.cassandra.db.LivenessInfo;

/**
 * The difference between the versions: {@code LivenessInfo.create}'s second number is an int up to
 * 4.1 and a long since 5.0. A row has this mark so that it is there even if none of its cells is.
 */
final class Liveness {
    private static final MethodHandle CREATE = create();

    private Liveness() {}

    static LivenessInfo at(long micros) {
        try {
            return (LivenessInfo) CREATE.invokeExact(micros, (int) (micros / 1_000_000));
        } catch (Throwable e) {
            throw new IllegalStateException(e);
        }
    }

    private static MethodHandle create() {
        for (Method method : LivenessInfo.class.getMethods()) {
            Class<?>[] types = method.getParameterTypes();
            if (method.getName().equals("create") && types.length == 2 && types[0] == long.class
                    && (types[1] == int.class || types[1] == long.class)) {
                try {
                    return MethodHandles.lookup().unreflect(method)
                            .asType(MethodType.methodType(
                                    LivenessInfo.class, long.class, int.class));
                } catch (IllegalAccessException e) {
                    throw new IllegalStateException(e);
                }
            }
        }
        throw new IllegalStateException("LivenessInfo has no create(long, int or long)");
    }
}
