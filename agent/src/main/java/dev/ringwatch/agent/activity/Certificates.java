package dev.ringwatch.agent.activity;

import dev.ringwatch.agent.filter.Filters;
import dev.ringwatch.agent.frame.Kind;
import dev.ringwatch.agent.frame.Model;
import java.io.IOException;
import java.security.GeneralSecurityException;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Consumer;

/** When the certificates end that the node shows other nodes and clients. */
final class Certificates {
    private static final String EXPIRY = "cassandra_certificate_expiry_timestamp_seconds";

    private final Consumer<String> say;
    /** Uses whose keystores could not be read at some time: each is told once. */
    private final Set<String> said = new HashSet<>();
    private volatile long errors; // only the thread that reads writes it

    /** @param say takes a line about what cannot be read */
    Certificates(Consumer<String> say) {
        this.say = say;
    }

    /**
     * Reads the keystores.
     *
     * @param keystores by their use
     * @return by use, seconds since 1970; without those that cannot be read
     */
    Map<String, Long> read(Map<String, List<Keystore>> keystores) {
        Map<String, Long> all = new TreeMap<>();
        for (Map.Entry<String, List<Keystore>> entry : keystores.entrySet()) {
            try {
                for (Keystore keystore : entry.getValue()) {
                    all.merge(entry.getKey(), keystore.expiry(), Math::min);
                }
            } catch (IOException | GeneralSecurityException | RuntimeException unreadable) {
                all.remove(entry.getKey());
                errors++;
                if (said.add(entry.getKey())) {
                    say.accept("there is no " + EXPIRY + " for use=" + entry.getKey() + ": "
                            + Keystore.reason(unreadable) + "; it is read again each hour");
                }
            }
        }
        return all;
    }

    /** Reads that failed. */
    long errors() {
        return errors;
    }

    /** As the model has them. */
    static final class Uses {
        private final Rows rows;
        private final int expiry;
        private final Map<String, Rows.Row> shown = new HashMap<>();

        Uses(Model model, Filters filters) {
            rows = new Rows(model, filters, "certificate", "use");
            expiry = rows.add(EXPIRY, Kind.GAUGE, "seconds", 0);
        }

        void show(Map<String, Long> all) {
            shown.entrySet().removeIf(entry -> {
                boolean gone = !all.containsKey(entry.getKey());
                if (gone) {
                    rows.end(entry.getValue());
                }
                return gone;
            });
            for (Map.Entry<String, Long> entry : all.entrySet()) {
                rows.set(shown.computeIfAbsent(entry.getKey(), rows::begin), expiry,
                        entry.getValue());
            }
        }
    }
}
