package dev.ringwatch.agent.delivery;

import static dev.ringwatch.agent.delivery.Delivery.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.ServerSocket;
import java.net.URL;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Delivery over TLS with certificates of a private authority, as they come and go. */
class TlsTest {
    private static final String LOOPBACK = "dns:localhost,ip:127.0.0.1";

    @TempDir
    static Path made;
    private static TestCa ours;
    private static TestCa theirs;

    @TempDir
    Path directory;

    @BeforeAll
    static void sign() throws Exception {
        ours = new TestCa(Files.createDirectory(made.resolve("ours")), "ours")
                .sign("server", "RSA", LOOPBACK).sign("elsewhere", "EC", "dns:elsewhere.example")
                .sign("agent", "EC", null).sign("agent2", "RSA", null);
        theirs = new TestCa(Files.createDirectory(made.resolve("theirs")), "theirs")
                .sign("server", "EC", LOOPBACK).sign("agent", "RSA", null);
    }

    @Test
    void aPrivateAuthorityIsEnough() throws Exception {
        try (HostileServer server = server(ours, "server", null)) {
            HttpPost http = http(ours.certificate("ours"), null, null);
            URL url = server.url();
            assertEquals(HttpPost.OK, http.post(url, new byte[200_000]), () -> http.problem);
            assertEquals(HttpPost.OK, http.post(url, new byte[1]));
            assertEquals(HttpPost.OK, http.post(new URL("https://localhost:"
                    + server.url().getPort() + "/v1/frames"), new byte[1]), () -> http.problem);
            assertEquals(2, server.connections(), "kept open, one for each name");
        }
    }

    @Test
    void whoIsNotTrustedGetsNothing() throws Exception {
        try (HostileServer stranger = server(theirs, "server", null);
                HostileServer misnamed = server(ours, "elsewhere", null)) {
            for (HttpPost strict : new HttpPost[] {http(ours.certificate("ours"), null, null),
                    http(null, null, null)}) {
                // the second has the JVM's own trust
                assertEquals(HttpPost.RETRY, strict.post(stranger.url(), new byte[1]));
                assertTrue(strict.remedy.contains("ingest.ca_file"), strict.problem);
            }
            HttpPost http = http(ours.certificate("ours"), null, null);
            assertEquals(HttpPost.RETRY, http.post(misnamed.url(), new byte[1]),
                    "the name is checked");
            assertTrue(http.problem.contains("127.0.0.1"), http.problem);
            assertNull(http.remedy, "it is another name, not a stranger's");
            assertEquals(0, stranger.requests() + misnamed.requests(), "no key was sent");
        }
    }

    @Test
    void clientCertificates() throws Exception {
        try (HostileServer server = server(ours, "server", ours)) {
            assertEquals(HttpPost.OK, http(ours.certificate("ours"), ours.certificate("agent"),
                    ours.key("agent")).post(server.url(), new byte[1]));
            assertEquals(HttpPost.OK, http(ours.certificate("ours"), ours.certificate("agent2"),
                    ours.key("agent2")).post(server.url(), new byte[1]));
            assertEquals(HttpPost.RETRY,
                    http(ours.certificate("ours"), null, null).post(server.url(), new byte[1]));
            assertEquals(HttpPost.RETRY, http(ours.certificate("ours"), theirs.certificate("agent"),
                    theirs.key("agent")).post(server.url(), new byte[1]));
            assertEquals(2, server.requests());
        }
    }

    @Test
    void filesAreRotatedWithoutARestart() throws Exception {
        Path ca = replace(directory.resolve("ca"), ours.certificate("ours"));
        Path certificate = replace(directory.resolve("crt"), theirs.certificate("agent"));
        Path key = replace(directory.resolve("key"), theirs.key("agent"));
        try (HostileServer server = server(theirs, "server", ours);
                Delivery delivery = new Delivery(1 << 20)) {
            delivery.tls = new Tls(ca, certificate, key, 0);
            delivery.start(server.url());
            new TestFrames(60).add(delivery.queue, 10);
            await(() -> delivery.sender.errors() > 2);
            replace(ca, theirs.certificate("theirs")); // now we trust the server
            long errors = delivery.sender.errors();
            await(() -> delivery.sender.errors() > errors + 2);
            assertEquals(0, server.requests());
            replace(certificate, ours.certificate("agent")); // and half of what it trusts is there
            long more = delivery.sender.errors();
            await(() -> delivery.sender.errors() > more + 2);
            replace(key, ours.key("agent"));
            await(() -> delivery.ledger().sent == 10);
            Files.writeString(ca, "-----BEGIN CERTIFICATE-----\nhalf writ"); // what worked goes on
            TestFrames next = new TestFrames(60, 0, TestFrames.BEGIN + TestFrames.LIFE_MS);
            next.add(delivery.queue, 10);
            await(() -> delivery.ledger().sent == 20);
            assertTrue(delivery.tls.problem().contains("does not end"), delivery.tls.problem());
            int connections = server.connections();
            replace(ca, theirs.certificate("theirs"));
            next.add(delivery.queue, 1);
            await(() -> delivery.ledger().sent == 21);
            assertNull(delivery.tls.problem());
            assertEquals(connections + 1, server.connections(),
                    "a new connection with the new files");
        }
    }

