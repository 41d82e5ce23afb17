package dev.ringwatch.agent;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class ConfigTest {
    private static Config parse(String... lines) throws Config.Invalid {
        return Config.parse(Arrays.asList(lines),
                Map.of("RW_KEY", "rw_secret", "HOST", "ingest.example")::get);
    }

    private static String errors(String... lines) {
        return assertThrows(Config.Invalid.class, () -> parse(lines)).getMessage();
    }

    @Test
    void everything() throws Exception {
        Config config = parse(
                "# comment", "ingest:", "  urls: [\"http://${HOST}:9471\", 'https://b/']   # two",
                "  key: ${RW_KEY}", "interval: 10s",
                "queue_bytes: 1MiB", "cluster: \"prod # 1\"", "listen: 127.0.0.1:9472",
                "profiles: [jmx_exporter, ringwatch]", "cql: false", "events: false",
                "partition_keys: true", "paused: true");
        assertEquals("[http://ingest.example:9471/v1/frames, https://b/v1/frames]",
                config.urls.toString());
        assertEquals("rw_secret", config.key);
        assertEquals(10_000, config.intervalMs);
        assertEquals(1 << 20, config.queueBytes);
        assertEquals("prod # 1", config.cluster);
        assertEquals("127.0.0.1", config.listenHost);
        assertEquals(9472, config.listenPort);
        assertFalse(config.cql);
        assertFalse(config.events);
        assertTrue(config.partitionKeys);
        assertTrue(config.paused);
        assertEquals("[jmx_exporter, ringwatch]", config.profiles.toString());
        assertFalse(config.toString().contains("rw_secret"), "the key is never shown");
    }

    @Test
    void blockListsAndDefaults() throws Exception {
        Config config = parse("ingest:", "  urls:", "  - http://a:1",
                "  - \"http://b:2\"", "  key: k");
        assertEquals(2, config.urls.size());
        assertEquals(5_000, config.intervalMs);
        assertTrue(config.cql);
        assertTrue(config.events);
        assertFalse(config.partitionKeys);
        assertFalse(config.paused);
        assertEquals(16 << 20, config.queueBytes);
        assertEquals("[ringwatch]", config.profiles.toString());
    }

    /**
     * A file is read later: one that is not there leaves its profile empty and everything else as
     * it is.
     */
    @Test
    void profilesOfFiles() throws Exception {
        assertEquals("[ringwatch, jmx_exporter, jmx_exporter_2]",
                parse("listen: a:1",
                        "profiles: [ringwatch, {jmx_exporter: /no/such.yaml}, "
                                + "{jmx_exporter: \"/no/other, one.yaml\"}]")
                        .profiles.toString());
        assertEquals("[ringwatch, jmx_exporter]",
                parse("listen: a:1", "profiles:", "  - ringwatch",
                        "  - {jmx_exporter: \"/no/such.yaml\"}").profiles.toString());
        assertEquals("[jmx_exporter, instaclustr_exporter]",
                parse("listen: a:1", "profiles:", "  - jmx_exporter: /no/such.yaml",
                        "  - instaclustr_exporter").profiles.toString());
    }

    @Test
    void filtersSpoolAndTls() throws Exception {
        Path file = Files.createTempFile("ringwatch", ".pem");
        file.toFile().deleteOnExit();
        Config config = parse("ingest:", "  urls: https://a", "  key: k",
                "  ca_file: " + file, "  cert_file: " + file, "  cert_key_file: '" + file + "'",
                "spool:", "  directory: /var/lib/ringwatch", "  bytes: 1GiB", "max_entities: 500",
                "filters:", "  - exclude: {keyspace: \"system*\"} # all of them",
                "  - include: { keyspace: system , table: \"local\" }",
                "  - exclude: {metric: 'cassandra_table_*_snapshots*', type: \"ta?le\"}",
                "  - include:", "      keyspace: \"a, b: c\"");
        assertEquals(file, config.caFile);
        assertEquals(file, config.certFile);
        assertEquals(file, config.certKeyFile);
        assertEquals("/var/lib/ringwatch", config.spool.toString());
        assertEquals(1 << 30, config.spoolBytes);
        assertEquals(500, config.maxEntities);
        assertFalse(config.filters.accepts("table", "system", "peers", "x"));
        assertTrue(config.filters.accepts("table", "system", "local", "x"));
        assertFalse(config.filters.accepts("table", "a", "b", "cassandra_table_x_snapshots_y"));
        assertTrue(
                config.filters.accepts("table", "a, b: c", "b", "cassandra_table_x_snapshots_y"));
        Config plain = parse("listen: 127.0.0.1:1");
        assertTrue(plain.filters.isEmpty() && plain.spool == null && plain.maxEntities == 20_000);
    }

    @Test
    void flowStyle() throws Exception {
        Config config = Config.parse(List.of("ingest: {urls: [http://${HOST}:9471, 'https://b'],",
                "  key: ${KEY}}  # ${NOT_SET}", "spool: {directory: /x}", "filters: [",
                "  {exclude: {keyspace: \"system*\"}}, # all", "]", "\"interval\" : 10s", "cql:"),
                Map.of("HOST", "h", "KEY", "k#1:x")::get);
        assertEquals("[http://h:9471/v1/frames, https://b/v1/frames]", config.urls.toString());
        assertEquals("k#1:x", config.key);
        assertEquals("/x", config.spool.toString());
        assertEquals(10_000, config.intervalMs);
        assertTrue(config.cql);
        assertFalse(config.filters.accepts("table", "system", "peers", "x"));
    }

    @Test
    void theirMistakes() {
        String all = errors("ingest:", "  urls: [https://a]", "  key: \"two words\"",
                "  ca_file: /does/not/exist", "  cert_file: /etc/hostname", "spool:",
                "  directory: relative/path", "  bytes: 1KiB", "  size: 3", "max_entities: many",
                "filters:", "  - exclude: {keyspace: *}", "  - omit: {table: x}",
                "  - include: {keyspace: a", "  - include: {keyspace: a, colour}", "  - just words",
                "  - exclude: {keyspace: a, keyspace: b}");
        for (String part : new String[] {"ingest.key must be ASCII without blanks",
            "cert_key_file go together",
            "must begin with /",
            "spool.bytes must be 16MiB", "\"spool.size\"", "max_entities must be 100 to 100000",
            "line 12: this form of YAML", "rule 2 must begin", "line 14: a map must end",
            "line 15: expected", "rule 5 must begin", "line 17: \"keyspace\" is there twice"}) {
            assertTrue(all.contains(part), part + " in " + all);
        }
        assertTrue(errors("spool: /var", "listen: a:1", "filters: x")
                .contains("spool must be a map with directory"));
    }

    @Test
    void allErrorsAtOnce() {
        String all = errors("ingest:", "  url: http://a", "  key: ${NOT_SET}", "interval: 10 years",
                "colour: red", "queue_bytes: 1");
        for (String part : new String[] {"ingest.url\"", "NOT_SET is not set", "interval must be",
                "\"colour\"", "queue_bytes must be"}) {
            assertTrue(all.contains(part), all);
        }
        assertFalse(all.contains("\n"));
    }

    @Test
    void whatIsNotUnderstoodIsAnError() {
        assertTrue(errors("").contains("nothing to do"));
        assertTrue(errors("ingest:", "  urls: [http://a").contains("line 2"));
        assertTrue(errors("ingest: &x", "  urls: x").contains("not understood: an anchor, &x"));
        assertTrue(errors("interval: 5s", "interval: 6s", "listen: a:1").contains("twice"));
        assertTrue(errors("just words").contains("line 1"));
        assertTrue(errors("interval: 5s", "    deeper: 1").contains("line 2"));
        assertTrue(errors("ingest:", "\tkey: a").contains("tabs"));
        assertTrue(errors("ingest:", "  urls: [ftp://a]", "  key: k").contains("http"));
        assertTrue(errors("ingest:", "  urls: [http://a]").contains("key"));
        assertTrue(errors("ingest:", "  urls: [http://a]", "  key_file: [a]")
                .contains("key_file"));
        assertTrue(errors("cql: yes", "listen: 127.0.0.1:9").contains("true or false"));
        for (String profiles : new String[] {"[telegraf]", "[ringwatch, ringwatch]", "[]",
            "Ringwatch", "[{mcac: /a.yaml}]", "[{jmx_exporter: }]",
            "[{jmx_exporter: /a.yaml, ringwatch: /b.yaml}]"}) {
            assertTrue(errors("listen: a:1", "profiles: " + profiles).contains("profiles must"),
                    profiles);
        }
        String[] ingest = {"ingest: ", "  urls: [http://a]", "  key: k"};
        for (String sends : new String[] {"[telegraf]", "[ringwatch]", "[mcac, mcac]",
            "[{mcac: x, criteo_exporter: y}]"}) {
            assertTrue(errors(ingest[0], ingest[1], ingest[2], "send_profiles: " + sends)
                    .contains("send_profiles must"), sends);
        }
        for (String label : new String[] {"cluster: a", "le: a", "__x: a", "9: a"}) {
            assertTrue(errors(ingest[0], ingest[1], ingest[2], "send_profiles:",
                    "  - mcac: {" + label + "}").contains("at most 8 labels"), label);
        }
        assertTrue(errors("listen: a:1", "send_profiles: [mcac]").contains("ingest.urls"));
        assertTrue(errors("interval: 500ms", "listen: 127.0.0.1:9").contains("1s to 5m"));
    }

    @Test
    void onlyInTheDaemon() throws Exception {
        assertTrue(Premain.isServer("org.apache.cassandra.service.CassandraDaemon"));
        assertTrue(Premain.isServer("org.apache.cassandra.service.CassandraDaemon -f"));
        assertFalse(
                Premain.isServer("org.apache.cassandra.tools.NodeTool -p 7199 status"));
        assertFalse(Premain.isServer(""));
        assertTrue(Premain.isServer("kafka.Kafka /etc/kafka/server.properties"));
        assertFalse(Premain.isServer("org.apache.kafka.tools.TopicCommand --list"));
        assertFalse(Premain.isServer("kafka.tools.StorageTool format"));
        assertEquals("", stderr("org.apache.cassandra.tools.NodeTool status", "/does/not/exist"));
    }

    @Test
    void aMissingFileIsOneLine() throws Exception {
        String said = stderr("org.apache.cassandra.service.CassandraDaemon", "/does/not/exist");
        assertTrue(said.startsWith("ringwatch-agent: off: /does/not/exist: cannot be read"), said);
        assertEquals(1, said.lines().count());
        assertTrue(said.contains("correct it"), said);
        for (String wrong : new String[] {"/", "/dev/zero", "\0"}) {
            assertTrue(stderr("org.apache.cassandra.service.CassandraDaemon",
                    wrong).contains("cannot be read"), wrong);
        }
        assertEquals(1,
                stderr("org.apache.cassandra.service.CassandraDaemon", null).lines().count());
        assertEquals(1, stderr("kafka.Kafka server.properties", "/not/there").lines().count());
    }

    @Test
    void supportedVersions() {
        assertTrue(CassandraNode.supports("4.0.17") && CassandraNode.supports("5.0.9")
                && CassandraNode.supports("6.0-alpha2"));
        assertFalse(CassandraNode.supports("3.11.19") || CassandraNode.supports("7.0")
                || CassandraNode.supports(""));
        assertTrue(KafkaNode.supports("4.0.0") && KafkaNode.supports("4.3.1"));
        assertFalse(KafkaNode.supports("3.9.1") || KafkaNode.supports("unknown"));
    }

    /** What a first start of the agent prints before it waits for Cassandra. */
    private static String stderr(String command, String arguments) throws InterruptedException {
        PrintStream before = System.err;
        String commandBefore = System.getProperty("sun.java.command", "");
        ByteArrayOutputStream said = new ByteArrayOutputStream();
        Thread life = new Thread(new Life(arguments));
        try {
            System.setErr(new PrintStream(said, true));
            System.setProperty("sun.java.command", command);
            if (!Premain.isServer(command)) {
                Premain.premain(arguments, null);
                return said.toString();
            }
            life.start();
            while (said.size() == 0 && life.isAlive()) {
                Thread.onSpinWait();
            }
        } finally {
            life.interrupt();
            life.join();
            System.setErr(before);
            System.setProperty("sun.java.command", commandBefore);
        }
        return said.toString();
    }
}
