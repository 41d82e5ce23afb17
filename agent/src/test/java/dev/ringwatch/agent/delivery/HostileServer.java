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

/** A server on a raw socket that answers each request with the next line of its script, or misbehaves as told. */
final class HostileServer implements AutoCloseable {
    /** Reads the request and never answers. */
    static final String HANG = "HANG";
    /** Closes the connection after the request. */
    static final String CLOSE = "CLOSE";

    private final ServerSocket socket = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
    private final Queue<String> script = new ConcurrentLinkedQueue<>();
    private final List<Socket> open = new ArrayList<>();
    final List<byte[]> bodies = new ArrayList<>();
    final List<String> heads = new ArrayList<>();
    final List<Long> times = new ArrayList<>();

    /** After the script every request is taken with 202. */
    HostileServer(String... answers) throws IOException {
        for (String answer : answers) {
            script.add(answer);
        }
        Thread thread = new Thread(this::accept, "hostile-server");
        thread.setDaemon(true);
        thread.start();
    }

    URL url() throws IOException {
        return new URL("http://127.0.0.1:" + socket.getLocalPort() + "/v1/frames");
    }

    static String answer(String status, String... headers) {
        return "HTTP/1.1 " + status + "\r\n" + String.join("", headers) + "Content-Length: 2\r\n\r\nno";
    }

    private void accept() {
        for (;;) {
            try {
                Socket connection = socket.accept();
                synchronized (this) {
                    open.add(connection);
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
                int at = text.toLowerCase().indexOf("content-length:") + 15;
                byte[] body = in.readNBytes(Integer.parseInt(text.substring(at, text.indexOf('\r', at)).trim()));
                String answer = script.poll();
                synchronized (this) {
                    heads.add(text);
                    bodies.add(body);
                    times.add(System.nanoTime());
                    notifyAll();
                }
                if (HANG.equals(answer)) {
                    continue;
                }
                if (CLOSE.equals(answer)) {
                    connection.close();
                    return;
                }
                String bytes = answer == null ? "HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n" : answer;
                connection.getOutputStream().write(bytes.getBytes(StandardCharsets.ISO_8859_1));
                if (!bytes.startsWith("HTTP/1.1 ")) {
                    connection.close();
                    return;
                }
            }
        } catch (IOException gone) {
            return;
        }
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
