package dev.ringwatch.agent.kafka;

import dev.ringwatch.agent.frame.Model;
import java.io.IOException;
import java.io.InputStream;
import java.io.StringReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;
import java.util.Set;
import java.util.UUID;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.management.JMException;
import javax.management.MBeanServer;
import javax.management.MBeanServerFactory;
import javax.management.ObjectName;

/**
 * The few things of a broker that are no metrics: its beans tell its cluster's id, its own and its
 * version, and the file of its settings, which its command line names, tells where it stands.
 */
public final class BrokerBeans {
    /** The mark that brokers' node ids begin with, as frame.BrokerID of the Go side has it. */
    private static final byte[] MARK = {'b', 'r', 'o', 'k', 'e', 'r', (byte) 0x80};
    private static final int MAX_SETTINGS = 1 << 20;
    private static final int MAX_FACT = 255;
    private static final Pattern ADDRESS = Pattern.compile("([A-Za-z0-9_.-]+)://(.*)");

    private final MBeanServer server;
    private final String clusterId;
    private final String brokerId;
    private final String version;
    private final Properties settings;

    private BrokerBeans(MBeanServer server, String clusterId, ObjectName info) throws JMException {
        this.server = server;
        this.clusterId = clusterId;
        this.brokerId = info.getKeyProperty("id");
        this.version = String.valueOf(server.getAttribute(info, "Version"));
        this.settings = settings(System.getProperty("sun.java.command", ""));
    }

    /**
     * Null until Kafka has come up. Looks for a server of beans that Kafka has made and makes none.
     */
    public static BrokerBeans ifStarted() {
        for (MBeanServer server : MBeanServerFactory.findMBeanServer(null)) {
            try {
                Set<ObjectName> infos =
                        server.queryNames(new ObjectName("kafka.server:type=app-info,id=*"), null);
                for (String type : new String[] {"KafkaServer", "ControllerServer"}) {
                    ObjectName cluster =
                            new ObjectName("kafka.server:type=" + type + ",name=ClusterId");
                    if (!infos.isEmpty() && server.isRegistered(cluster)) {
                        return new BrokerBeans(server,
                                String.valueOf(server.getAttribute(cluster, "Value")),
                                infos.iterator().next());
                    }
                }
            } catch (JMException | RuntimeException notYet) {
                continue;
            }
        }
        return null;
    }

    public UUID nodeId() {
        return nodeId(clusterId, brokerId);
    }

    /** A UUID of version 8, whose bits are ours: a mark, then what is left of a digest. */
    static UUID nodeId(String clusterId, String brokerId) {
        byte[] id;
        try {
            id = MessageDigest.getInstance("SHA-256")
                    .digest((clusterId + '\0' + brokerId).getBytes(StandardCharsets.UTF_8));
        } catch (NoSuchAlgorithmException everyJavaHasIt) {
            throw new IllegalStateException(everyJavaHasIt);
        }
        System.arraycopy(MARK, 0, id, 0, MARK.length);
        id[8] = (byte) (id[8] & 0x3f | 0x80);
        long high = 0;
        long low = 0;
        for (int i = 0; i < 8; i++) {
            high = high << 8 | id[i] & 0xff;
            low = low << 8 | id[8 + i] & 0xff;
        }
        return new UUID(high, low);
    }

    public String clusterId() {
        return clusterId;
    }

    public String version() {
        return version;
    }

    MBeanServer server() {
        return server;
    }

    /** Of its logs. */
    public List<String> directories() {
        List<String> directories = new ArrayList<>();
        String all = settings.getProperty("log.dirs", settings.getProperty("log.dir", ""));
        for (String each : all.split(",")) {
            if (!each.trim().isEmpty()) {
                directories.add(each.trim());
            }
        }
        return directories;
    }

    /** What goes into the identity section of key frames; a change makes the next frame one. */
    public void describe(Model model) {
        model.place("", limited(settings.getProperty("broker.rack", "").trim()));
        model.fact("kind", "kafka");
        model.fact("version", limited(version));
        model.fact("broker_id", limited(brokerId));
        model.fact("cluster_id", limited(clusterId));
        String address = address();
        if (!address.isEmpty()) {
            model.fact("address", limited(address));
        }
        model.fact("java_version", System.getProperty("java.version", ""));
        model.fact("os", System.getProperty("os.name", "")
                + " " + System.getProperty("os.version", "")
                + " " + System.getProperty("os.arch", ""));
    }

    /** The first that clients are told, or that it listens on. */
    private String address() {
        String controllers = "," + settings.getProperty("controller.listener.names", "")
                .replace(" ", "") + ",";
        for (String key : new String[] {"advertised.listeners", "listeners"}) {
            for (String each : settings.getProperty(key, "").split(",")) {
                Matcher parts = ADDRESS.matcher(each.trim());
                if (parts.matches() && !parts.group(2).startsWith(":")
                        && !controllers.contains("," + parts.group(1) + ",")) {
                    return parts.group(2);
                }
            }
        }
        return "";
    }

    private static String limited(String value) {
        StringBuilder clean = new StringBuilder();
        for (int i = 0; i < Math.min(value.length(), MAX_FACT); i++) {
            clean.append(Character.isISOControl(value.charAt(i)) ? ' ' : value.charAt(i));
        }
        return clean.toString();
    }

    /**
     * Those of {@code kafka.Kafka server.properties --override name=value}; none where the file
     * cannot be read. A value that somebody else provides ({@code ${file:…}}) is left out.
     */
    static Properties settings(String command) {
        Properties settings = new Properties();
        String[] words = command.trim().split("\\s+");
        try {
            if (words.length > 1 && Files.isRegularFile(Path.of(words[1]))) {
                try (InputStream in = Files.newInputStream(Path.of(words[1]))) {
                    settings.load(new StringReader(
                            new String(in.readNBytes(MAX_SETTINGS), StandardCharsets.UTF_8)));
                }
            }
        } catch (IOException | RuntimeException unread) {
            settings.clear();
        }
        for (int i = 2; i + 1 < words.length; i++) {
            int equals = words[i + 1].indexOf('=');
            if (words[i].equals("--override") && equals > 0) {
                settings.setProperty(words[i + 1].substring(0, equals),
                        words[i + 1].substring(equals + 1));
            }
        }
        settings.values().removeIf(value -> value.toString().contains("${"));
        return settings;
    }
}
