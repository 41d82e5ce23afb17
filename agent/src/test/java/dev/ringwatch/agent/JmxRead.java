package dev.ringwatch.agent;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import javax.management.MBeanServerConnection;
import javax.management.ObjectName;
import javax.management.remote.JMXConnector;
import javax.management.remote.JMXConnectorFactory;
import javax.management.remote.JMXServiceURL;

/**
 * Reads attributes from a JVM's JMX port for tests in other languages: takes the service URL as its
 * argument and lines {@code OBJECTNAME<TAB>ATTRIBUTE} on standard input, or {@code
 * OBJECTNAME<TAB>OPERATION()}, or {@code OBJECTNAME<TAB>OPERATION(TEXT)} for one that takes a
 * string and any number of strings, as {@code forceKeyspaceFlush} does. Answers a line each: the
 * value, or {@code !} and why there is none.
 */
public final class JmxRead {
    private JmxRead() {
    }

    public static void main(String[] args) throws Exception {
        // never closed: this process ends, and the node may have ended before it
        JMXConnector connector = JMXConnectorFactory.connect(new JMXServiceURL(args[0]));
        try (BufferedReader in = new BufferedReader(
                new InputStreamReader(System.in, StandardCharsets.UTF_8))) {
            MBeanServerConnection server = connector.getMBeanServerConnection();
            for (String line = in.readLine(); line != null; line = in.readLine()) {
                String[] words = line.split("\t");
                try {
                    ObjectName name = new ObjectName(words[0]);
                    Object value = words[1].endsWith(")") ? invoke(server, name, words[1])
                            : server.getAttribute(name, words[1]);
                    System.out.println(value instanceof long[]
                            ? Arrays.toString((long[]) value) : value);
                } catch (Exception e) {
                    System.out.println("! " + e);
                }
            }
        }
    }

    private static Object invoke(MBeanServerConnection server, ObjectName name, String call)
            throws Exception {
        String operation = call.substring(0, call.indexOf('('));
        String text = call.substring(operation.length() + 1, call.length() - 1);
        if (text.equals("true") || text.equals("false")) {
            return server.invoke(name, operation, new Object[] {Boolean.valueOf(text)},
                    new String[] {boolean.class.getName()});
        }
        return text.isEmpty()
                ? server.invoke(name, operation, null, null)
                : server.invoke(name, operation, new Object[] {text, new String[0]},
                        new String[] {String.class.getName(), String[].class.getName()});
    }
}
