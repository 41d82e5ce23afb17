package dev.ringwatch.agent;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import dev.ringwatch.agent.frame.ReferenceDecoder;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;

/**
 * Ingest as far as a test needs it: takes every frame, decodes it against its key frame, keeps the
 * newest state.
 */
final class FrameReceiver implements AutoCloseable {
    private final HttpServer server =
            HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 50);
    private ReferenceDecoder.State key;
    private ReferenceDecoder.State newest;
    private Throwable broken;
    private int frames;
    private int idleBytes = Integer.MAX_VALUE;

    FrameReceiver() throws IOException {
        server.createContext("/v1/frames", this::take);
        server.start();
    }

    String url() {
        return "http://127.0.0.1:" + server.getAddress().getPort();
    }

    private synchronized void take(HttpExchange exchange) throws IOException {
        try {
            byte[] frame = exchange.getRequestBody().readAllBytes();
            ReferenceDecoder.State state = ReferenceDecoder.decode(frame, key);
            if (newest != null
                    && (state.at <= newest.at || state.sequence != newest.sequence + 1)) {
                throw new IllegalStateException("at " + state.at + " after " + newest.at
                        + ", sequence " + state.sequence + " after " + newest.sequence);
            }
            if (newest == null && !state.isKey() || !"Bearer rw_test".equals(
                    exchange.getRequestHeaders().getFirst("Authorization"))) {
                throw new IllegalStateException(
                        "the first frame is a key frame, and all bring their key");
            }
            key = state.isKey() ? state : key;
            idleBytes = Math.min(idleBytes, frame.length);
            newest = state;
            frames++;
        } catch (Throwable e) {
            broken = e;
        }
        notifyAll();
        exchange.sendResponseHeaders(broken == null ? 202 : 400, -1);
        exchange.close();
    }

    /** The newest state, which is of an instant after {@code at}. */
    synchronized ReferenceDecoder.State after(long at, long timeoutMs) throws InterruptedException {
        long deadline = System.currentTimeMillis() + timeoutMs;
        while (broken == null && (newest == null || newest.at <= at)) {
            long left = deadline - System.currentTimeMillis();
            if (left <= 0) {
                throw new AssertionError("no frame within " + timeoutMs + " ms");
            }
            wait(left);
        }
        if (broken != null) {
            throw new AssertionError("frame " + frames + " is broken", broken);
        }
        return newest;
    }

    synchronized int frames() {
        return frames;
    }

    synchronized int idleBytes() {
        return idleBytes;
    }

    @Override
    public void close() {
        server.stop(0);
    }
}
