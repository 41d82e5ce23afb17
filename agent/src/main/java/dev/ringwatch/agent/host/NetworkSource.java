package dev.ringwatch.agent.host;

import dev.ringwatch.agent.frame.Kind;
import dev.ringwatch.agent.frame.Metric;
import dev.ringwatch.agent.frame.Model;
import dev.ringwatch.agent.frame.Template;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/** Bytes, packets, errors and drops per network card: {@code /proc/net/dev}. */
public final class NetworkSource {
    /** A host that runs containers can have thousands of virtual cards. */
    private static final int MAX_CARDS = 64;
    private static final String[] COLUMNS = {
        "received_bytes", "received_packets", "receive_errors", "receive_dropped", null, null, null,
        null, "transmitted_bytes", "transmitted_packets", "transmit_errors", "transmit_dropped",
    };

    private static final class Card extends Template.Entity {
        byte[] name;
        boolean seen;
    }

    private final ProcFile dev = new ProcFile("/proc/net/dev");
    private final Template template;
    private final Metric[] metrics = new Metric[COLUMNS.length];
    private final List<Card> cards = new ArrayList<>();

    public NetworkSource(Model model) {
        template = model.add(new Template("network", "device"));
        for (int i = 0; i < COLUMNS.length; i++) {
            if (COLUMNS[i] != null) {
                metrics[i] = template.add(Metric.scalar("os_network_" + COLUMNS[i] + "_total",
                        Kind.COUNTER, COLUMNS[i].endsWith("bytes") ? "bytes" : "", 0));
            }
        }
    }

    public void sample() {
        if (!dev.reload()) {
            return;
        }
        for (int i = 0; i < cards.size(); i++) {
            cards.get(i).seen = false;
        }
        dev.line();
        dev.line();
        for (int n = 0; dev.line(); n++) {
            Card card = card(n);
            if (card == null) {
                continue;
            }
            card.seen = true;
            for (Metric metric : metrics) {
                long value = dev.number();
                if (metric != null && value >= 0) {
                    metric.set(card.slot(), value);
                }
            }
        }
        for (int i = cards.size() - 1; i >= 0; i--) {
            if (!cards.get(i).seen) {
                template.removeEntity(cards.remove(i).slot());
            }
        }
    }

    /**
     * The card of the line the cursor is at; mostly the one that was there last time, found without
     * a string.
     */
    private Card card(int position) {
        dev.mark();
        if (position < cards.size() && dev.isWord(cards.get(position).name, ':')) {
            return cards.get(position);
        }
        dev.reset();
        String name = dev.word(':');
        byte[] bytes = name.getBytes(StandardCharsets.UTF_8);
        for (Card card : cards) {
            if (java.util.Arrays.equals(card.name, bytes)) {
                return card;
            }
        }
        if (cards.size() >= MAX_CARDS || name.isEmpty()) {
            return null;
        }
        Card card = new Card();
        card.name = bytes;
        template.addEntity(card, name);
        cards.add(card);
        return card;
    }
}
