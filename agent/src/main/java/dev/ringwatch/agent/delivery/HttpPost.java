package dev.ringwatch.agent.delivery;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.HttpURLConnection;
import java.net.Proxy;
import java.net.URL;
import java.util.function.Supplier;

/** One POST of one frame and what its answer means. */
final class HttpPost {
    static final String CONTENT_TYPE = "application/vnd.ringwatch.frame";
    private static final int CONNECT_TIMEOUT_MS = 5_000;
    private static final int READ_TIMEOUT_MS = 15_000;
    /** Enough for one sentence; what is beyond is left unread and the connection closed. */
    private static final int MAX_ANSWER = 4096;
    /** However long a server asks us to stay away. */
    static final int MAX_RETRY_AFTER_S = 300;

    /** 2xx: delivered. */
    static final int OK = 0;
    /** Try again later. */
    static final int RETRY = 1;
    /** Will never be taken. */
    static final int REJECTED = 2;

    private final Supplier<String> key;
    private final byte[] scrap = new byte[MAX_ANSWER];
    /** Of the last answer. */
    int status;
    int retryAfterSeconds;

    HttpPost(Supplier<String> key) {
        this.key = key;
    }

    /** Decides for every answer and every failure whether it is worth another try; nothing else does. */
    int post(URL url, byte[] frame) {
        status = 0;
        retryAfterSeconds = 0;
        HttpURLConnection connection = null;
        try {
            connection = (HttpURLConnection) url.openConnection(Proxy.NO_PROXY);
            connection.setConnectTimeout(CONNECT_TIMEOUT_MS);
            connection.setReadTimeout(READ_TIMEOUT_MS);
            connection.setInstanceFollowRedirects(false); // they would carry the key elsewhere
            connection.setUseCaches(false);
            connection.setRequestMethod("POST");
            connection.setDoOutput(true);
            connection.setFixedLengthStreamingMode(frame.length);
            connection.setRequestProperty("Content-Type", CONTENT_TYPE);
            connection.setRequestProperty("Authorization", "Bearer " + key.get());
            try (OutputStream body = connection.getOutputStream()) {
                body.write(frame);
            }
            status = connection.getResponseCode();
            retryAfterSeconds = retryAfter(connection.getHeaderField("Retry-After"));
            drain(connection);
        } catch (IOException | RuntimeException unreachable) {
            // an answer may come before all of the body was taken, and then writing fails: ask for it once more
            if (status == 0) {
                status = answered(connection);
            }
            if (connection != null) {
                connection.disconnect();
            }
        }
        if (status >= 200 && status < 300) {
            return OK;
        }
        return status == 429 || status >= 500 || status < 300 ? RETRY : REJECTED;
    }

    private static int answered(HttpURLConnection connection) {
        try {
            return connection == null ? 0 : Math.max(0, connection.getResponseCode());
        } catch (IOException | RuntimeException none) {
            return 0;
        }
    }

    /** Reads a short answer to its end so that the connection can be used again; a longer one is cut off. */
    private void drain(HttpURLConnection connection) throws IOException {
        InputStream answer = status >= 400 ? connection.getErrorStream() : connection.getInputStream();
        if (answer == null) {
            return;
        }
        int total = 0;
        for (int n = answer.read(scrap); n >= 0; n = answer.read(scrap)) {
            total += n;
            if (total > MAX_ANSWER) {
                connection.disconnect();
                return;
            }
        }
        answer.close();
    }

    /** Seconds only: a date would need the other side's clock. */
    private static int retryAfter(String header) {
        if (header == null) {
            return 0;
        }
        try {
            return Math.max(0, Math.min(MAX_RETRY_AFTER_S, Integer.parseInt(header.trim())));
        } catch (NumberFormatException notSeconds) {
            return 0;
        }
    }
}
