package dev.ringwatch.agent.kafka;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import org.junit.jupiter.api.Test;

class NamingTest {
    @Test
    void aTypeAndItsLabels() {
        Naming.Bean log = Naming.bean("kafka.log:type=Log,name=Size,topic=a.b,partition=3");
        assertEquals("kafka_log_log_by_partition_topic", log.type());
        assertEquals("kafka_log_log_size", log.metric(log.name));
        assertArrayEquals(new String[] {"partition", "topic"}, log.labels);
        assertArrayEquals(new String[] {"3", "a.b"}, log.values);
        Naming.Bean quoted = Naming.bean(
                "kafka.log:type=LogManager,name=LogDirectoryOffline,logDirectory=\"/a=b\"");
        assertArrayEquals(new String[] {"/a=b"}, quoted.values);
    }

    @Test
    void whatOnlySomeHaveIsOneType() {
        Naming.Bean all = Naming.bean("kafka.server:type=BrokerTopicMetrics,name=BytesInPerSec");
        Naming.Bean one = Naming.bean(
                "kafka.server:type=BrokerTopicMetrics,name=BytesInPerSec,topic=t");
        assertEquals(all.type(), one.type());
        assertArrayEquals(new String[] {""}, all.values);
        assertArrayEquals(new String[] {"t"}, one.values);
    }

    @Test
    void labelsThatFramesForbid() {
        assertArrayEquals(new String[] {"kafka_1", "kafka_le", "kafka_node", "node_id"},
                Naming.bean("kafka.server:type=x,node=1,le=2,node-id=3,1=4").labels);
    }

    @Test
    void notKafkas() {
        for (String odd : new String[] {"org.apache.kafka.server:type=AssignmentsManager,name=x",
            "kafka.server:name=x", "nonsense", "java.lang:type=Memory", "", null,
            "kafka.server:type=t,name=n,topic=" + "x".repeat(300)}) {
            assertNull(Naming.bean(odd), odd);
        }
    }

    @Test
    void unitsAreBaseUnits() {
        scaled("TotalTimeMs", "TotalTime_seconds", -3);
        scaled("QueueTimeMs.p99", "QueueTime_p99_seconds", -3);
        scaled("io-time-ns-avg", "io_time_avg_seconds", -9);
        scaled("max-clean-time-secs", "max_clean_time_seconds", 0);
        scaled("MetadataBatchProcessingTimeUs", "MetadataBatchProcessingTime_seconds", -6);
        scaled("LastAppliedRecordTimestamp", "LastAppliedRecordTimestamp_seconds", -3);
        scaled("commit-latency-avg", "commit-latency-avg", 0);
        scaled("Status", "Status", 0);
        assertEquals("bytes", Naming.scaled("RequestBytes").unit);
        assertEquals("bytes", Naming.scaled("uncleanable-bytes").unit);
    }

    private static void scaled(String name, String without, int exponent) {
        Naming.Scaled scaled = Naming.scaled(name);
        assertEquals(without, scaled.name);
        assertEquals(exponent, scaled.exponent);
    }
}
