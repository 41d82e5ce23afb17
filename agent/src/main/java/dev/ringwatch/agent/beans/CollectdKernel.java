package dev.ringwatch.agent.beans;

import dev.ringwatch.agent.host.ProcFile;
import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.List;

/**
 * The figures of collectd's plugins irq, numa, protocols, cpufreq and vmem and its counts of
 * processes, under collectd's names. They are for dashboards alone and some hundreds, so they are
 * read once a minute. How many there may be is bounded; a machine with more shows the first.
 */
final class CollectdKernel {
    private static final int MAX_IRQS = 512;
    private static final int MAX_CPUS = 1024;
    private static final int MAX_PROCESSES = 2048;
    private static final String NODES = "/sys/devices/system/node/node%d/numastat";
    private static final String SPEEDS = "/sys/devices/system/cpu/cpu%d/cpufreq/scaling_cur_freq";
    private static final String[] STATES = {"running", "sleeping", "zombies", "stopped", "paging",
            "blocked"};
    private static final String LETTERS = "RSZTWD"; // of these states, proc(5)
    private static final int THREADS_AFTER_STATE = 17;

    private final CollectdNames names;
    private final ProcFile interrupts = new ProcFile("/proc/interrupts");
    private final ProcFile vmstat = new ProcFile("/proc/vmstat");
    private final ProcFile snmp = new ProcFile("/proc/net/snmp");
    private final ProcFile netstat = new ProcFile("/proc/net/netstat");
    private final List<ProcFile> nodes = each(NODES);
    private final List<ProcFile> speeds = each(SPEEDS);
    private final File proc = new File("/proc");

    CollectdKernel(CollectdNames names) {
        this.names = names;
    }

    private static List<ProcFile> each(String path) {
        List<ProcFile> files = new ArrayList<>();
        while (files.size() < MAX_CPUS && new File(String.format(path, files.size())).canRead()) {
            files.add(new ProcFile(String.format(path, files.size())));
        }
        return files;
    }

    void read() {
        irqs();
        vmem();
        protocols(snmp);
        protocols(netstat);
        for (int node = 0; node < nodes.size(); node++) {
            numa(nodes.get(node), "node" + node);
        }
        for (int cpu = 0; cpu < speeds.size(); cpu++) {
            ProcFile speed = speeds.get(cpu);
            if (speed.reload() && speed.line()) { // in kHz
                names.gauge("collectd_cpufreq", speed.number() * 1000.0, "cpufreq",
                        Integer.toString(cpu));
            }
        }
        processes();
    }

    /** The first line has a word for each core, each other line a number for each. */
    private void irqs() {
        if (!interrupts.reload() || !interrupts.line()) {
            return;
        }
        int cpus = 0;
        while (!interrupts.word(' ').isEmpty()) {
            cpus++;
        }
        for (int i = 0; i < MAX_IRQS && interrupts.line(); i++) {
            String irq = interrupts.word(':');
            long sum = 0;
            for (int cpu = 0; cpu < cpus; cpu++) {
                long of = interrupts.number();
                if (of < 0) {
                    break; // ERR and MIS have one number
                }
                sum += of;
            }
            if (!irq.isEmpty() && !irq.equals("FIQ")) {
                names.counter("collectd_irq", sum, "irq", irq);
            }
        }
    }

    /** What MCAC's collectd shows, which is not verbose. */
    private void vmem() {
        if (!vmstat.reload()) {
            return;
        }
        while (vmstat.line()) {
            String key = vmstat.word(' ');
            long value = vmstat.number();
            if (key.startsWith("nr_")) {
                names.gauge("collectd_vmem_vmpage_number", value, "vmem", key.substring(3));
                continue;
            }
            switch (key) {
                case "pgpgin":
                    names.counter("collectd_vmem_vmpage_io_in", value, "vmem", "memory");
                    break;
                case "pgpgout":
                    names.counter("collectd_vmem_vmpage_io_out", value, "vmem", "memory");
                    break;
                case "pswpin":
                    names.counter("collectd_vmem_vmpage_io_in", value, "vmem", "swap");
                    break;
                case "pswpout":
                    names.counter("collectd_vmem_vmpage_io_out", value, "vmem", "swap");
                    break;
                case "pgfault":
                    names.counter("collectd_vmem_vmpage_faults_minflt", value);
                    break;
                case "pgmajfault":
                    names.counter("collectd_vmem_vmpage_faults_majflt", value);
                    break;
                default:
            }
        }
    }

    /** Two lines of each protocol: what is counted, and how much. */
    private void protocols(ProcFile file) {
        if (!file.reload()) {
            return;
        }
        List<String> counted = new ArrayList<>();
        while (file.line()) {
            String protocol = file.word(':');
            counted.clear();
            for (String word = file.word(' '); !word.isEmpty(); word = file.word(' ')) {
                counted.add(word);
            }
            if (!file.line()) {
                return;
            }
            file.word(':');
            for (String name : counted) {
                String value = file.word(' ');
                if (value.isEmpty()) {
                    break;
                }
                try {
                    names.counter("collectd_protocols_protocol_counter", Long.parseLong(value),
                            "protocols", protocol, "type", name);
                } catch (NumberFormatException beyond) {
                    // greater than a long: this one is left out
                }
            }
        }
    }

    private void numa(ProcFile file, String node) {
        if (!file.reload()) {
            return;
        }
        while (file.line()) {
            String what = file.word(' ');
            names.counter("collectd_numa_vmpage_action", file.number(), "numa", node, "type", what);
        }
    }

    private void processes() {
        String[] entries = proc.list();
        if (entries == null) {
            return;
        }
        int[] states = new int[STATES.length];
        int processes = 0;
        long threads = 0;
        for (String entry : entries) {
            if (processes == MAX_PROCESSES || !Character.isDigit(entry.charAt(0))) {
                continue;
            }
            String stat;
            try {
                stat = new String(Files.readAllBytes(new File(proc, entry + "/stat").toPath()),
                        StandardCharsets.ISO_8859_1);
            } catch (IOException ended) {
                continue;
            }
            // a process may be called anything, so look behind its name
            String[] words = stat.substring(stat.lastIndexOf(')') + 1).trim().split(" ");
            if (words.length <= THREADS_AFTER_STATE) {
                continue;
            }
            processes++;
            threads += Long.parseLong(words[THREADS_AFTER_STATE]);
            int state = LETTERS.indexOf(words[0].charAt(0));
            if (state >= 0) {
                states[state]++;
            }
        }
        for (int i = 0; i < STATES.length; i++) {
            names.gauge("collectd_processes_ps_state", states[i], "processes", STATES[i]);
        }
        names.gauge("collectd_processes_ps_count_processes", processes, "processes", "all");
        names.gauge("collectd_processes_ps_count_threads", threads, "processes", "all");
    }
}
