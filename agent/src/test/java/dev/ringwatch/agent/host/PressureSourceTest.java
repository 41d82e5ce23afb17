package dev.ringwatch.agent.host;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import dev.ringwatch.agent.frame.Model;
import dev.ringwatch.agent.frame.Template;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class PressureSourceTest {
    private static final String MEANS = " avg10=0.20 avg60=1.94 avg300=4.61 total=";

    @TempDir Path dir;

    @Test
    void countsMicrosecondsOfEachResource() throws IOException {
        write("io", "some" + MEANS + "325307725\nfull" + MEANS + "68986304\n");
        write("cpu", "some" + MEANS + "7\n"); // before Linux 5.13 without a line full
        Model model = new Model();
        PressureSource source = new PressureSource(model, dir + "/");
        source.sample();
        Template pressure = model.template(0);
        assertEquals(2, pressure.liveCount(), "there is no memory");
        assertEquals("cpu", pressure.labelValue(0, 0));
        assertEquals(7, pressure.metric(0).value(0));
        assertFalse(pressure.metric(1).isPresent(0));
        assertEquals("io", pressure.labelValue(1, 0));
        assertEquals(325307725, pressure.metric(0).value(1));
        assertEquals(68986304, pressure.metric(1).value(1));

        write("io", "some" + MEANS + "325307800\nfull" + MEANS + "68986305\n");
        source.sample();
        assertEquals(325307800, pressure.metric(0).value(1));
        assertEquals(68986305, pressure.metric(1).value(1));
    }

    @Test
    void aMachineWithoutItHasNoEntity() {
        Model model = new Model();
        new PressureSource(model, dir + "/").sample();
        assertEquals(0, model.template(0).liveCount());
    }

    private void write(String resource, String text) throws IOException {
        Files.writeString(dir.resolve(resource), text);
    }
}
