package dev.ringwatch.agent.pull;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.util.function.Function;
import java.util.zip.DataFormatException;

/**
 * One client: a request is read, its answer written, then the next. Holds 8 KiB, and 32 KiB more
 * while it answers; never waits. Requests that were sent ahead wait in the 8 KiB until their turn
 * comes.
 */
final class Connection {
    /** Longer heads are refused: Prometheus's has 500 bytes. */
    static final int MAX_HEAD = 8 * 1024;
    private static final int OUT = 32 * 1024;
    /** Written in one turn, so that a fast reader does not keep the others waiting. */
    private static final int TURN = 1024 * 1024;
    private static final int MAX_REQUESTS = 1_000;

    private final SocketChannel channel;
    private final SelectionKey key;
    private final Function<Request, Answer> answers;
    private final byte[] head = new byte[MAX_HEAD];
    private int headLength;
    private ByteBuffer out;
    private Body body;
    private boolean keepAlive;
    private int requests;
    /**
     * When the state it is in began: a fresh connection, an idle one, a request half read, an
     * answer half written.
     */
    private long since;

    /** What is sent: a head, and a page or nothing. */
    static final class Answer {
        final String head;
        final Body body;
        final boolean keepAlive;

        Answer(String head, Body body, boolean keepAlive) {
            this.head = head;
            this.body = body;
            this.keepAlive = keepAlive;
        }
    }

    Connection(SocketChannel channel, SelectionKey key, Function<Request, Answer> answers) {
        this.channel = channel;
        this.key = key;
        this.answers = answers;
        since = System.nanoTime();
    }

    boolean isWriting() {
        return out != null;
    }

    /** Between two requests. */
    boolean isIdle() {
        return out == null && headLength == 0 && requests > 0;
    }

    long since() {
        return since;
    }

    /**
     * Called when the channel is ready for what it is waited for; false if the connection is done
     * with.
     */
    boolean go() throws IOException, DataFormatException {
        if (out == null && !read()) {
            return false;
        }
        int budget = TURN;
        for (;;) {
            if (out == null) {
                int end = endOfHead();
                if (end < 0) {
                    key.interestOps(SelectionKey.OP_READ);
                    return headLength < MAX_HEAD; // a head that does not end
                }
                begin(end);
            }
            while (out != null) {
                if (!out.hasRemaining() && !refill()) {
                    if (!keepAlive) {
                        return false;
                    }
                    finish();
                    break;
                }
                int n = budget > 0 ? channel.write(out) : 0;
                budget -= n;
                if (out.hasRemaining() || budget <= 0) {
                    key.interestOps(SelectionKey.OP_WRITE);
                    return true;
                }
            }
        }
    }

    private boolean read() throws IOException {
        int n = channel.read(ByteBuffer.wrap(head, headLength, MAX_HEAD - headLength));
        if (n > 0 && headLength == 0) {
            since = System.nanoTime();
        }
        headLength += Math.max(0, n);
        return n >= 0;
    }

    private int endOfHead() {
        for (int i = 3; i < headLength; i++) {
            if (head[i] == '\n' && head[i - 1] == '\r' && head[i - 2] == '\n'
                    && head[i - 3] == '\r') {
                return i + 1;
            }
        }
        return -1;
    }

    private void begin(int end) {
        Request request = Request.parse(new String(head, 0, end - 4, StandardCharsets.ISO_8859_1));
        System.arraycopy(head, end, head, 0, headLength - end);
        headLength -= end;
        Answer answer = answers.apply(request);
        keepAlive = answer.keepAlive && ++requests < MAX_REQUESTS;
        body = answer.body;
        out = ByteBuffer.allocate(OUT);
        out.put(answer.head.getBytes(StandardCharsets.US_ASCII));
        out.flip();
        since = System.nanoTime();
    }

    private boolean refill() throws DataFormatException {
        if (body == null) {
            return false;
        }
        out.clear();
        boolean more = body.fill(out);
        out.flip();
        return more;
    }

    private void finish() {
        if (body != null) {
            body.end();
        }
        body = null;
        out = null;
        since = System.nanoTime();
    }

    void close() {
        try {
            finish();
            key.cancel();
            channel.close();
        } catch (IOException gone) {
            // it is closed as far as we are concerned
        }
    }
}
