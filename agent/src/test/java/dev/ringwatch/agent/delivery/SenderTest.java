package dev.ringwatch.agent.delivery;

import static dev.ringwatch.agent.delivery.Delivery.await;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.net.URL;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Delivery against a server that behaves as badly as it can. After every test the ledger must hold.
 */
class SenderTest {
    @Test
    void framesArriveInOrderWithTheirHeaders() throws Exception {
        try (HostileServer server = new HostileServer();
                Delivery delivery = new Delivery(1 << 20).start(server.url())) {
            long before = System.currentTimeMillis();
            for (int i = 0; i < 20; i++) {
                int sent = i;
                delivery.queue.add(frame(i), i == 0);
                await(() -> delivery.ledger().sent == sent + 1);
            }
            for (int i = 0; i < 20; i++) {
                assertArrayEquals(frame(i), server.bodies.get(i));
            }
            assertEquals(1, server.connections(), "one connection for all of them");
            String head = server.heads.get(0);
            assertTrue(head.startsWith("POST /v1/frames HTTP/1.1\r\nHost: 127.0.0.1:"
                    + server.url().getPort() + "\r\n"), head);
            assertTrue(head.contains("\r\nAuthorization: Bearer rw_key\r\n"), head);
            assertTrue(head.contains("\r\nContent-Type: application/vnd.ringwatch.frame\r\n"),
                    head);
            assertTrue(head.contains("\r\nContent-Length: 100\r\n"), head);
            assertFalse(head.contains("Transfer-Encoding") || head.contains("Expect"), head);
            String sent = head.substring(head.indexOf("Ringwatch-Sent: ") + 16);
            long at = Long.parseLong(sent.substring(0, sent.indexOf('\r')));
            assertTrue(at >= before && at <= System.currentTimeMillis(), "the time of sending");
        }
    }

    @Test
    void whatMayPassIsTriedAgainInOrder() throws Exception {
        try (HostileServer server = new HostileServer(
                HostileServer.answer("500 Oops"), HostileServer.answer("503 Later"),
                HostileServer.CLOSE,
                "garbage\r\n\r\n", HostileServer.answer("401 Who"),
                HostileServer.answer("302 Found", "Location: http://127.0.0.1:1/x\r\n"),
                HostileServer.answer("404 Where"), "HTTP/1.1 2000 x\r\n\r\n",
                HostileServer.answer("429 Slow", "Retry-After: 1\r\n"));
                Delivery delivery = new Delivery(1 << 20)) {
            delivery.queue.add(frame(1), true);
            delivery.queue.add(frame(2), false);
            delivery.start(server.url());
            await(() -> delivery.ledger().sent == 2);
            int bad = server.requests() - 2;
            for (int i = 0; i <= bad; i++) {
                assertArrayEquals(frame(1), server.bodies.get(i), "attempt " + i);
            }
            assertArrayEquals(frame(2), server.bodies.get(bad + 1));
            assertTrue(server.times.get(bad) - server.times.get(bad - 1) >= 1_000_000_000L,
                    "Retry-After was kept");
            assertEquals(8, delivery.sender.errors(), "an idle connection that is closed is none");
            assertEquals(0, delivery.ledger().dropped);
        }
    }

    @Test
    void whatIngestSaysIsTold() throws Exception {
        String body = "{\"error\":{\"reason\":\"clock_skew\",\"message\":\"the sender's clock is "
                + "\\u003e 1h off:\\nset \\\"it\\\"\"}}\n";
        try (HostileServer server = new HostileServer("HTTP/1.1 400 Bad\r\nContent-Length: "
                + body.length() + "\r\n\r\n" + body, HostileServer.answer("503 Later"));
                Delivery delivery = new Delivery(1 << 20)) {
            delivery.queue.add(frame(1), true);
            delivery.start(server.url());
            await(() -> delivery.ledger().dropped == 1);
            assertEquals("the sender's clock is > 1h off: set \"it\"",
                    delivery.sender.lastReason());
            delivery.queue.add(frame(2), true);
            await(() -> delivery.ledger().sent == 1);
            assertNull(delivery.sender.lastReason());
        }
        for (String odd : new String[] {"", "<html>", "{\"message\":", "{\"message\":\"",
            "{\"message\":\"\\", "{\"message\":\"\\u12"}) {
            String said = HttpPost.message(odd);
            assertTrue(said == null || said.length() < 9, odd);
        }
    }

