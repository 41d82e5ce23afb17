package dev.ringwatch.agent.kafka;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Properties;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class BrokerBeansTest {
    /** The Go side (frame.BrokerID) is held to the same file. */
    @Test
    void idsAreThoseOfTheGoSide() throws Exception {
        List<String> vectors = Files.readAllLines(Path.of("../frame/testdata/brokers.txt"));
        assertTrue(vectors.size() >= 3);
        for (String vector : vectors) {
            String[] fields = vector.split(" ");
            assertEquals(fields[2], BrokerBeans.nodeId(fields[0], fields[1]).toString());
        }
    }

    @Test
    void settingsAreThoseOfTheCommandLine(@TempDir Path directory) throws Exception {
        Path file = directory.resolve("server.properties");
        Files.writeString(file, "# a comment\nbroker.rack=r1\nlog.dirs = /a, /b\n"
                + "ssl.keystore.password=${file:/secret:key}\n");
        Properties settings = BrokerBeans.settings(
                "kafka.Kafka " + file + " --override broker.rack=r2 --override odd");
        assertEquals("r2", settings.getProperty("broker.rack"));
        assertEquals("/a, /b", settings.getProperty("log.dirs"));
        assertEquals(null, settings.getProperty("ssl.keystore.password"));
        for (String odd : new String[] {"", "kafka.Kafka", "kafka.Kafka /does/not/exist",
            "kafka.Kafka " + directory, "kafka.Kafka \0"}) {
            assertTrue(BrokerBeans.settings(odd).isEmpty(), odd);
        }
    }
}
