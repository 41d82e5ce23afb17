package dev.ringwatch.agent;

import java.io.File;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.jar.Attributes;
import java.util.jar.JarEntry;
import java.util.jar.JarOutputStream;
import java.util.jar.Manifest;
import java.util.stream.Stream;

/**
 * A real Cassandra in a process of its own, from this test's class path, with the agent in it. Ends
 * with the test, whatever happens.
 */
final class CassandraProcess implements AutoCloseable {
    final int nativePort = freePort();
    final int jmxPort = freePort();
    final Path log;
    private final Path directory;
    private final Process process;
    private final Thread killer;

    /** @param agentYaml the agent's configuration */
    CassandraProcess(List<String> agentYaml) throws Exception {
        this(agentYaml, List.of());
    }

    /** @param options for the JVM besides */
    CassandraProcess(List<String> agentYaml, List<String> options) throws Exception {
        if (Runtime.version().feature() != 17) {
            throw new IllegalStateException(
                    "Cassandra 5.0 runs on Java 17 and this is " + Runtime.version()
                    + ": set RINGWATCH_JAVA17=$(go run ./dev/engines/javahome), as make test does");
        }
        directory = Files.createTempDirectory("ringwatch-agent-test");
        log = directory.resolve("out.log");
        Path yaml = directory.resolve("cassandra.yaml");
        int storagePort = freePort();
        Files.write(yaml, Arrays.asList(
                "cluster_name: agent-test", "num_tokens: 4",
                "partitioner: org.apache.cassandra.dht.Murmur3Partitioner",
                "commitlog_sync: group",
                "commitlog_sync_group_window: 2ms", "endpoint_snitch: SimpleSnitch",
                "listen_address: 127.0.0.1", "rpc_address: 127.0.0.1", "auto_snapshot: false",
                "storage_port: " + storagePort, "native_transport_port: " + nativePort,
                "seed_provider:", "  - class_name: org.apache.cassandra.locator.SimpleSeedProvider",
                "    parameters:", "      - seeds: \"127.0.0.1:" + storagePort + "\""));
        Path agent = directory.resolve("agent.yaml");
        Files.write(agent, agentYaml);
        List<String> command = new ArrayList<>(Arrays.asList(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-javaagent:" + agentJar(directory) + "=" + agent,
                "-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
                "-Dcassandra.config=" + yaml.toUri(),
                "-Dcassandra.storagedir=" + directory.resolve("data"), "-Dcassandra-foreground=yes",
                "-Dcassandra.ring_delay_ms=1000", "-Dcassandra.skip_wait_for_gossip_to_settle=0",
                "-Dcassandra.jmx.local.port=" + jmxPort, "-Djdk.attach.allowAttachSelf=true",
                "-Dio.netty.tryReflectionSetAccessible=true",
                "-Dlogback.configurationFile="
                + Path.of("src", "test", "resources", "logback-test.xml").toUri()));
        command.addAll(options);
        for (String export : EXPORTS) {
            command.addAll(Arrays.asList("--add-exports", export + "=ALL-UNNAMED"));
        }
        for (String open : OPENS) {
            command.addAll(Arrays.asList("--add-opens", open + "=ALL-UNNAMED"));
        }
        String classPath = System.getProperty("surefire.test.class.path",
                System.getProperty("java.class.path"));
        StringBuilder without = new StringBuilder(); // the agent comes from its jar alone
        for (String entry : classPath.split(File.pathSeparator)) {
            if (!entry.endsWith("classes")) {
                without.append(without.length() > 0 ? File.pathSeparator : "").append(entry);
            }
        }
        command.addAll(Arrays.asList("-cp", without.toString(),
                "org.apache.cassandra.service.CassandraDaemon"));
        process = new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(log.toFile())
                .directory(directory.toFile()).start();
        killer = new Thread(process::destroyForcibly);
        Runtime.getRuntime().addShutdownHook(killer);
    }

    boolean isAlive() {
        return process.isAlive();
    }

    /** For messages when something went wrong. */
    String lastLines() {
        try {
            List<String> lines = Files.readAllLines(log);
            return String.join("\n", lines.subList(Math.max(0, lines.size() - 40), lines.size()));
        } catch (IOException e) {
            return e.toString();
        }
    }

    @Override
    public void close() throws Exception {
        process.destroyForcibly();
        process.waitFor(60, TimeUnit.SECONDS);
        Runtime.getRuntime().removeShutdownHook(killer);
        try (Stream<Path> files = Files.walk(directory)) {
            files.sorted(java.util.Comparator.reverseOrder())
                    .forEach(file -> file.toFile().delete());
        }
    }

    /** What {@code package} makes, made before it: tests run first. */
    static Path agentJar(Path directory) throws IOException {
        Path jar = directory.resolve("ringwatch-agent.jar");
        Manifest manifest = new Manifest();
        manifest.getMainAttributes().put(Attributes.Name.MANIFEST_VERSION, "1.0");
        manifest.getMainAttributes()
                .put(new Attributes.Name("Premain-Class"), "dev.ringwatch.agent.Premain");
        manifest.getMainAttributes().put(Attributes.Name.IMPLEMENTATION_VERSION, "0-test");
        Path classes = Path.of("target", "classes");
        try (OutputStream out = Files.newOutputStream(jar);
                JarOutputStream entries = new JarOutputStream(out, manifest);
                Stream<Path> files = Files.walk(classes)) {
            for (Path file : (Iterable<Path>) files.filter(Files::isRegularFile)::iterator) {
                entries.putNextEntry(new JarEntry(classes.relativize(file).toString()));
                Files.copy(file, entries);
            }
        }
        return jar;
    }

    /**
     * A port that nothing listens on, for what is told its port and listens a moment later. It lies
     * below those of package engines and of outgoing connections, so that no test beside takes it
     * in that moment.
     */
    static int freePort() {
        for (int attempt = 1;; attempt++) {
            int port = ThreadLocalRandom.current().nextInt(15_000, 20_000);
            try (ServerSocket socket = new ServerSocket(port, 1,
                    InetAddress.getLoopbackAddress())) {
                return socket.getLocalPort();
            } catch (IOException e) {
                if (attempt == 1000) {
                    throw new java.io.UncheckedIOException(
                            "no port from 15000 to 19999 is free", e);
                }
            }
        }
    }

    // of Cassandra's own conf/jvm17-server.options
    private static final String[] EXPORTS = {
        "java.base/jdk.internal.misc", "java.base/jdk.internal.ref", "java.base/sun.nio.ch",
        "java.management.rmi/com.sun.jmx.remote.internal.rmi", "java.rmi/sun.rmi.registry",
        "java.rmi/sun.rmi.server", "java.rmi/sun.rmi.transport.tcp",
        "java.sql/java.sql", "java.base/java.lang.ref", "jdk.unsupported/sun.misc",
        "jdk.compiler/com.sun.tools.javac.file",
    };
    private static final String[] OPENS = {
        "java.base/java.lang.module", "java.base/jdk.internal.loader", "java.base/jdk.internal.ref",
        "java.base/jdk.internal.reflect", "java.base/jdk.internal.math",
        "java.base/jdk.internal.module", "java.base/jdk.internal.util.jar", "java.base/sun.nio.ch",
        "jdk.management/com.sun.management.internal", "java.base/java.io", "java.base/java.lang",
        "java.base/java.lang.reflect", "java.base/java.util", "java.base/java.nio",
        "java.base/java.util.concurrent", "java.base/java.util.concurrent.atomic",
    };
}
