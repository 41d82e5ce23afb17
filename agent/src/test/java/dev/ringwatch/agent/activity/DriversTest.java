package dev.ringwatch.agent.activity;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.ringwatch.agent.HostileText;
import dev.ringwatch.agent.filter.Filters;
import java.lang.management.ManagementFactory;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.UnknownHostException;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class DriversTest {
    private final ModelUnderTest under = new ModelUnderTest();
    private final Drivers drivers = new Drivers(under.model, Filters.NONE);
    private long pass;

    private static InetSocketAddress from(int port) {
        try {
            return new InetSocketAddress(InetAddress.getByAddress(
                    new byte[] {10, 0, (byte) (port >> 16), 7}), port & 0xFFFF);
        } catch (UnknownHostException e) {
            throw new IllegalStateException(e);
        }
    }

    private static long cpuNs() {
        return ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime();
    }

    private void java(int port, long requests) {
        drivers.see(from(port), requests, "java", "4.17", 5, "app", false);
    }

    private String value(String metric) {
        return under.values().get("cassandra_driver_" + metric + "|java|4.17|5|app|false");
    }

    /** One whose channel is closed already has no address. */
    @Test
    void aClosedOneKeepsNoOtherFromCounting() {
        drivers.begin(++pass);
        drivers.see(null, 3, "java", "4.17", 5, "app", false);
        java(1, 10);
        drivers.end();
        assertEquals("10", value("requests_total"));
        assertEquals("1", value("connections"));
    }

    @Test
    void aCounterGoesOnWhenConnectionsEnd() {
        drivers.begin(++pass);
        java(1, 10);
        java(2, 5);
        drivers.end();
        assertEquals("15", value("requests_total"));
        assertEquals("2", value("connections"));
        assertEquals("10.0.0.7:1,10.0.0.7:2", value("addresses_info"));
        drivers.begin(++pass);
        java(2, 9);
        drivers.end();
        assertEquals("19", value("requests_total"));
        drivers.begin(++pass);
        java(1, 3); // another one, from a port that was used before
        java(2, 2); // and so is this, though the port was never seen free
        drivers.end();
        assertEquals("24", value("requests_total"));
        drivers.begin(++pass);
        drivers.end();
        assertEquals("24", value("requests_total"));
        assertEquals("0", value("connections"));
        assertNull(value("addresses_info"));
        drivers.begin(pass += 1000);
        drivers.end();
        assertEquals(Map.of(), under.values());
    }

    @Test
    void whoSaysNothingIsUnknown() {
        drivers.begin(++pass);
        drivers.see(from(1), 1, "", "", 4, "", true);
        drivers.see(new InetSocketAddress("::1", 9), 1, "", "", 4, "", true);
        drivers.end();
        assertEquals("[0:0:0:0:0:0:0:1]:9,10.0.0.7:1".length(), under.values()
                .get("cassandra_driver_addresses_info|unknown|unknown|4|unknown|true").length());
    }

    @Test
    void hostileNamesAreLabelsAndHaveABound() {
        HostileText hostile = new HostileText(11, new String[] {"DataStax Java driver", "4.17.0",
            "gocql"}, "\0", "\r\n", "\uD83D", "\uDE00", "\uD83D\uDE00", "\"", "{}", "\u001b[31m",
            "other", "unknown", " ");
        for (int round = 0; round < 50; round++) {
            drivers.begin(++pass);
            for (int i = 0; i < 400; i++) {
                drivers.see(from(i), round, hostile.next(5000), hostile.next(40), i % 5,
                        hostile.next(300), i % 2 == 0);
            }
            drivers.end();
            under.values(); // holds labels to FORMAT.md, and that no two entities are alike
            assertTrue(under.entities("driver") <= Drivers.MAX_GROUPS + 1);
            under.model.closeGaps();
        }
        assertTrue(Integer.parseInt(under.values().get(
                "cassandra_driver_connections|other|other|other|other|other")) > 0);
    }

    @Test
    void addressesHaveABound() {
        drivers.begin(++pass);
        for (int i = 0; i < 10_000; i++) {
            java(i, 1);
        }
        drivers.end();
        assertEquals("10000", value("connections"));
        String all = value("addresses_info");
        assertTrue(all.length() <= Drivers.MAX_TEXT && all.length() > 4000 && all.endsWith(",…"),
                all);
        assertEquals("", Drivers.joined(List.of(), 10));
        for (int round = 0; round < 20; round++) {
            long began = cpuNs();
            drivers.begin(++pass);
            for (int i = 0; i < 10_000; i++) {
                java(i, round);
            }
            drivers.end();
            if (round == 19) {
                System.out.println("DriversTest: 10,000 connections take "
                        + (cpuNs() - began) / 1000 + " us of CPU");
            }
        }
    }

    /** As many as are read without a thought in each pass, more of them more rarely. */
    @Test
    void manyAreReadRarely() {
        assertTrue(drivers.isDue(1, 12));
        drivers.begin(1);
        for (int i = 0; i < 1000; i++) {
            java(i, 1);
        }
        drivers.end();
        assertFalse(drivers.isDue(2, 12));
        assertTrue(drivers.isDue(5, 12));
        assertTrue(drivers.isDue(2, 1));
    }

    @Test
    void connectionsBeyondABoundAreCountedWithoutRequests() {
        drivers.begin(++pass);
        for (int i = 0; i <= Drivers.MAX_CONNECTIONS; i++) {
            java(i, 1);
        }
        drivers.end();
        assertEquals(Integer.toString(Drivers.MAX_CONNECTIONS), value("requests_total"));
    }
}
