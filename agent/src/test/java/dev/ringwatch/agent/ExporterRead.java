package dev.ringwatch.agent;

import io.prometheus.jmx.JmxCollector;
import io.prometheus.metrics.expositionformats.PrometheusTextFormatWriter;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import java.io.BufferedReader;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * What the JMX exporter 1.0.1 makes of another JVM, for tests in other languages. It reads lines on
 * standard input, each the path of a configuration with a {@code jmxUrl}, and answers the text of a
 * page and a line {@code # END}. As an agent the exporter needs the module jdk.httpserver, which
 * the Java 11 of our engines lacks.
 */
public final class ExporterRead {
    private ExporterRead() {
    }

    public static void main(String[] args) throws Exception {
        BufferedReader in =
                new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        String last = null;
        PrometheusRegistry registry = null;
        for (String path = in.readLine(); path != null; path = in.readLine()) {
            if (!path.equals(last)) {
                last = path;
                registry = new PrometheusRegistry();
                byte[] config = Files.readAllBytes(Path.of(path));
                new JmxCollector(new ByteArrayInputStream(config)).register(registry);
            }
            ByteArrayOutputStream page = new ByteArrayOutputStream();
            new PrometheusTextFormatWriter(false).write(page, registry.scrape());
            System.out.print(page.toString(StandardCharsets.UTF_8) + "# END\n");
            System.out.flush();
        }
    }
}