    @Test
    void theClockIsHeldAgainstIngests() throws Exception {
        String[] useless = {"", "Ringwatch-Clock: \r\n", "Ringwatch-Clock: noon\r\n",
            "Ringwatch-Clock: -1\r\n", "Ringwatch-Clock: 1700000000\r\n",
            "Ringwatch-Clock: 9223372036854775807\r\n",
            "Ringwatch-Clock: 99999999999999999999\r\n"};
        try (HostileServer server = new HostileServer()) {
            HttpPost http = new HttpPost(ApiKey.fixed("k"), new Tls(null, null, null), "test");
            for (String header : useless) {
                server.then(HostileServer.answer("200 Good", header));
                assertEquals(HttpPost.OK, http.post(server.url(), frame(1)));
                assertEquals(ClockOffset.UNKNOWN, offset(http), header);
            }
            for (String status : new String[] {"200 Good", "400 Bad", "503 Later"}) {
                for (long ahead : new long[] {100_000, -100_000}) {
                    await(() -> {
                        server.then(HostileServer.answer(status, "Ringwatch-Clock: "
                                + (System.currentTimeMillis() - ahead) + "\r\n"));
                        post(http, server);
                        return Math.abs(offset(http) - ahead) <= 1_000;
                    });
                }
            }
        }
    }

    private static long offset(HttpPost http) {
        return http.clock.millis(System.nanoTime() / 1_000_000);
    }

    private static void post(HttpPost http, HostileServer server) {
        http.post(urlOf(server), frame(1));
    }

    @Test
    void aKeyFileMayComeLater(@TempDir Path dir) throws Exception {
        Path file = dir.resolve("key");
        try (HostileServer server = new HostileServer();
                Delivery delivery = new Delivery(1 << 20)) {
            delivery.key = ApiKey.in(file);
            delivery.queue.add(frame(1), true);
            delivery.start(server.url());
            await(() -> delivery.sender.errors() > 0);
            String problem = delivery.sender.problem();
            assertTrue(problem.contains(file + " cannot be read: there is no such file; create or "
                    + "correct that file"), problem);
            Files.writeString(file, "rw_later\n");
            await(() -> delivery.ledger().sent == 1);
            assertTrue(server.heads.get(0).contains("Bearer rw_later\r\n"));
        }
    }

    @Test
    void whatIsRefusedIsDroppedAndCounted() throws Exception {
        try (HostileServer server = new HostileServer(HostileServer.answer("400 Bad"),
                HostileServer.answer("413 Large"));
                Delivery delivery = new Delivery(1 << 20)) {
            delivery.queue.add(frame(1), true);
            delivery.queue.add(frame(2), false);
            delivery.queue.add(frame(3), false);
            delivery.start(server.url());
            await(() -> delivery.ledger().queued == 0);
            assertEquals(Map.of("http_400", 1L, FrameQueue.KEY_LOST, 2L), delivery.queue.dropped());
            assertTrue(delivery.queue.needsKeyFrame());
            assertFalse(delivery.queue.add(frame(4), false)); // nobody could read it
            assertEquals(3L, delivery.queue.dropped().get(FrameQueue.KEY_LOST));
            delivery.queue.add(frame(5), true);
            await(() -> delivery.queue.dropped().containsKey("http_413"));
            assertEquals(2, server.requests());
            delivery.queue.add(frame(6), true);
            delivery.queue.add(frame(7), false);
            await(() -> delivery.ledger().sent == 2);
        }
    }

