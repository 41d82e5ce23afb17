package dev.ringwatch.agent.pull;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.ringwatch.agent.Dictionary;
import org.junit.jupiter.api.Test;

class HelpTest {
    @Test
    void everyEntryHasItsText() throws Exception {
        for (Dictionary.Entry entry : Dictionary.ofAgents()) {
            String help = Help.of(entry.name);
            assertFalse(help.startsWith("Not described"), entry.name);
            assertTrue(help.endsWith(".") && !help.contains("  ") && !help.contains("\\"), help);
        }
    }

    @Test
    void cassandrasNameAndVersionsFollow() {
        assertEquals("SSTables that this table has. Rising for hours: compaction does not keep up."
                + " Cassandra's type=Table,name=LiveSSTableCount.",
                Help.of("cassandra_table_live_sstables"));
        assertEquals("SSTables that this table has. Rising for hours: compaction does not keep up."
                + " Here of the hidden table behind a secondary index."
                + " Cassandra's type=IndexTable,name=LiveSSTableCount.",
                Help.of("cassandra_index_table_live_sstables"));
        assertTrue(Help.of("cassandra_table_dropped_mutations_total")
                .endsWith("name=DroppedMutations (4.0 to 4.1)."));
        assertTrue(Help.of("cassandra_messaging_timeouts_total")
                .endsWith("Cassandra's type=Connection,name=TotalTimeouts."));
        assertTrue(Help.of("cassandra_tcm_epoch").endsWith("name=Epoch (6.0 and later)."));
        assertEquals("1 while gossip runs, else 0. At 0 the other nodes take this one for down.",
                Help.of("cassandra_node_gossip_running"));
    }

    @Test
    void whatNobodyCouldKnowSaysSo() {
        assertEquals("Not described: Cassandra counts it, and Ringwatch does not know it.",
                Help.of("cassandra_other_new_things_total"));
        assertEquals("Not described: neither Ringwatch nor an agent of this version gives it.",
                Help.of("mine"));
    }
}
