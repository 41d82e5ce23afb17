package dev.ringwatch.agent.beans;

import java.lang.management.BufferPoolMXBean;
import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;
import java.lang.management.MemoryMXBean;
import java.lang.management.MemoryPoolMXBean;
import java.lang.management.MemoryUsage;
import java.lang.management.ThreadInfo;
import java.lang.management.ThreadMXBean;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * What the JMX exporter 1.0.1 adds to a configuration's names: {@code jvm_*} and {@code process_*}
 * of its client library 1.3.1, and {@code jmx_*} of itself. What stops the JVM or walks all threads
 * is read once a minute.
 */
final class JvmNames {
    private final BeanProfile profile;
    private final Map<String, Output.Series> series = new HashMap<>();
    private final ThreadMXBean threads = ManagementFactory.getThreadMXBean();
    private final MemoryMXBean memory = ManagementFactory.getMemoryMXBean();
    private final List<MemoryPoolMXBean> pools = ManagementFactory.getMemoryPoolMXBeans();
    private final List<GarbageCollectorMXBean> collectors =
            ManagementFactory.getGarbageCollectorMXBeans();
    private final List<BufferPoolMXBean> buffers =
            ManagementFactory.getPlatformMXBeans(BufferPoolMXBean.class);
    private final PoolAllocation allocation;

    JvmNames(BeanProfile profile) {
        this.profile = profile;
        this.allocation = profile.namer.showsJvm() ? new PoolAllocation(collectors) : null;
    }

    /** @param slowTurn once a minute */
    void read(boolean slowTurn, long lastNs) {
        gauge("jmx_scrape_duration_seconds", "Time this JMX scrape took, in seconds.",
                lastNs / 1e9);
        gauge("jmx_scrape_error", "Non-zero if this scrape failed.",
                profile.hasFailed() ? 1 : 0);
        gauge("jmx_scrape_cached_beans", "Number of beans with their matching rule cached",
                profile.namer.cached());
        counter("jmx_config_reload_success",
                "Number of times configuration have successfully been reloaded.", 0);
        counter("jmx_config_reload_failure",
                "Number of times configuration have failed to be reloaded.", 0);
        if (profile.namer.showsJvm()) {
            memory();
            threads(slowTurn);
            process(slowTurn);
        }
    }

    private void memory() {
        counter("jvm_compilation_time_seconds",
                "The total time in seconds taken for HotSpot class compilation",
                ManagementFactory.getCompilationMXBean() == null ? 0
                : ManagementFactory.getCompilationMXBean().getTotalCompilationTime() / 1000.0);
        gauge("jvm_classes_currently_loaded",
                "The number of classes that are currently loaded in the JVM",
                ManagementFactory.getClassLoadingMXBean().getLoadedClassCount());
        counter("jvm_classes_loaded",
                "The total number of classes that have been loaded since the JVM has started"
                + " execution",
                ManagementFactory.getClassLoadingMXBean().getTotalLoadedClassCount());
        counter("jvm_classes_unloaded",
                "The total number of classes that have been unloaded since the JVM has started"
                + " execution",
                ManagementFactory.getClassLoadingMXBean().getUnloadedClassCount());
        gauge("jvm_memory_objects_pending_finalization",
                "The number of objects waiting in the finalizer queue.",
                memory.getObjectPendingFinalizationCount());
        usage("jvm_memory", "area", "heap", memory.getHeapMemoryUsage());
        usage("jvm_memory", "area", "nonheap", memory.getNonHeapMemoryUsage());
        for (MemoryPoolMXBean pool : pools) {
            usage("jvm_memory_pool", "pool", pool.getName(), pool.getUsage());
            if (pool.getCollectionUsage() != null) {
                usage("jvm_memory_pool_collection", "pool", pool.getName(),
                        pool.getCollectionUsage());
            }
        }
        allocation.read((pool, bytes) -> one(Named.Type.COUNTER, "jvm_memory_pool_allocated_bytes",
                "Total bytes allocated in a given JVM memory pool. Only updated after GC, not"
                + " continuously.", bytes, "pool", pool));
        for (GarbageCollectorMXBean gc : collectors) {
            String help = "Time spent in a given JVM garbage collector in seconds.";
            one(Named.Type.UNTYPED, "jvm_gc_collection_seconds_count", help,
                    gc.getCollectionCount(), "gc", gc.getName());
            one(Named.Type.UNTYPED, "jvm_gc_collection_seconds_sum", help,
                    gc.getCollectionTime() / 1000.0, "gc", gc.getName());
        }
        for (BufferPoolMXBean pool : buffers) {
            one(Named.Type.GAUGE, "jvm_buffer_pool_used_bytes",
                    "Used bytes of a given JVM buffer pool.", pool.getMemoryUsed(), "pool",
                    pool.getName());
            one(Named.Type.GAUGE, "jvm_buffer_pool_capacity_bytes",
                    "Bytes capacity of a given JVM buffer pool.", pool.getTotalCapacity(), "pool",
                    pool.getName());
            one(Named.Type.GAUGE, "jvm_buffer_pool_used_buffers",
                    "Used buffers of a given JVM buffer pool.", pool.getCount(), "pool",
                    pool.getName());
        }
    }

