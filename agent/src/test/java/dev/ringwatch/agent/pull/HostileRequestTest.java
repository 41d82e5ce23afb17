package dev.ringwatch.agent.pull;

import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.ringwatch.agent.HostileText;
import org.junit.jupiter.api.Test;

/**
 * Whatever comes to an open port, it is a request or none, and takes no more than its length
 * allows.
 */
class HostileRequestTest {
    private static final String[] GOOD = {
        "GET /metrics HTTP/1.1\r\nHost: a:1\r\n"
                + "Accept: application/openmetrics-text;version=1.0.0,"
                + "text/plain;version=0.0.4;q=0.5,*/*;q=0.1\r\n"
                + "Accept-Encoding: gzip\r\nConnection: keep-alive",
        "GET /metrics?x=y HTTP/1.0\r\nAccept-Encoding: gzip;q=0, identity",
        "POST / HTTP/1.1\r\nContent-Length: 10\r\nTransfer-Encoding: chunked",
    };

    @Test
    void hostileHeads() {
        long seed = System.nanoTime();
        HostileText heads = new HostileText(seed, GOOD, " ", ":",
                ",", ";", ";q=", "q=1e999", "\r\n", "\r", "\n", "\0", "HTTP/1.", "GET ", "Accept: ",
                "Accept-Encoding: gzip\r\n", "*/*,");
        int none = 0;
        for (int i = 0; i < 50_000; i++) {
            String head = heads.next(Connection.MAX_HEAD);
            Request[] request = new Request[1];
            assertNull(HostileText.exceeds(head, 1_000, () -> request[0] = Request.parse(head)),
                    "seed " + seed);
            none += request[0] == null ? 1 : 0;
        }
        assertTrue(none > 1_000 && none < 50_000, none + " were none");
    }
}
