package dev.ringwatch.agent.cassandra;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.Test;

class NotServingTest {
    private static void says(String want, String mode, boolean gossips, boolean takesClients) {
        assertEquals(want, NodeSource.notServing(mode, gossips, takesClients), mode);
    }

    @Test
    void aMemberOfTheRingLacksGossipOrClients() {
        for (String mode : new String[] {"NORMAL", "MOVING", "DECOMMISSION_FAILED", "LATER"}) {
            says("", mode, true, true);
            says("no_clients", mode, true, false);
            says("no_gossip", mode, false, true);
            says("no_gossip,no_clients", mode, false, false);
        }
    }

    @Test
    void anotherModeSaysAll() {
        for (boolean is : new boolean[] {true, false}) {
            says("starting", "STARTING", is, false);
            says("joining", "JOINING", true, is);
            says("joining_failed", "JOINING_FAILED", true, is);
            says("leaving", "LEAVING", true, is);
            says("drained", "DRAINING", is, false);
            says("drained", "DRAINED", is, false);
            says("", "DECOMMISSIONED", false, is);
        }
    }
}
