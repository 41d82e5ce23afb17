package dev.ringwatch.agent.delivery;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.URL;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;

/**
 * A server on a raw socket that answers each request with the next line of its script, or
 * misbehaves as told.
 */
final class HostileServer implements AutoCloseable {
    /** Reads the request and never answers. */
    static final String HANG = "HANG";
    /** Closes the connection after the request. */
    static final String CLOSE = "CLOSE";

    /** Answers a byte at a time, for ever. */
    static final String DRIP = "DRIP";
    /** Does not read the request's body. */
    static final String DEAF = "DEAF";

    private final ServerSocket socket;
    private final String scheme;
    private final Queue<String> script = new ConcurrentLinkedQueue<>();
    private final List<Socket> open = new ArrayList<>();
    private int connections;
    private final List<byte[]> accepted = new ArrayList<>();
    private int deaf;
    private volatile int drips;
    final List<byte[]> bodies = new ArrayList<>();
    final List<String> heads = new ArrayList<>();
    final List<Long> times = new ArrayList<>();

    /** If set, the answer to everything once the script is at its end. */
    volatile String always;

    /** After the script every request is taken with 202. */
    HostileServer(String... answers) throws IOException {
        this(new ServerSocket(0, 50, InetAddress.getLoopbackAddress()), "http", answers);
    }

    HostileServer(ServerSocket socket, String scheme, String... answers) {
        this.socket = socket;
        this.scheme = scheme;
        for (String answer : answers) {
            script.add(answer);
        }
        Thread thread = new Thread(this::accept, "hostile-server");
        thread.setDaemon(true);
        thread.start();
    }

    URL url() throws IOException {
        return new URL(scheme + "://127.0.0.1:" + socket.getLocalPort() + "/v1/frames");
    }

    static String answer(String status, String... headers) {
        return "HTTP/1.1 " + status + "\r\n" + String.join("", headers)
                + "Content-Length: 2\r\n\r\nno";
    }

    private void accept() {
        for (;;) {
            try {
                Socket connection = socket.accept();
                synchronized (this) {
                    open.add(connection);
                    connections++;
                }
                Thread thread = new Thread(() -> serve(connection), "hostile-connection");
                thread.setDaemon(true);
                thread.start();
            } catch (IOException closed) {
                return;
            }
        }
    }

    private void serve(Socket connection) {
        try {
            InputStream in = connection.getInputStream();
            for (;;) {
                ByteArrayOutputStream head = new ByteArrayOutputStream();
                while (!head.toString("ISO-8859-1").endsWith("\r\n\r\n")) {
                    int b = in.read();
                    if (b < 0) {
                        return;
                    }
                    head.write(b);
                }
                String text = head.toString("ISO-8859-1");
                if (DEAF.equals(script.peek() == null ? always : script.peek())) {
                    synchronized (this) {
                        deaf++;
                    }
                    return;
                }
                int at = text.toLowerCase().indexOf("content-length:") + 15;
                int length = Integer.parseInt(text.substring(at, text.indexOf('\r', at)).trim());
                byte[] body = in.readNBytes(length);
                if (body.length < length) {
                    return;
                }
                String next = script.poll();
                String answer = next == null ? always : next;
                synchronized (this) {
                    heads.add(text);
                    bodies.add(body);
                    times.add(System.nanoTime());
                    notifyAll();
                }
                if (HANG.equals(answer)) {
                    continue;
                }
                while (DRIP.equals(answer)) {
                    connection.getOutputStream().write(
                            "HTTP/1.1 202 Accepted\r\nX: xxxxxxxxxxxxxxxxxxxxxxxxxx"
                                    .charAt(drips++ % 45));
                    Thread.sleep(20);
                }
                if (CLOSE.equals(answer)) {
                    connection.close();
                    return;
                }
                String bytes = answer == null
                        ? "HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n" : answer;
                synchronized (this) {
                    if (bytes.startsWith("HTTP/1.1 202")) {
                        accepted.add(body);
                    }
                }
                connection.getOutputStream().write(bytes.getBytes(StandardCharsets.ISO_8859_1));
                if (!bytes.startsWith("HTTP/1.1 ") || bytes.contains("Connection: close")
                        || bytes.contains("X-Closes")) {
                    connection.close();
                    return;
                }
            }
        } catch (IOException | InterruptedException gone) {
            return;
        }
    }

    synchronized List<byte[]> bodies() {
        return new ArrayList<>(bodies);
    }

    /** Bodies that were answered with 202. */
    synchronized List<byte[]> accepted() {
        return new ArrayList<>(accepted);
    }

    /** Appends to the script. */
    void then(String answer) {
        script.add(answer);
    }

    synchronized int deaf() {
        return deaf;
    }

    /** Closes what is open, as a server does with idle connections. */
    synchronized void closeConnections() throws IOException {
        for (Socket connection : open) {
            connection.close();
        }
        open.clear();
    }

    synchronized int connections() {
        return connections;
    }

    synchronized int requests() {
        return bodies.size();
    }

    @Override
    public void close() throws IOException {
        socket.close();
        synchronized (this) {
            for (Socket connection : open) {
                connection.close();
            }
        }
    }
}
