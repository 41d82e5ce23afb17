package dev.ringwatch.agent.delivery;

import java.net.URL;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;

/**
 * Which ingest address to use. Each agent has the addresses in an order of its own and stays with
 * the first, its home: so a fleet is spread, and when one address fails its agents go to all of the
 * others. After some minutes away an agent tries its home again, so that the spread comes back;
 * home failing once more sends it to where it was.
 */
final class Addresses {
    private final List<URL> order;
    private final long awayMs;
    private final Random random;
    private int at;
    private int refuge;
    private long homeAgainAt;

    Addresses(List<URL> urls, long awayMs, Random random) {
        this.order = new ArrayList<>(urls);
        Collections.shuffle(order, random);
        this.awayMs = awayMs;
        this.random = random;
    }

    /** Without user and path. */
    static String shown(URL url) {
        return url.getProtocol() + "://" + url.getHost()
                + (url.getPort() < 0 ? "" : ":" + url.getPort());
    }

    int count() {
        return order.size();
    }

    URL current(long nowMs) {
        if (at != 0 && nowMs - homeAgainAt >= 0) {
            refuge = at;
            at = 0;
        }
        return order.get(at);
    }

    void failed(long nowMs) {
        if (at == 0) {
            homeAgainAt = nowMs + awayMs + (long) (random.nextDouble() * awayMs);
        }
        if (refuge != 0) {
            at = refuge;
            refuge = 0;
        } else {
            at = (at + 1) % order.size();
        }
    }

    void succeeded() {
        refuge = 0;
    }
}
