package dev.ringwatch.agent.beans;

import dev.ringwatch.agent.frame.Metric;
import dev.ringwatch.agent.frame.Model;
import dev.ringwatch.agent.frame.Template;
import dev.ringwatch.agent.host.ProcFile;
import java.io.File;
import java.lang.management.ManagementFactory;
import java.lang.management.MemoryUsage;
import java.util.HashMap;
import java.util.Map;

/**
 * What MCAC shows and frames do not have, or have otherwise: figures of collectd's plugins cpu,
 * memory, swap, df, disk, processes and uptime under collectd's names, and the JVM's memory as
 * Dropwizard's gauges say it. Read once a pass from {@code /proc}; {@link CollectdKernel} has more.
 */
public final class CollectdNames {
    private static final String[] MODES = {"user", "nice", "system", "idle", "wait", "interrupt",
            "softirq", "steal"};
    private static final String[] MEMORY = {"MemTotal:", "MemFree:", "Buffers:", "Cached:",
            "SReclaimable:", "SUnreclaim:", "SwapTotal:",
        "SwapFree:", "SwapCached:"};
    private static final int MAX_CPUS = 1024;
    private static final int MAX_DISKS = 64;
    private static final int SECTOR = 512;
    /**
     * A disk's counters when it was last looked at, and its time per operation as collectd adds it
     * up.
     */
    private static final class Disk {
        final long[] was = new long[4];
        final double[] time = new double[2];
        long at;
    }

    private final Output output;
    private final Map<String, Output.Series> series = new HashMap<>();
    private final Map<String, Disk> disks = new HashMap<>();
    private final ProcFile stat = new ProcFile("/proc/stat");
    private final ProcFile meminfo = new ProcFile("/proc/meminfo");
    private final ProcFile diskstats = new ProcFile("/proc/diskstats");
    private final ProcFile uptime = new ProcFile("/proc/uptime");
    private final ProcFile io = new ProcFile("/proc/self/io");
    private final File root = new File("/");
    private final CollectdKernel kernel = new CollectdKernel(this);

    public CollectdNames(String profile) {
        output = new Output(profile, false);
    }

    public Output output() {
        return output;
    }

    /**
     * @param model of the node, for the filesystems that Cassandra writes to
     * @param slowTurn once a minute
     */
    public void read(Model model, boolean slowTurn) {
        // dashboards find their nodes by it
        gauge("collectd_collectd_queue_length", 0, "collectd", "write_queue");
        cpus();
        memory();
        disks(System.nanoTime());
        jvm();
        if (uptime.reload() && uptime.line()) {
            gauge("collectd_uptime", uptime.number() / 100);
        }
        if (io.reload()) {
            processIo();
        }
        if (slowTurn) {
            filesystems(model);
            kernel.read();
        }
    }

    /**
     * collectd may read that of processes of its own user only, and Cassandra is who writes here.
     */
    private void processIo() {
        while (io.line()) {
            if (io.skip("read_bytes:")) {
                counter("collectd_processes_disk_octets_read", io.number(), "processes", "all");
            } else if (io.skip("write_bytes:")) {
                counter("collectd_processes_disk_octets_write", io.number(), "processes", "all");
            }
        }
    }

    private void cpus() {
        if (!stat.reload()) {
            return;
        }
        while (stat.line()) {
            if (!stat.skip("cpu")) {
                break; // they come first
            }
            if (stat.skip(" ")) {
                continue; // their sum
            }
            long cpu = stat.number();
            for (int mode = 0; mode < MODES.length && cpu < MAX_CPUS; mode++) {
                counter("collectd_cpu", stat.number(), "cpu", Long.toString(cpu), "type",
                        MODES[mode]);
            }
        }
    }

    private void memory() {
        if (!meminfo.reload()) {
            return;
        }
        double[] bytes = new double[MEMORY.length];
        while (meminfo.line()) {
            for (int i = 0; i < MEMORY.length; i++) {
                if (meminfo.skip(MEMORY[i])) {
                    bytes[i] = meminfo.number() * 1024.0;
                    break;
                }
            }
        }
        double used = bytes[0] - bytes[1] - bytes[2] - bytes[3] - bytes[4] - bytes[5];
        gauge("collectd_memory", used, "memory", "used");
        gauge("collectd_memory", bytes[1], "memory", "free");
        gauge("collectd_memory", bytes[2], "memory", "buffered");
        gauge("collectd_memory", bytes[3], "memory", "cached");
        gauge("collectd_memory", bytes[4], "memory", "slab_recl");
        gauge("collectd_memory", bytes[5], "memory", "slab_unrecl");
        gauge("collectd_swap", bytes[6] - bytes[7] - bytes[8], "swap", "used");
        gauge("collectd_swap", bytes[7], "swap", "free");
        gauge("collectd_swap", bytes[8], "swap", "cached");
    }

