package dev.ringwatch.agent.pull;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.channels.ServerSocketChannel;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.CountDownLatch;
import java.util.zip.GZIPInputStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Real sockets, friendly and not. */
class MetricsServerTest {
    private static final String OPEN =
            "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5,*/*;q=0.1";
    private static final int PATIENCE_MS = 240_000;

    private final List<Socket> hostile = new ArrayList<>();
    private SyntheticNode node;
    private ServerSocketChannel listening;
    private MetricsServer server;
    private Thread thread;
    private volatile Throwable died;

    private static final class Response {
        final int status;
        final Map<String, String> headers = new HashMap<>();
        byte[] body;

        Response(String head) {
            String[] lines = head.split("\r\n");
            status = Integer.parseInt(lines[0].split(" ")[1]);
            for (int i = 1; i < lines.length; i++) {
                int colon = lines[i].indexOf(':');
                headers.put(lines[i].substring(0, colon).toLowerCase(Locale.ROOT),
                        lines[i].substring(colon + 1).trim());
            }
        }

        String text() {
            return new String(body, StandardCharsets.UTF_8);
        }
    }

    @BeforeEach
    void start() throws Exception {
        node = new SyntheticNode(200);
        listening = MetricsServer.bind("127.0.0.1", 0);
        node.model.cluster("c");
        server = new MetricsServer(listening, node.model, List.of(Profile.RINGWATCH));
        thread = new Thread(server, "metrics-under-test");
        thread.setUncaughtExceptionHandler((t, e) -> died = e);
        thread.start();
    }

    @AfterEach
    void stop() throws Exception {
        for (Socket socket : hostile) {
            socket.close();
        }
        server.close();
        thread.join(PATIENCE_MS);
        assertFalse(thread.isAlive(), "the server's thread is still there");
        assertEquals(null, died);
    }

    private Socket connect() throws IOException {
        Socket socket = new Socket();
        socket.setSoTimeout(PATIENCE_MS);
        socket.connect(new InetSocketAddress("127.0.0.1",
                ((InetSocketAddress) listening.getLocalAddress()).getPort()));
        return socket;
    }

    private static void send(Socket socket, String text) throws IOException {
        socket.getOutputStream().write(text.getBytes(StandardCharsets.ISO_8859_1));
        socket.getOutputStream().flush();
    }

    private static String request(String method, String... headers) {
        return method + " /metrics HTTP/1.1\r\nHost: x\r\n"
                + (headers.length == 0 ? "" : String.join("\r\n", headers) + "\r\n") + "\r\n";
    }

    private static Response receive(InputStream in, boolean hasBody) throws IOException {
        ByteArrayOutputStream head = new ByteArrayOutputStream();
        while (!head.toString("ISO-8859-1").endsWith("\r\n\r\n")) {
            int b = in.read();
            if (b < 0) {
                throw new IOException("closed after " + head.size() + " bytes");
            }
            head.write(b);
        }
        Response response = new Response(head.toString("ISO-8859-1"));
        int length = Integer.parseInt(response.headers.get("content-length"));
        response.body = hasBody ? in.readNBytes(length) : new byte[0];
        assertEquals(hasBody ? length : 0, response.body.length);
        return response;
    }

    private Response get(String... headers) throws IOException {
        try (Socket socket = connect()) {
            send(socket, request("GET", headers));
            return receive(socket.getInputStream(), true);
        }
    }

