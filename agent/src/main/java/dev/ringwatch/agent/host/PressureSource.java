package dev.ringwatch.agent.host;

import dev.ringwatch.agent.frame.Kind;
import dev.ringwatch.agent.frame.Metric;
import dev.ringwatch.agent.frame.Model;
import dev.ringwatch.agent.frame.Template;
import java.util.ArrayList;
import java.util.List;

/**
 * How long work waited for the machine: {@code /proc/pressure}, which Linux has since 4.20 unless
 * it was started without. A resource whose file cannot be read has no entity.
 */
public final class PressureSource {
    private final List<ProcFile> files = new ArrayList<>();
    private final Metric waiting;
    private final Metric stalled;

    public PressureSource(Model model) {
        this(model, "/proc/pressure/");
    }

    /** @param directory ends with a slash */
    PressureSource(Model model, String directory) {
        Template pressure = model.add(new Template("os_pressure", "resource"));
        waiting = pressure.add(
                Metric.scalar("os_pressure_waiting_seconds_total", Kind.COUNTER, "seconds", -6));
        stalled = pressure.add(
                Metric.scalar("os_pressure_stalled_seconds_total", Kind.COUNTER, "seconds", -6));
        for (String resource : new String[] {"cpu", "memory", "io"}) {
            ProcFile file = new ProcFile(directory + resource);
            if (file.reload()) {
                pressure.addEntity(null, resource);
                files.add(file);
            }
        }
    }

    public void sample() {
        for (int i = 0; i < files.size(); i++) {
            ProcFile file = files.get(i);
            if (file.reload()) {
                while (file.line()) {
                    if (file.skip("some ")) {
                        waiting.set(i, total(file));
                    } else if (file.skip("full ")) {
                        stalled.set(i, total(file));
                    }
                }
            }
        }
    }

    /** Microseconds, behind three means: {@code avg10=0.20 avg60=1.94 avg300=4.61 total=325}. */
    private static long total(ProcFile file) {
        for (int number = 0; number < 6; number++) {
            file.number(); // a mean, or the seconds in its name
        }
        return file.number();
    }
}
