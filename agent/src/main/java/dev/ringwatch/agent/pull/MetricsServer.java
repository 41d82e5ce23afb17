package dev.ringwatch.agent.pull;

import dev.ringwatch.agent.frame.Model;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;
import java.util.zip.DataFormatException;

/**
 * A server for one path, by hand: the small runtimes that Cassandra 4 is run on have no HTTP
 * server. One thread, which sleeps while nobody is connected, and a bounded number of clients, none
 * of which it ever waits for.
 */
public final class MetricsServer implements Runnable {
    /** When one more comes, the one that has kept us waiting longest goes. */
    private static final int MAX_CONNECTIONS = 64;
    private static final int BACKLOG = 64;
    /** To send a request. */
    private static final long REQUEST_NS = 5_000_000_000L;
    /** To take an answer; Prometheus gives up after 10 s by default. */
    private static final long ANSWER_NS = 15_000_000_000L;
    /** Between requests: more than the minute at which many scrape. */
    private static final long IDLE_NS = 90_000_000_000L;
    private static final long LOOK_MS = 500;
    private static final long ACCEPT_AGAIN_NS = 200_000_000L;

    private final ServerSocketChannel listening;
    private final Pages pages;
    /** Of one profile each, for those who ask for it alone; made when they first do. */
    private final Map<String, Pages> apart = new HashMap<>();
    private final Model model;
    private final List<Profile> profiles;
    private final List<Connection> connections = new ArrayList<>();
    private volatile Selector selector;
    private volatile long served;

    /** @param model locked by whoever writes it or reads it here */
    public MetricsServer(ServerSocketChannel listening, Model model, List<Profile> profiles) {
        this.listening = listening;
        this.model = model;
        this.profiles = profiles;
        this.pages = new Pages(model, profiles);
    }

    /** Bound at once, so that a busy port is known before anything else begins. */
    public static ServerSocketChannel bind(String host, int port) throws IOException {
        ServerSocketChannel channel = ServerSocketChannel.open();
        try {
            channel.socket().setReuseAddress(true);
            channel.bind(new InetSocketAddress(InetAddress.getByName(host), port), BACKLOG);
            return channel;
        } catch (IOException | RuntimeException e) {
            channel.close();
            throw e;
        }
    }

    Pages pages() {
        return pages;
    }

    long served() {
        return served;
    }

    @Override
    public void run() {
        try (Selector selecting = Selector.open()) {
            selector = selecting;
            listening.configureBlocking(false);
            listening.register(selecting, SelectionKey.OP_ACCEPT);
            while (listening.isOpen()) {
                selecting.select(connections.isEmpty() ? 0 : LOOK_MS);
                for (SelectionKey key : selecting.selectedKeys()) {
                    if (key.isValid() && key.isAcceptable()) {
                        accept(selecting);
                    } else if (key.isValid()) {
                        go((Connection) key.attachment());
                    }
                }
                selecting.selectedKeys().clear();
                closeLate();
            }
        } catch (IOException | RuntimeException closed) {
            if (listening.isOpen()) {
                throw new IllegalStateException("/metrics is gone: " + closed, closed);
            }
        } finally {
            while (!connections.isEmpty()) {
                close(connections.get(0));
            }
            pages.end();
            apart.values().forEach(Pages::end);
        }
    }

    /** Ends {@link #run}, from any thread. */
    void close() throws IOException {
        listening.close();
        Selector asleep = selector;
        if (asleep != null) {
            asleep.wakeup();
        }
    }

    private void accept(Selector selecting) {
        try {
            SocketChannel channel = listening.accept();
            if (channel == null) {
                return;
            }
            if (connections.size() == MAX_CONNECTIONS) {
                close(longest());
            }
            channel.configureBlocking(false);
            SelectionKey key = channel.register(selecting, SelectionKey.OP_READ);
            Connection connection = new Connection(channel, key, this::answer);
            key.attach(connection);
            connections.add(connection);
        } catch (IOException | RuntimeException gone) {
            // No file descriptors, perhaps: then it still waits, and asking again at once would
            // take a whole core.
            java.util.concurrent.locks.LockSupport.parkNanos(ACCEPT_AGAIN_NS);
        }
    }

    /** Those that ask nothing go before those that are being answered. */
    private Connection longest() {
        Connection longest = null;
        for (Connection connection : connections) {
            if (longest == null || longest.isWriting() && !connection.isWriting()
                    || longest.isWriting() == connection.isWriting()
                    && connection.since() - longest.since() < 0) {
                longest = connection;
            }
        }
        return longest;
    }

    private void go(Connection connection) {
        try {
            if (!connection.go()) {
                close(connection);
            }
        } catch (IOException | DataFormatException | RuntimeException | OutOfMemoryError gone) {
            close(connection);
        }
    }

    private void closeLate() {
        long now = System.nanoTime();
        for (int i = connections.size() - 1; i >= 0; i--) {
            Connection connection = connections.get(i);
            long allowed = connection.isWriting() ? ANSWER_NS : connection.isIdle() ? IDLE_NS
                    : REQUEST_NS;
            if (now - connection.since() > allowed) {
                close(connection);
            }
        }
    }

    private void close(Connection connection) {
        connections.remove(connection);
        connection.close();
    }

    /** The pages of the profile of that name, or null. */
    private Pages apart(String name) {
        for (Profile profile : profiles) {
            if (profile.toString().equals(name)) {
                return profiles.size() == 1 ? pages
                        : apart.computeIfAbsent(name, n -> new Pages(model, List.of(profile)));
            }
        }
        return null;
    }

    private Connection.Answer answer(Request request) {
        if (request == null) {
            return says("400 Bad Request", "this is not HTTP/1.1\n", false);
        }
        boolean keepAlive = request.keepAlive && !request.hasBody;
        if (!request.method.equals("GET") && !request.method.equals("HEAD")) {
            return says("405 Method Not Allowed\r\nAllow: GET, HEAD", "", keepAlive);
        }
        if (!request.path.equals("/metrics")) {
            return says("404 Not Found", request.method.equals("HEAD") ? ""
                    : "ask for /metrics\n", keepAlive);
        }
        Pages asked = request.profile == null ? pages : apart(request.profile);
        if (asked == null) {
            return says("404 Not Found", request.method.equals("HEAD") ? ""
                    : "this agent has no profile of that name: it has " + profiles + "\n",
                    keepAlive);
        }
        Page page = asked.page(request.openMetrics);
        if (page == null) {
            return says("503 Service Unavailable\r\nRetry-After: 5",
                    "there are no values yet: ask again in some seconds\n", keepAlive);
        }
        served++; // only this thread writes it
        Body body = new Body(page, request.gzip);
        String head = "HTTP/1.1 200 OK\r\nContent-Type: "
                + (request.openMetrics
                ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
                : "text/plain; version=0.0.4; charset=utf-8")
                + "\r\nVary: Accept, Accept-Encoding\r\nContent-Length: " + body.length()
                + (request.gzip ? "\r\nContent-Encoding: gzip" : "")
                + (keepAlive ? "" : "\r\nConnection: close") + "\r\n\r\n";
        if (request.method.equals("HEAD")) {
            body.end();
            return new Connection.Answer(head, null, keepAlive);
        }
        return new Connection.Answer(head, body, keepAlive);
    }

    private static Connection.Answer says(String status, String text, boolean keepAlive) {
        return new Connection.Answer("HTTP/1.1 " + status
                + "\r\nContent-Type: text/plain\r\nContent-Length: " + text.length()
                + (keepAlive ? "" : "\r\nConnection: close") + "\r\n\r\n" + text, null, keepAlive);
    }
}