    @Test
    void formatsAndEncodings() throws Exception {
        Response text = get();
        assertEquals("text/plain; version=0.0.4; charset=utf-8", text.headers.get("content-type"));
        int samples = StrictText.parse(text.text(), false).samples.size();
        assertTrue(samples > 20_000, samples + " samples");
        Response open = get("Accept: " + OPEN);
        assertEquals("application/openmetrics-text; version=1.0.0; charset=utf-8",
                open.headers.get("content-type"));
        assertEquals(samples, StrictText.parse(open.text(), true).samples.size());
        Response zipped = get("aCCept-Encoding: br, gzip;q=0.4", "Accept: " + OPEN);
        assertEquals("gzip", zipped.headers.get("content-encoding"));
        assertTrue(zipped.body.length * 5 < open.body.length);
        assertEquals(open.text(), new String(
                new GZIPInputStream(new ByteArrayInputStream(zipped.body)).readAllBytes(),
                StandardCharsets.UTF_8));
        assertEquals(null, get("Accept-Encoding: gzip;q=0, *").headers.get("content-encoding"));
        for (String plain : new String[] {
            "*/*", "text/plain", "application/openmetrics-text;version=0.0.1",
            "application/openmetrics-text;q=0.1,text/plain",
            "application/openmetrics-text;version=2.0.0,*/*;q=0.1",
            "application/openmetrics-text;q=0", "garbage;;;q=x,,;"}) {
            assertTrue(get("Accept: " + plain).headers.get("content-type").startsWith("text/plain"),
                    plain);
        }
        // what Prometheus 2 and 3 send
        for (String likes : new String[] {
            "application/openmetrics-text;version=1.0.0;q=0.5,"
                    + "application/openmetrics-text;version=0.0.1;q=0.4,"
                    + "text/plain;version=0.0.4;q=0.3,*/*;q=0.2",
            "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.5,"
                    + "application/openmetrics-text;version=0.0.1;q=0.4,"
                    + "text/plain;version=1.0.0;escaping=allow-utf-8;q=0.3,*/*;q=0.1"}) {
            assertTrue(get("Accept: " + likes).headers.get("content-type")
                    .startsWith("application/openmetrics-text"), likes);
        }
    }

    @Test
    void oneConnectionAfterAnotherRequest() throws Exception {
        try (Socket socket = connect()) {
            // all at once: they are answered in order, the last one ends it
            send(socket, request("GET", "Accept-Encoding: gzip") + request("HEAD")
                    + "GET /other HTTP/1.1\r\n\r\n" + request("PUT")
                    + request("GET", "Accept-Encoding: gzip").repeat(20)
                    + request("GET", "Connection: close"));
            InputStream in = socket.getInputStream();
            byte[] first = receive(in, true).body;
            Response head = receive(in, false);
            assertEquals(200, head.status);
            assertEquals(404, receive(in, true).status);
            assertEquals(405, receive(in, true).status);
            for (int i = 0; i < 20; i++) {
                assertEquals(first.length, receive(in, true).body.length);
            }
            Response last = receive(in, true);
            assertEquals(head.headers.get("content-length"), Integer.toString(last.body.length));
            assertEquals("close", last.headers.get("connection"));
            assertEquals(-1, in.read());
        }
        try (Socket socket = connect()) {
            send(socket, "GET /metrics HTTP/1.0\r\n\r\n");
            receive(socket.getInputStream(), true);
            assertEquals(-1, socket.getInputStream().read());
        }
        try (Socket socket = connect()) { // a request in small pieces
            for (char c : request("GET", "Connection: close").toCharArray()) {
                send(socket, String.valueOf(c));
            }
            assertEquals(200, receive(socket.getInputStream(), true).status);
        }
        try (Socket socket = connect()) {
            send(socket, "SSH-2.0-x\r\n\r\n");
            assertEquals(400, receive(socket.getInputStream(), true).status);
            assertEquals(-1, socket.getInputStream().read());
        }
    }