    private void usage(String prefix, String label, String value, MemoryUsage usage) {
        one(Named.Type.GAUGE, prefix + "_used_bytes", "Used bytes of memory.", usage.getUsed(),
                label, value);
        one(Named.Type.GAUGE, prefix + "_committed_bytes", "Committed bytes of memory.",
                usage.getCommitted(), label, value);
        one(Named.Type.GAUGE, prefix + "_max_bytes", "Max bytes of memory.", usage.getMax(), label,
                value);
        one(Named.Type.GAUGE, prefix + "_init_bytes", "Initial bytes of memory.", usage.getInit(),
                label, value);
    }

    private void threads(boolean slowTurn) {
        gauge("jvm_threads_current", "Current thread count of a JVM", threads.getThreadCount());
        gauge("jvm_threads_daemon", "Daemon thread count of a JVM", threads.getDaemonThreadCount());
        gauge("jvm_threads_peak", "Peak thread count of a JVM", threads.getPeakThreadCount());
        counter("jvm_threads_started", "Started thread count of a JVM",
                threads.getTotalStartedThreadCount());
        if (!slowTurn) {
            return;
        }
        gauge("jvm_threads_deadlocked",
                "Cycles of JVM-threads that are in deadlock waiting to acquire object monitors or"
                + " ownable synchronizers",
                length(threads.findDeadlockedThreads()));
        gauge("jvm_threads_deadlocked_monitor",
                "Cycles of JVM-threads that are in deadlock waiting to acquire object monitors",
                length(threads.findMonitorDeadlockedThreads()));
        int[] states = new int[Thread.State.values().length];
        for (ThreadInfo info : threads.getThreadInfo(threads.getAllThreadIds(), 0)) {
            if (info != null) {
                states[info.getThreadState().ordinal()]++;
            }
        }
        for (Thread.State state : Thread.State.values()) {
            one(Named.Type.GAUGE, "jvm_threads_state", "Current count of threads by state",
                    states[state.ordinal()], "state", state.name());
        }
        one(Named.Type.GAUGE, "jvm_threads_state", "Current count of threads by state", 0, "state",
                "UNKNOWN");
    }

    private static int length(long[] ids) {
        return ids == null ? 0 : ids.length;
    }

    private void process(boolean slowTurn) {
        Object os = ManagementFactory.getOperatingSystemMXBean();
        if (os instanceof com.sun.management.OperatingSystemMXBean) {
            counter("process_cpu_seconds", "Total user and system CPU time spent in seconds.",
                    ((com.sun.management.OperatingSystemMXBean) os).getProcessCpuTime() / 1e9);
        }
        gauge("process_start_time_seconds",
                "Start time of the process since unix epoch in seconds.",
                ManagementFactory.getRuntimeMXBean().getStartTime() / 1000.0);
        if (!slowTurn) {
            return;
        }
        one(Named.Type.GAUGE, "jvm_runtime_info", "JVM runtime info", 1, "runtime",
                property("java.runtime.name"), "vendor",
                property("java.vm.vendor"), "version", property("java.runtime.version"));
        if (os instanceof com.sun.management.UnixOperatingSystemMXBean) {
            com.sun.management.UnixOperatingSystemMXBean unix =
                    (com.sun.management.UnixOperatingSystemMXBean) os;
            gauge("process_open_fds", "Number of open file descriptors.",
                    unix.getOpenFileDescriptorCount());
            gauge("process_max_fds", "Maximum number of open file descriptors.",
                    unix.getMaxFileDescriptorCount());
        }
        try {
            for (String line : Files.readAllLines(Path.of("/proc/self/status"),
                    StandardCharsets.ISO_8859_1)) {
                if (line.startsWith("VmSize:") || line.startsWith("VmRSS:")) {
                    boolean all = line.startsWith("VmSize:");
                    gauge(all ? "process_virtual_memory_bytes" : "process_resident_memory_bytes",
                            all ? "Virtual memory size in bytes."
                            : "Resident memory size in bytes.",
                            Double.parseDouble(line.split("\\s+")[1]) * 1024);
                }
            }
        } catch (java.io.IOException | RuntimeException elsewhere) {
            return; // only Linux has it
        }
    }

    private static String property(String name) {
        return System.getProperty(name, "unknown");
    }

    private void gauge(String name, String help, double value) {
        one(Named.Type.GAUGE, name, help, value);
    }

    /** The name is without its {@code _total}. */
    private void counter(String name, String help, double value) {
        one(Named.Type.COUNTER, name, help, value);
    }

    private void one(Named.Type type, String name, String help, double value, String... labels) {
        String key = labels.length == 0 ? name : name + '\0' + String.join("\0", labels);
        Output.Series known = series.get(key);
        if (known == null) {
            known = profile.output.add(Named.own(name, type, help, Labels.of(labels)));
            if (known == null) {
                return;
            }
            series.put(key, known);
        }
        known.show(value);
    }
}
