package dev.ringwatch.agent;

import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Arrays;
import java.util.Map;
import org.junit.jupiter.api.Test;

/**
 * Whatever stands in agent.yaml, it is a configuration or an error in words, and takes no more than
 * its length allows.
 */
class HostileConfigTest {
    private static final String[] GOOD = {
        "ingest:\n  urls: [\"http://${HOST}:9471\", 'https://b/']   # two\n  key: ${RW_KEY}\n"
                + "interval: 10s\nqueue_bytes: 1MiB\n",
        "listen: 127.0.0.1:9472\nprofiles: [{jmx_exporter: /a.yaml}, ringwatch]\ncql: false\n"
                + "paused: true\n",
        "ingest:\n  urls:\n  - http://a:1\n  - \"http://b:2\"\n  key: k\n"
                + "filters:\n  - exclude: {keyspace: \"a.*\"}\n",
    };

    @Test
    void hostileTexts() {
        long seed = System.nanoTime();
        HostileText texts = new HostileText(seed, GOOD, "[", "]", "{", "}", "'", "\"",
                ": ", "- ", "\n", "\n  ", "#", "${", "${RW_KEY}", "\t", "\\", "&a", "*a", "1e99",
                "0x", "\u00e9");
        int refused = 0;
        for (int i = 0; i < 20_000; i++) {
            String text = texts.next(20_000);
            boolean[] bad = new boolean[1];
            assertNull(HostileText.exceeds(text, 2_000, () -> {
                try {
                    Config.parse(Arrays.asList(text.split("\n")),
                            Map.of("RW_KEY", "rw_secret", "HOST", "h")::get);
                } catch (Config.Invalid e) {
                    bad[0] = true;
                    assertTrue(!e.getMessage().contains("rw_secret"), "the key is never shown");
                }
            }), "seed " + seed);
            refused += bad[0] ? 1 : 0;
        }
        assertTrue(refused > 1_000 && refused < 20_000, refused + " were refused");
    }
}
