package dev.ringwatch.agent.host;

import dev.ringwatch.agent.frame.Kind;
import dev.ringwatch.agent.frame.Metric;
import dev.ringwatch.agent.frame.Model;
import dev.ringwatch.agent.frame.Template;

/** CPU by mode, load, memory and the like: {@code /proc/stat}, {@code loadavg}, {@code meminfo}. */
public final class OsSource {
    /**
     * The columns of the {@code cpu} line, proc(5); the unit is USER_HZ, which is 100 on every
     * Linux Java runs on.
     */
    private static final String[] MODES = {"user", "nice", "system", "idle", "iowait", "irq",
        "softirq", "steal"};
    private static final String[] MEMORY = {"MemTotal:", "MemFree:", "MemAvailable:", "Buffers:",
        "Cached:", "Dirty:", "Writeback:", "SwapTotal:", "SwapFree:"};
    private static final String[] MEMORY_NAMES = {"total", "free", "available", "buffers", "cached",
        "dirty", "writeback", "swap_total", "swap_free"};

    private final ProcFile stat = new ProcFile("/proc/stat");
    private final ProcFile loadavg = new ProcFile("/proc/loadavg");
    private final ProcFile meminfo = new ProcFile("/proc/meminfo");
    private final Metric cpuSeconds;
    private final Metric cpus;
    private final Metric contextSwitches;
    private final Metric running;
    private final Metric blocked;
    private final Metric[] load = new Metric[3];
    private final Metric[] memory = new Metric[MEMORY.length];

    public OsSource(Model model) {
        Template cpu = model.add(new Template("os_cpu", "mode"));
        cpuSeconds = cpu.add(Metric.scalar("os_cpu_seconds_total", Kind.COUNTER, "seconds", -2));
        for (String mode : MODES) {
            cpu.addEntity(null, mode);
        }
        Template os = model.add(new Template("os"));
        cpus = os.add(Metric.scalar("os_cpus", Kind.GAUGE, "", 0));
        contextSwitches = os.add(Metric.scalar("os_context_switches_total", Kind.COUNTER, "", 0));
        running = os.add(Metric.scalar("os_processes_running", Kind.GAUGE, "", 0));
        blocked = os.add(Metric.scalar("os_processes_blocked", Kind.GAUGE, "", 0));
        load[0] = os.add(Metric.scalar("os_load1", Kind.GAUGE, "", -2));
        load[1] = os.add(Metric.scalar("os_load5", Kind.GAUGE, "", -2));
        load[2] = os.add(Metric.scalar("os_load15", Kind.GAUGE, "", -2));
        for (int i = 0; i < memory.length; i++) {
            memory[i] = os.add(Metric.scalar("os_memory_" + MEMORY_NAMES[i] + "_bytes",
                    Kind.GAUGE, "bytes", 0));
        }
        os.addEntity(null);
    }

    public void sample() {
        if (stat.reload()) {
            sampleStat();
        }
        if (loadavg.reload() && loadavg.line()) {
            for (Metric average : load) {
                average.set(0, loadavg.number());
            }
        }
        if (meminfo.reload()) {
            while (meminfo.line()) {
                for (int i = 0; i < MEMORY.length; i++) {
                    if (meminfo.skip(MEMORY[i])) {
                        memory[i].set(0, meminfo.number() * 1024);
                        break;
                    }
                }
            }
        }
    }

    private void sampleStat() {
        int count = 0;
        while (stat.line()) {
            if (stat.skip("cpu ")) {
                for (int mode = 0; mode < MODES.length; mode++) {
                    cpuSeconds.set(mode, stat.number());
                }
            } else if (stat.skip("cpu")) {
                count++;
            } else if (stat.skip("ctxt ")) {
                contextSwitches.set(0, stat.number());
            } else if (stat.skip("procs_running ")) {
                running.set(0, stat.number());
            } else if (stat.skip("procs_blocked ")) {
                blocked.set(0, stat.number());
            }
        }
        cpus.set(0, count);
    }
}
