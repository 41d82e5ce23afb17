package dev.ringwatch.agent.delivery;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.net.URL;

/**
 * One connection to one address, kept open between requests. Everything on it has a time by which
 * it must be done: reads look at the clock themselves, and for writes, which Java gives no timeout,
 * somebody else calls {@link #end}.
 */
final class Connection {
    private final int readTimeoutMs;
    private final byte[] buffer = new byte[8192];
    private URL url;
    private Socket socket;
    private InputStream in;
    private OutputStream out;
    private int position;
    private int filled;
    private boolean heard;
    private long deadline;
    /** What {@link #end} closes: below TLS, whose close would wait for a write that hangs. */
    private volatile Socket plain;
    private volatile boolean ended;

    Connection(int readTimeoutMs) {
        this.readTimeoutMs = readTimeoutMs;
    }

    /** True if there is an open connection to that address on which nothing unexpected has come. */
    boolean isOpenTo(URL address) {
        try {
            return socket != null && address == url && position == filled && in.available() == 0;
        } catch (IOException gone) {
            return false;
        }
    }

    void open(URL address, Tls tls, int connectTimeoutMs, long deadlineNs) throws IOException {
        close();
        deadline = deadlineNs;
        int port = address.getPort() < 0 ? address.getDefaultPort() : address.getPort();
        String host = address.getHost();
        host = host.startsWith("[") ? host.substring(1, host.length() - 1) : host;
        Socket opened = new Socket();
        plain = opened;
        socket = opened;
        if (ended) {
            throw new IOException("the agent is stopping");
        }
        opened.setTcpNoDelay(true);
        opened.connect(new InetSocketAddress(java.net.InetAddress.getByName(host), port),
                connectTimeoutMs);
        opened.setSoTimeout(readTimeoutMs);
        if (address.getProtocol().equals("https")) {
            socket = tls.over(opened, host, port);
        }
        in = socket.getInputStream();
        out = socket.getOutputStream();
        position = 0;
        filled = 0;
        heard = false;
        url = address;
    }

    /** Another request on the same connection. */
    void deadline(long deadlineNs) {
        deadline = deadlineNs;
        heard = false;
    }

    void write(byte[] head, byte[] body) throws IOException {
        out.write(head);
        out.write(body);
        out.flush();
    }

    /** The next byte, or −1. */
    int read() throws IOException {
        if (position == filled) {
            long left = (deadline - System.nanoTime()) / 1_000_000;
            if (left <= 0) {
                throw new SocketTimeoutException("the answer took too long");
            }
            socket.setSoTimeout((int) Math.min(readTimeoutMs, left));
            position = 0;
            filled = Math.max(0, in.read(buffer));
            if (filled == 0) {
                return -1;
            }
            heard = true;
        }
        return buffer[position++] & 0xFF;
    }

    /** Whether any of an answer to the last request has come. */
    boolean heard() {
        return heard;
    }

    void close() {
        end();
        socket = null;
        url = null;
    }

    /** From any thread: whatever is going on here fails now, and nothing is begun any more. */
    void endForGood() {
        ended = true;
        end();
    }

    /** From any thread: whatever is going on here fails now. */
    void end() {
        Socket closing = plain;
        if (closing != null) {
            try {
                closing.close();
            } catch (IOException gone) {
                return;
            }
        }
    }
}
