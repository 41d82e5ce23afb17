package dev.ringwatch.agent.delivery;

import java.io.IOException;
import java.net.SocketTimeoutException;
import java.net.URL;
import java.nio.charset.StandardCharsets;
import java.security.cert.CertPathBuilderException;

/**
 * One POST of one frame and what its answer means: HTTP/1.1 as little as a request with a length
 * and the reading of a status need. {@code HttpURLConnection} would do, were it not for the host's
 * proxies, cookies and authenticators that it asks, and for servers that take or give a byte now
 * and then, which it waits for. Redirects are not followed: they would carry the key elsewhere.
 */
final class HttpPost {
    static final String CONTENT_TYPE = "application/vnd.ringwatch.frame";
    private static final int CONNECT_TIMEOUT_MS = 5_000;
    private static final int READ_TIMEOUT_MS = 15_000;
    /** For all of one request, a frame of 16 MiB over a slow line included. */
    private static final long TOTAL_NS = 60_000_000_000L;
    private static final int MAX_HEAD = 16 << 10;
    /** An answer up to that is read so that the connection can be used again, else it is closed. */
    private static final int MAX_ANSWER = 4096;
    private static final int MAX_MESSAGE = 300;
    /** However long a server asks us to stay away. */
    static final int MAX_RETRY_AFTER_S = 300;

    /** 2xx: delivered. */
    static final int OK = 0;
    /** Try again later. */
    static final int RETRY = 1;
    /** This frame will never be taken. */
    static final int REJECTED = 2;

    private final ApiKey key;
    private final Tls tls;
    private final String agent;
    private final Connection connection = new Connection(READ_TIMEOUT_MS);
    private final long totalNs;
    private volatile long endAt;
    private volatile boolean busy;
    /** Of the last answer; 0 if there was none. */
    volatile int status;
    /** What the last answer says is wrong, for people; null if it says nothing. */
    volatile String reason;
    int retryAfterSeconds;
    /** Why the last one failed, for people. */
    String problem;
    /** What helps then, if it is not the usual. */
    String remedy;
    /** Of this machine, by all answers. */
    final ClockOffset clock = new ClockOffset();

    private int bodyLength;
    /** Ingest's clock by the answer's headers; −1 where they do not tell it. */
    private long clockThere;
    private boolean keep;

    HttpPost(ApiKey key, Tls tls, String version) {
        this(key, tls, version, TOTAL_NS);
    }

    HttpPost(ApiKey key, Tls tls, String version, long totalNs) {
        this.totalNs = totalNs;
        this.key = key;
        this.tls = tls;
        this.agent = "ringwatch-agent/" + version;
    }

    /**
     * Decides for every answer and every failure whether it is worth another try; nothing else
     * does. Only an answer that speaks of this very frame ends it: a wrong key or address (401,
     * 403, 404, redirects) can be put right, and frames wait for that.
     */
    int post(URL url, byte[] frame) {
        status = 0;
        retryAfterSeconds = 0;
        problem = null;
        remedy = null;
        endAt = System.nanoTime() + totalNs;
        busy = true;
        try {
            boolean https = url.getProtocol().equals("https");
            boolean reused = !(https && tls.reload()) && connection.isOpenTo(url);
            byte[] head = head(url, frame.length);
            try {
                exchange(url, head, frame, reused);
            } catch (IOException e) {
                if (!reused || connection.heard() || e instanceof SocketTimeoutException) {
                    throw e;
                }
                exchange(url, head, frame, false); // it may have been closed while it was idle
            }
        } catch (IOException | RuntimeException e) {
            connection.close();
            problem = e.getMessage() == null ? e.getClass().getSimpleName() : e.getMessage();
            if (e instanceof Unreadable) {
                remedy = "create or correct that file: the agent reads it again by itself";
            } else if (isOfAStranger(e)) {
                problem = "the agent does not trust who signed its certificate";
                remedy = "name that authority in ingest.ca_file";
            }
        } finally {
            busy = false;
        }
        if (status >= 200 && status < 300) {
            return OK;
        }
        if (status != 0) {
            problem = "HTTP status " + status + (reason == null ? "" : ": " + reason);
        }
        return status == 400 || status == 413 || status == 415 || status == 422 ? REJECTED : RETRY;
    }

    /** Whether no authority that is trusted signed the server's certificate. */
    private static boolean isOfAStranger(Throwable e) {
        Throwable cause = e;
        for (int depth = 0; cause != null && depth < 8; depth++) { // causes may form a ring
            if (cause instanceof CertPathBuilderException) {
                return true;
            }
            cause = cause.getCause();
        }
        return false;
    }

    private void exchange(URL url, byte[] head, byte[] frame, boolean reused) throws IOException {
        if (reused) {
            connection.deadline(endAt);
        } else {
            connection.open(url, tls, CONNECT_TIMEOUT_MS, endAt);
        }
        IOException cut = null;
        long began = System.nanoTime();
        try {
            connection.write(head, frame);
        } catch (IOException e) { // an answer may come before all of the body was taken
            cut = e;
        }
        try {
            answer();
        } catch (IOException none) {
            throw cut != null && status == 0 ? cut : none;
        }
        long clockHere = System.currentTimeMillis(); // before the end: a pause is in the round trip
        long ended = System.nanoTime();
        clock.note(clockThere, clockHere, (ended - began) / 1_000_000, ended / 1_000_000);
        if (cut != null || !keep || !drained()) {
            connection.close();
        }
    }