    @Test
    void tenScrapersCostOneRendering() throws Exception {
        long before = server.pages().made();
        CountDownLatch go = new CountDownLatch(1);
        List<Thread> scrapers = new ArrayList<>();
        List<String> bodies = java.util.Collections.synchronizedList(new ArrayList<>());
        for (int i = 0; i < 10; i++) {
            Thread scraper = new Thread(() -> {
                try {
                    go.await();
                    bodies.add(get("Accept: " + OPEN).text());
                } catch (Exception e) {
                    bodies.add(e.toString());
                }
            });
            scraper.start();
            scrapers.add(scraper);
        }
        go.countDown();
        for (Thread scraper : scrapers) {
            scraper.join(PATIENCE_MS);
        }
        assertEquals(1, bodies.stream().distinct().count());
        assertEquals(10, bodies.size());
        StrictText.parse(bodies.get(0), true);
        assertEquals(before + 1, server.pages().made());
        assertEquals(10, server.served());
        node.model.passed();
        get("Accept: " + OPEN);
        assertEquals(before + 2, server.pages().made());
    }

    @Test
    @Tag("full")
    void hostileClientsHarmNobody() throws Exception {
        long seed = System.nanoTime();
        System.out.println("MetricsServerTest: seed " + seed);
        Random random = new Random(seed);
        int threads = Thread.activeCount();
        for (int i = 0; i < 400; i++) { // far more than there is room for
            Socket socket = connect();
            hostile.add(socket);
            try {
                switch (i % 8) {
                    case 0: break; // says nothing
                    case 1: send(socket, "GET /metr"); break; // never says the rest
                    case 2: send(socket, request("GET").repeat(100)); break; // never reads
                    case 3: // a head without end
                        send(socket, "GET /metrics HTTP/1.1\r\nX: " + "y".repeat(100_000));
                        break;
                    case 4:
                        byte[] junk = new byte[random.nextInt(9000)];
                        random.nextBytes(junk);
                        socket.getOutputStream().write(junk);
                        break;
                    case 5: // a reset while it is answered
                        send(socket, request("GET"));
                        socket.setSoLinger(true, 0);
                        socket.close();
                        break;
                    case 6: // half open
                        send(socket, request("GET"));
                        socket.shutdownOutput();
                        break;
                    default:
                        send(socket, "POST /metrics HTTP/1.1\r\nContent-Length: 99999999\r\n\r\n"
                                + "z".repeat(50_000));
                        break;
                }
            } catch (IOException refused) {
                continue; // it has been shown the door
            }
            if (i % 40 == 0) {
                synchronized (node.model) {
                    // a pass gets its turn at once: nobody holds the model while waiting for a
                    // client
                    node.model.passed();
                }
                StrictText.parse(get("Connection: close").text(), false);
            }
        }
        assertEquals(threads, Thread.activeCount(), "no thread for any client");
        assertTrue(thread.isAlive());
        Response response = get("Accept: " + OPEN, "Connection: close");
        StrictText.parse(response.text(), true);
    }

    /**
     * Whoever does not say what it wants is let go: within some seconds, while others are served.
     */
    @Test
    void whoKeepsUsWaitingIsLetGo() throws Exception {
        Socket silent = connect();
        Socket half = connect();
        Socket slow = connect();
        hostile.addAll(List.of(silent, half, slow));
        send(half, "GET /metrics HTTP/1.1\r\nAcc");
        slow.setReceiveBufferSize(1024);
        send(slow, request("GET"));
        assertEquals(-1, silent.getInputStream().read());
        assertEquals(-1, half.getInputStream().read());
        assertEquals(200, get("Connection: close").status);
    }

    @Test
    void beforeTheFirstPass() throws Exception {
        try (ServerSocketChannel other = MetricsServer.bind("127.0.0.1", 0)) {
            MetricsServer young = new MetricsServer(other, new dev.ringwatch.agent.frame.Model(),
                    List.of(Profile.RINGWATCH));
            Thread early = new Thread(young);
            early.start();
            try (Socket socket = new Socket("127.0.0.1",
                    ((InetSocketAddress) other.getLocalAddress()).getPort())) {
                send(socket, request("GET"));
                assertEquals(503, receive(socket.getInputStream(), true).status);
            }
            young.close();
            early.join(PATIENCE_MS);
            assertFalse(early.isAlive());
        }
    }
}
