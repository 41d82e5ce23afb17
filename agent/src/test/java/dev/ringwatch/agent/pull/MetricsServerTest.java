package dev.ringwatch.agent.pull;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.ringwatch.agent.frame.Bounds;
import dev.ringwatch.agent.frame.Kind;
import dev.ringwatch.agent.frame.Metric;
import dev.ringwatch.agent.frame.Model;
import dev.ringwatch.agent.frame.Template;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Test;

class MetricsServerTest {
    @Test
    void textIsExact() throws Exception {
        Model model = new Model();
        Bounds bounds = model.bounds(-6, new long[] {1, 2, 1_500_000});
        Template table = model.add(new Template("table", "keyspace", "table"));
        Metric reads = table.add(Metric.scalar("reads_total", Kind.COUNTER, "", 0));
        Metric load = table.add(Metric.scalar("load1", Kind.GAUGE, "", -2));
        Metric ratio = table.add(Metric.scalar("some_ratio", Kind.GAUGE_DOUBLE, "ratio", 0));
        Metric latency = table.add(Metric.histogram("latency_seconds", Kind.HISTOGRAM, "seconds", -6, bounds, true));
        Metric version = table.add(Metric.scalar("version_info", Kind.STRING, "", 0));
        int slot = table.addEntity(null, "ks", "a \"b\" \\ ü");
        table.addEntity(null, "ks", "silent");
        reads.set(slot, -1);
        load.set(slot, -5);
        ratio.setDouble(slot, 0.25);
        latency.writeBuckets(slot)[0] = 3;
        latency.writeBuckets(slot)[2] = 4;
        latency.setSum(slot, 1_234_567);
        version.setText(slot, "5.0.9");
        String labels = "keyspace=\"ks\",table=\"a \\\"b\\\" \\\\ ü\"";
        String expected = "# TYPE reads_total counter\nreads_total{" + labels + "} 18446744073709551615\n"
                + "# TYPE load1 gauge\nload1{" + labels + "} -0.05\n"
                + "# TYPE some_ratio gauge\nsome_ratio{" + labels + "} 0.25\n"
                + "# TYPE latency_seconds histogram\n"
                + "latency_seconds_bucket{" + labels + ",le=\"0.000001\"} 3\n"
                + "latency_seconds_bucket{" + labels + ",le=\"0.000002\"} 3\n"
                + "latency_seconds_bucket{" + labels + ",le=\"1.500000\"} 7\n"
                + "latency_seconds_bucket{" + labels + ",le=\"+Inf\"} 7\n"
                + "latency_seconds_sum{" + labels + "} 1.234567\n"
                + "latency_seconds_count{" + labels + "} 7\n"
                + "# TYPE version_info gauge\nversion_info{" + labels + ",value=\"5.0.9\"} 1\n";
        ServerSocket socket = MetricsServer.bind("127.0.0.1", 0);
        Thread thread = new Thread(new MetricsServer(socket, model), "metrics-under-test");
        thread.start();
        assertEquals(expected, body(get(socket, "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")));
        assertTrue(get(socket, "GET / HTTP/1.1\r\n\r\n").startsWith("HTTP/1.1 404 "));
        assertTrue(get(socket, "DELETE /metrics HTTP/1.1\r\n\r\n").startsWith("HTTP/1.1 405 "));
        assertEquals("", get(socket, "nonsense".repeat(2000)));
        assertEquals(expected, body(get(socket, "GET /metrics HTTP/1.1\r\n\r\n")));
        socket.close();
        thread.join(30_000);
    }

    private static String get(ServerSocket server, String request) throws Exception {
        try (Socket client = new Socket("127.0.0.1", server.getLocalPort())) {
            client.getOutputStream().write(request.getBytes(StandardCharsets.ISO_8859_1));
            return new String(client.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        } catch (java.net.SocketException reset) { // what was not read makes the close a reset
            return "";
        }
    }

    private static String body(String answer) {
        assertTrue(answer.startsWith("HTTP/1.1 200 OK\r\nContent-Type: text/plain; version=0.0.4"), answer);
        return answer.substring(answer.indexOf("\r\n\r\n") + 4);
    }
}
