package dev.ringwatch.agent.pull;

import dev.ringwatch.agent.frame.Bytes;
import dev.ringwatch.agent.frame.Model;
import dev.ringwatch.agent.frame.Template;
import java.io.BufferedOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;

/** A server for one path, on a plain socket: the small runtimes that Cassandra 4 is run on have no HTTP server. */
public final class MetricsServer implements Runnable {
    private static final int WAITING = 16;
    private static final int READ_TIMEOUT_MS = 5_000;
    private static final int MAX_REQUEST = 8_192;
    /** Sockets have no timeout for writing: whoever reads slower than this is cut off by {@link #endSlowScrape}. */
    private static final long MAX_SCRAPE_NS = 15_000_000_000L;

    private final ServerSocket socket;
    private final Model model;
    private final Exposition exposition = new Exposition();
    private volatile Socket scrape;
    private volatile long scrapeStarted;

    /** @param model locked by whoever writes it or reads it here */
    public MetricsServer(ServerSocket socket, Model model) {
        this.socket = socket;
        this.model = model;
    }

    /** Bound at once, so that a busy port is known before anything else begins. */
    public static ServerSocket bind(String host, int port) throws IOException {
        ServerSocket socket = new ServerSocket();
        socket.setReuseAddress(true);
        socket.bind(new InetSocketAddress(InetAddress.getByName(host), port), WAITING);
        return socket;
    }

    @Override
    public void run() {
        while (!socket.isClosed()) {
            try (Socket connection = socket.accept()) {
                scrapeStarted = System.nanoTime();
                scrape = connection;
                serve(connection);
            } catch (IOException | RuntimeException gone) {
                if (socket.isClosed()) {
                    return;
                }
            } finally {
                scrape = null;
            }
        }
    }

    /** Called once a pass by the sampler. */
    public void endSlowScrape() {
        Socket slow = scrape;
        if (slow != null && System.nanoTime() - scrapeStarted > MAX_SCRAPE_NS) {
            try {
                slow.close();
            } catch (IOException gone) {
                scrape = null;
            }
        }
    }

    private void serve(Socket connection) throws IOException {
        connection.setSoTimeout(READ_TIMEOUT_MS);
        String request = request(connection.getInputStream());
        OutputStream out = new BufferedOutputStream(connection.getOutputStream(), 32 * 1024);
        if (request.startsWith("GET /metrics ") || request.startsWith("GET /metrics?")) {
            head(out, "200 OK", "text/plain; version=0.0.4; charset=utf-8");
            body(out);
        } else if (request.startsWith("GET ")) {
            head(out, "404 Not Found", "text/plain");
            out.write("there is /metrics\n".getBytes(StandardCharsets.US_ASCII));
        } else {
            head(out, "405 Method Not Allowed", "text/plain");
        }
        out.flush();
    }

    /** One metric at a time: rendered under the model's lock, sent without it. */
    private void body(OutputStream out) throws IOException {
        int templates;
        synchronized (model) {
            templates = model.templateCount();
        }
        for (int t = 0; t < templates; t++) {
            for (int m = 0;; m++) {
                Bytes lines;
                synchronized (model) {
                    Template template = model.template(t);
                    if (m >= template.metricCount()) {
                        break;
                    }
                    lines = exposition.render(template, template.metric(m));
                }
                out.write(lines.array(), 0, lines.length());
            }
        }
    }

    private static void head(OutputStream out, String status, String type) throws IOException {
        out.write(("HTTP/1.1 " + status + "\r\nContent-Type: " + type + "\r\nConnection: close\r\n\r\n").getBytes(StandardCharsets.US_ASCII));
    }

    /** The request's first line; the rest is read to its end and ignored. */
    private static String request(InputStream in) throws IOException {
        byte[] head = new byte[MAX_REQUEST];
        int length = 0;
        while (length < head.length) {
            int n = in.read(head, length, head.length - length);
            if (n < 0) {
                break;
            }
            length += n;
            String text = new String(head, 0, length, StandardCharsets.ISO_8859_1);
            if (text.contains("\r\n\r\n")) {
                return text.substring(0, text.indexOf('\r'));
            }
        }
        throw new IOException("no request");
    }
}