    @Test
    void aHangingServerHoldsNothingUp() throws Exception {
        try (HostileServer server = new HostileServer(HostileServer.HANG);
                Delivery delivery = new Delivery(1 << 20).start(server.url())) {
            delivery.queue.add(frame(1), true);
            await(() -> server.requests() == 1);
            for (int i = 2; i < 100; i++) {
                // returns at once although the head is being posted
                delivery.queue.add(frame(i), false);
            }
            server.close();
            await(() -> delivery.sender.errors() > 0);
            assertEquals(0, delivery.ledger().sent);
        }
    }

    @Test
    void anAnswerThatNeverEndsIsEnded() throws Exception {
        try (HostileServer server = new HostileServer(HostileServer.DRIP,
                "HTTP/1.1 202 Accepted\r\nTransfer-Encoding: chunked\r\n\r\nffffff\r\n"
                + "x".repeat(100_000),
                "HTTP/1.1 202 Accepted\r\nContent-Length: 999999999999999999999999\r\n\r\n"
                + "x".repeat(100_000), "HTTP/1.1 202 Accepted\r\n" + "X: x\r\n".repeat(100_000))) {
            HttpPost http = new HttpPost(ApiKey.fixed("k"), new Tls(null, null, null), "test",
                    300_000_000L);
            assertEquals(HttpPost.RETRY, http.post(server.url(), frame(1)));
            assertTrue(http.problem.contains("too long") || http.problem.contains("timed out"),
                    http.problem);
            HttpPost patient = new HttpPost(ApiKey.fixed("k"), new Tls(null, null, null), "test",
                    60_000_000_000L);
            assertEquals(HttpPost.OK, patient.post(server.url(), frame(2)));
            assertEquals(HttpPost.OK, patient.post(server.url(), frame(3)));
            assertEquals(HttpPost.RETRY, patient.post(server.url(), frame(4)));
            assertTrue(patient.problem.contains("too long"), patient.problem);
            assertEquals(HttpPost.OK, patient.post(server.url(), frame(5)));
        }
    }

    @Test
    void aServerThatDoesNotReadIsLeft() throws Exception {
        try (HostileServer server = new HostileServer(HostileServer.DEAF)) {
            HttpPost http = new HttpPost(ApiKey.fixed("k"), new Tls(null, null, null), "test",
                    100_000_000L);
            int[] verdict = {-1};
            Thread posting = new Thread(
                    () -> verdict[0] = http.post(urlOf(server), new byte[64 << 20]));
            posting.start();
            await(() -> {
                http.endIfSlow(); // what the sampler's thread does once a pass
                return !posting.isAlive();
            });
            assertEquals(1, server.deaf());
            assertEquals(HttpPost.RETRY, verdict[0]);
        }
    }

    @Test
    void aProxyThatClosesAndAddsHeadersDoesNoHarm() throws Exception {
        String closes = "HTTP/1.1 202 Accepted\r\nVia: 1.1 proxy\r\n"
                + "X-Closes: without saying so\r\nContent-Length: 0\r\n\r\n";
        String interim = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n"
                + "HTTP/1.1 204 No Content\r\nServer: y\r\n\r\n";
        String says = "HTTP/1.1 202 Accepted\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";
        String old = "HTTP/1.0 200 OK\r\n\r\n";
        try (HostileServer server = new HostileServer(closes, closes, interim, says, old, interim);
                Delivery delivery = new Delivery(1 << 20).start(server.url())) {
            for (int i = 1; i <= 10; i++) {
                int sent = i;
                delivery.queue.add(frame(i), i == 1);
                await(() -> delivery.ledger().sent == sent);
            }
            server.closeConnections(); // while idle
            delivery.queue.add(frame(11), false);
            await(() -> delivery.ledger().sent == 11);
            assertEquals(0, delivery.sender.errors());
            assertEquals(11, server.requests());
        }
    }