    private byte[] head(URL url, int length) throws IOException {
        String head = "POST " + url.getPath() + " HTTP/1.1\r\n"
                + "Host: " + url.getAuthority().substring(url.getAuthority().indexOf('@') + 1)
                + "\r\n"
                + "User-Agent: " + agent + "\r\n"
                + "Authorization: Bearer " + key.get() + "\r\n"
                + "Content-Type: " + CONTENT_TYPE + "\r\n"
                + "Ringwatch-Sent: " + System.currentTimeMillis() + "\r\n"
                + "Content-Length: " + length + "\r\n\r\n";
        return head.getBytes(StandardCharsets.ISO_8859_1);
    }

    /** Reads to the end of the headers; interim answers (1xx) are passed over. */
    private void answer() throws IOException {
        int left = MAX_HEAD;
        int code;
        do {
            keep = true;
            bodyLength = -1;
            clockThere = -1;
            StringBuilder line = new StringBuilder(64);
            left = line(line, left);
            code = statusOf(line);
            for (left = line(line, left); line.length() > 0; left = line(line, left)) {
                header(line.toString());
            }
        } while (code < 200);
        reason = null;
        status = code;
    }

    private int statusOf(StringBuilder line) throws IOException {
        if (line.length() < 12 || line.indexOf("HTTP/1.") != 0 || line.charAt(8) != ' '
                || line.length() > 12 && line.charAt(12) != ' ') {
            throw new IOException("what answers there is not an HTTP server");
        }
        keep = line.charAt(7) != '0';
        int code = 0;
        for (int i = 9; i < 12; i++) {
            if (line.charAt(i) < '0' || line.charAt(i) > '9') {
                throw new IOException("what answers there is not an HTTP server");
            }
            code = code * 10 + line.charAt(i) - '0';
        }
        bodyLength = code == 204 || code == 304 ? 0 : -1;
        if (code < 100) {
            throw new IOException("what answers there is not an HTTP server");
        }
        return code;
    }

    private void header(String line) {
        int colon = line.indexOf(':');
        if (colon < 0) {
            return;
        }
        String value = line.substring(colon + 1).trim();
        switch (line.substring(0, colon).toLowerCase(java.util.Locale.ROOT)) {
            case "content-length":
                bodyLength = bodyLength == 0 ? 0 : (int) number(value, MAX_ANSWER + 1);
                return;
            case "transfer-encoding":
                keep = false;
                return;
            case "connection":
                keep &= !value.equalsIgnoreCase("close");
                return;
            case "retry-after": // seconds only: a date would need the other side's clock
                retryAfterSeconds = Math.max(0, (int) number(value, MAX_RETRY_AFTER_S));
                return;
            case "ringwatch-clock":
                clockThere = number(value, Long.MAX_VALUE);
                return;
            default:
        }
    }

    private static long number(String digits, long atMost) {
        try {
            return Math.min(atMost, Long.parseLong(digits));
        } catch (NumberFormatException none) {
            return -1;
        }
    }

    /** @return how much of a head may still come */
    private int line(StringBuilder into, int left) throws IOException {
        into.setLength(0);
        for (int c = connection.read(); c != '\n'; c = connection.read()) {
            if (c < 0 || --left < 0) {
                throw new IOException(c < 0 ? "the connection was closed without an answer"
                        : "the answer's headers are too long");
            }
            into.append((char) c);
        }
        if (into.length() > 0 && into.charAt(into.length() - 1) == '\r') {
            into.setLength(into.length() - 1);
        }
        return left - 1;
    }

    /** The message in ingest's answer, which is JSON, or null. */
    static String message(String json) {
        int at = json.indexOf("\"message\":\"");
        if (at < 0) {
            return null;
        }
        StringBuilder out = new StringBuilder();
        for (at += 11; at < json.length() && json.charAt(at) != '"'
                && out.length() < MAX_MESSAGE; at++) {
            char c = json.charAt(at);
            if (c == '\\' && at + 1 < json.length()) {
                c = json.charAt(++at);
                if (c == 'u' && at + 4 < json.length()) {
                    String digits = json.substring(at + 1, at + 5);
                    c = digits.matches("[0-9a-fA-F]{4}")
                            ? (char) Integer.parseInt(digits, 16) : '?';
                    at += 4;
                } else if ("bfnrt".indexOf(c) >= 0) {
                    c = ' ';
                }
            }
            out.append(Character.isISOControl(c) ? ' ' : c);
        }
        return out.length() == 0 ? null : out.toString();
    }

    /** Reads a short answer to its end. */
    private boolean drained() {
        if (bodyLength < 0 || bodyLength > MAX_ANSWER) {
            return false;
        }
        byte[] body = new byte[bodyLength];
        try {
            for (int i = 0; i < bodyLength; i++) {
                int c = connection.read();
                if (c < 0) {
                    return false;
                }
                body[i] = (byte) c;
            }
            reason = status < 300 ? null : message(new String(body, StandardCharsets.UTF_8));
            return true;
        } catch (IOException cut) {
            return false;
        }
    }

    /**
     * From any thread: ends a request that takes too long, which only one that hangs in writing
     * does.
     */
    void endIfSlow() {
        if (busy && System.nanoTime() - endAt > 0) {
            connection.end();
        }
    }

    /** From any thread: ends whatever is under way, for good. */
    void end() {
        connection.endForGood();
    }
}