    @Test
    void whatIsWrongWithAFileIsSaid() throws Exception {
        Path file = directory.resolve("file");
        assertTrue(said(ours.key("agent"), null, null).contains("holds no certificate"));
        assertTrue(said(null, ours.certificate("agent"), ours.key("agent2"))
                .contains("is not the key of"));
        assertTrue(said(null, ours.certificate("agent"), theirs.key("agent"))
                .contains("is not the key of"));
        assertTrue(said(null, ours.certificate("agent"), ours.certificate("agent"))
                .contains("needs exactly one block BEGIN PRIVATE KEY"));
        Files.writeString(file,
                "-----BEGIN RSA PRIVATE KEY-----\nAAAA\n-----END RSA PRIVATE KEY-----\n");
        assertTrue(said(null, ours.certificate("agent"), file).contains("openssl pkcs8 -topk8"));
        Files.writeString(file, "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n");
        assertTrue(said(null, ours.certificate("agent"), file).contains("make an RSA, EC"));
        Files.writeString(file, "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n");
        assertTrue(said(file, null, null).contains("broken certificate"));
        assertTrue(said(directory.resolve("none"), null, null).contains("is missing"));
        Files.writeString(file, "Some words\n" + Files.readString(ours.certificate("ours"))
                + "and more\n" + Files.readString(theirs.certificate("theirs")));
        assertEquals(2, Pem.certificates(file).size());
    }

    @Test
    void aServerThatSpeaksNoTlsOrHangsInTheHandshake() throws Exception {
        try (ServerSocket plain = new ServerSocket(0, 5, java.net.InetAddress.getLoopbackAddress());
                ServerSocket silent = new ServerSocket(0, 5,
                        java.net.InetAddress.getLoopbackAddress())) {
            Thread answering = new Thread(() -> {
                try (java.net.Socket connection = plain.accept()) {
                    connection.getOutputStream()
                            .write("HTTP/1.1 400 Bad Request\r\n\r\n".getBytes());
                } catch (IOException gone) {
                    return;
                }
            });
            answering.start();
            HttpPost refused = http(ours.certificate("ours"), null, null);
            assertEquals(HttpPost.RETRY, refused.post(
                    new URL("https://127.0.0.1:" + plain.getLocalPort() + "/"), new byte[1]));
            assertEquals(0, refused.status, "what came before TLS was there counts for nothing");
            HttpPost http = new HttpPost(ApiKey.fixed("k"),
                    new Tls(ours.certificate("ours"), null, null), "test", 50_000_000L);
            URL hanging = new URL("https://127.0.0.1:" + silent.getLocalPort() + "/");
            Thread posting = new Thread(() -> http.post(hanging, new byte[1]));
            posting.start();
            await(() -> {
                http.endIfSlow();
                return !posting.isAlive();
            });
        }
    }

    private static HostileServer server(TestCa ca, String as, TestCa clients) throws Exception {
        return new HostileServer(ca.serve(as, clients), "https");
    }

    private static HttpPost http(Path ca, Path certificate, Path key) {
        return new HttpPost(ApiKey.fixed("rw_key"), new Tls(ca, certificate, key, 0), "test");
    }

    private static String said(Path ca, Path certificate, Path key) {
        return assertThrows(IOException.class, () -> new Tls(ca, certificate, key).reload())
                .getMessage();
    }

    private static Path replace(Path file, Path by) throws IOException {
        Path next = file.resolveSibling("next");
        Files.copy(by, next);
        return Files.move(next, file, StandardCopyOption.REPLACE_EXISTING,
                StandardCopyOption.ATOMIC_MOVE);
    }
}