    @Test
    void anotherAddressIsTriedWhenOneFailsAndHomeIsReturnedTo() throws Exception {
        try (HostileServer one = new HostileServer(); HostileServer two = new HostileServer();
                Delivery delivery = new Delivery(1 << 20)) {
            delivery.pace.awayMs = 100;
            delivery.start(one.url(), two.url());
            delivery.queue.add(frame(1), true);
            await(() -> delivery.ledger().sent == 1);
            HostileServer home = one.requests() == 1 ? one : two;
            HostileServer other = home == one ? two : one;
            delivery.queue.add(frame(2), false);
            await(() -> delivery.ledger().sent == 2);
            assertEquals(2, home.requests(), "sticky");
            home.always = HostileServer.answer("503 Down");
            delivery.queue.add(frame(3), false);
            await(() -> delivery.ledger().sent == 3);
            assertEquals(1, other.requests());
            home.always = null;
            int atHome = home.requests();
            await(() -> {
                delivery.queue.add(frame(4), false);
                return home.requests() > atHome;
            });
            await(() -> delivery.ledger().queued == 0);
            assertEquals(0, delivery.ledger().dropped);
        }
    }

    @Test
    void aFleetIsSpreadAndStaysSoWhenAnAddressIsGone() throws Exception {
        URL[] urls = {new URL("http://a/"), new URL("http://b/"), new URL("http://c/")};
        int[] first = new int[3];
        int[] second = new int[3];
        for (int agent = 0; agent < 300; agent++) {
            Addresses addresses = new Addresses(java.util.Arrays.asList(urls), 1000,
                    new Random(agent));
            int home = java.util.Arrays.asList(urls).indexOf(addresses.current(0));
            first[home]++;
            if (home == 0) {
                addresses.failed(0);
                second[java.util.Arrays.asList(urls).indexOf(addresses.current(1))]++;
                assertEquals(urls[0], addresses.current(2000), "home again");
                addresses.failed(2000);
                assertFalse(addresses.current(2001) == urls[0]);
            }
        }
        for (int i = 0; i < 3; i++) {
            assertTrue(first[i] > 60, "homes " + java.util.Arrays.toString(first));
            assertTrue(i == 0 ? second[i] == 0 : second[i] > 20,
                    "refuges " + java.util.Arrays.toString(second));
        }
    }

    @Test
    void aReplacedKeyFileIsReadAgain(@TempDir Path directory) throws Exception {
        Path file = directory.resolve("key");
        Files.writeString(file, "rw_first\n");
        try (HostileServer server = new HostileServer();
                Delivery delivery = new Delivery(1 << 20)) {
            delivery.key = ApiKey.in(file);
            delivery.start(server.url());
            delivery.queue.add(frame(1), true);
            await(() -> delivery.ledger().sent == 1);
            Files.writeString(file, "half\r\nwritten: ");
            delivery.queue.add(frame(2), false);
            await(() -> delivery.ledger().sent == 2);
            Path next = directory.resolve("next");
            Files.writeString(next, "rw_again\n");
            Files.move(next, file, java.nio.file.StandardCopyOption.REPLACE_EXISTING);
            delivery.queue.add(frame(3), false);
            await(() -> delivery.ledger().sent == 3);
            Files.delete(file);
            delivery.queue.add(frame(4), false);
            await(() -> delivery.ledger().sent == 4);
            String[] keys = {"rw_first", "rw_first", "rw_again", "rw_again"};
            for (int i = 0; i < 4; i++) {
                assertTrue(server.heads.get(i).contains("Authorization: Bearer " + keys[i]
                        + "\r\n"), server.heads.get(i));
            }
        }
    }

    private static URL urlOf(HostileServer server) {
        try {
            return server.url();
        } catch (java.io.IOException e) {
            throw new java.io.UncheckedIOException(e);
        }
    }

    private static byte[] frame(int number) {
        byte[] frame = new byte[100];
        frame[0] = (byte) number;
        return frame;
    }
}