    /** All but loops and device mappers, as MCAC's collectd.conf has it. */
    private void disks(long now) {
        if (!diskstats.reload()) {
            return;
        }
        while (diskstats.line()) {
            diskstats.number();
            diskstats.number();
            String name = diskstats.word(' ');
            Disk disk = disks.get(name);
            if (name.startsWith("loop") || name.startsWith("dm-") || disk == null
                    && disks.size() >= MAX_DISKS) {
                continue;
            }
            boolean first = disk == null;
            if (first) {
                disk = new Disk();
                disks.put(name, disk);
            }
            double seconds = first ? 0 : (now - disk.at) / 1e9;
            disk.at = now;
            direction(disk, 0, "read", name, seconds);
            direction(disk, 1, "write", name, seconds);
            diskstats.number(); // in progress
            counter("collectd_disk_disk_io_time_io_time", diskstats.number(), "disk", name);
            counter("collectd_disk_disk_io_time_weighted_io_time", diskstats.number(), "disk",
                    name);
        }
    }

    /**
     * The rate of collectd's {@code disk_time} is the time that an operation took, in milliseconds.
     */
    private void direction(Disk disk, int way, String word, String name, double seconds) {
        long operations = diskstats.number();
        diskstats.number(); // merged
        long bytes = diskstats.number() * SECTOR;
        long millis = diskstats.number();
        if (seconds > 0 && operations > disk.was[way]) {
            disk.time[way] += (double) (millis - disk.was[2 + way]) / (operations - disk.was[way])
                    * seconds;
        }
        disk.was[way] = operations;
        disk.was[2 + way] = millis;
        counter("collectd_disk_disk_ops_" + word, operations, "disk", name);
        counter("collectd_disk_disk_octets_" + word, bytes, "disk", name);
        counter("collectd_disk_disk_time_" + word, disk.time[way], "disk", name);
    }

    /** The machine's root and what Cassandra writes to. */
    private void filesystems(Model model) {
        filesystem("root", root.getTotalSpace(), root.getFreeSpace(), root.getUsableSpace());
        for (int t = 0; t < model.templateCount(); t++) {
            Template template = model.template(t);
            if (!template.type.equals("filesystem")) {
                continue;
            }
            for (int slot = 0; slot < template.slots(); slot++) {
                String mount = template.isLive(slot) ? template.labelValue(slot, 1) : "/";
                if (!mount.equals("/")) {
                    filesystem(mount.substring(1).replace('/', '-'),
                            value(template, slot, "os_filesystem_size_bytes"),
                            value(template, slot, "os_filesystem_free_bytes"),
                            value(template, slot, "os_filesystem_available_bytes"));
                }
            }
        }
    }

    private static long value(Template template, int slot, String name) {
        for (int m = 0; m < template.metricCount(); m++) {
            Metric metric = template.metric(m);
            if (metric.name.equals(name) && metric.isPresent(slot)) {
                return metric.value(slot);
            }
        }
        return 0;
    }

    private void filesystem(String mount, double size, double free, double available) {
        gauge("collectd_df_df_complex", available, "df", mount, "type", "free");
        gauge("collectd_df_df_complex", free - available, "df", mount, "type", "reserved");
        gauge("collectd_df_df_complex", size - free, "df", mount, "type", "used");
    }

    private void jvm() {
        MemoryUsage heap = ManagementFactory.getMemoryMXBean().getHeapMemoryUsage();
        MemoryUsage other = ManagementFactory.getMemoryMXBean().getNonHeapMemoryUsage();
        usage("heap", heap.getInit(), heap.getUsed(), heap.getCommitted(), heap.getMax());
        usage("non_heap", other.getInit(), other.getUsed(), other.getCommitted(), other.getMax());
        usage("total", heap.getInit() + other.getInit(), heap.getUsed() + other.getUsed(),
                heap.getCommitted() + other.getCommitted(),
                heap.getMax() + other.getMax());
    }

    private void usage(String type, double init, double used, double committed, double max) {
        gauge("mcac_jvm_memory_init", init, "memory_type", type);
        gauge("mcac_jvm_memory_used", used, "memory_type", type);
        gauge("mcac_jvm_memory_committed", committed, "memory_type", type);
        gauge("mcac_jvm_memory_max", max, "memory_type", type);
    }

    void gauge(String name, double value, String... labels) {
        one(Named.Type.GAUGE, name, value, labels);
    }

    /**
     * The name is without its {@code _total}. What is negative is no count and is left out: the
     * kernel says −1 of TCP connections without a limit.
     */
    void counter(String name, double value, String... labels) {
        if (value >= 0) {
            one(Named.Type.COUNTER, name, value, labels);
        }
    }

    private void one(Named.Type type, String name, double value, String... labels) {
        String key = labels.length == 0 ? name : name + '\0' + String.join("\0", labels);
        Output.Series known = series.get(key);
        if (known == null) {
            known = output.add(Named.own(name, type, "What collectd calls " + name + ".",
                    Labels.of(labels)));
            if (known == null) {
                return;
            }
            series.put(key, known);
        }
        known.show(value);
    }
}
