package dev.ringwatch.agent.host;

import dev.ringwatch.agent.frame.Kind;
import dev.ringwatch.agent.frame.Metric;
import dev.ringwatch.agent.frame.Model;
import dev.ringwatch.agent.frame.Template;
import java.lang.management.BufferPoolMXBean;
import java.lang.management.ClassLoadingMXBean;
import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;
import java.lang.management.MemoryPoolMXBean;
import java.lang.management.MemoryUsage;
import java.lang.management.OperatingSystemMXBean;
import java.lang.management.ThreadMXBean;
import java.util.List;

/**
 * Memory pools, collections, threads, classes, file descriptors. Built only once Cassandra is up.
 */
public final class JvmSource {
    private final List<MemoryPoolMXBean> pools = ManagementFactory.getMemoryPoolMXBeans();
    private final List<GarbageCollectorMXBean> collectors =
            ManagementFactory.getGarbageCollectorMXBeans();
    private final List<BufferPoolMXBean> buffers =
            ManagementFactory.getPlatformMXBeans(BufferPoolMXBean.class);
    private final ThreadMXBean threadBean = ManagementFactory.getThreadMXBean();
    private final ClassLoadingMXBean classBean = ManagementFactory.getClassLoadingMXBean();
    private final OperatingSystemMXBean osBean = ManagementFactory.getOperatingSystemMXBean();

    private final Metric threads;
    private final Metric daemonThreads;
    private final Metric classes;
    private final Metric unloaded;
    private final Metric cpuSeconds;
    private final Metric openFiles;
    private final Metric maxFiles;
    private final Metric heapUsed;
    private final Metric heapCommitted;
    private final Metric heapMax;
    private final Metric poolUsed;
    private final Metric poolCommitted;
    private final Metric poolMax;
    private final Metric poolAfterGc;
    private final Metric collections;
    private final Metric collectionSeconds;
    private final Metric bufferUsed;
    private final Metric bufferCapacity;
    private final Metric bufferCount;

    public JvmSource(Model model) {
        Template jvm = model.add(new Template("jvm"));
        threads = jvm.add(Metric.scalar("jvm_threads", Kind.GAUGE, "", 0));
        daemonThreads = jvm.add(Metric.scalar("jvm_daemon_threads", Kind.GAUGE, "", 0));
        classes = jvm.add(Metric.scalar("jvm_classes_loaded", Kind.GAUGE, "", 0));
        unloaded = jvm.add(Metric.scalar("jvm_classes_unloaded_total", Kind.COUNTER, "", 0));
        cpuSeconds = jvm.add(
                Metric.scalar("jvm_process_cpu_seconds_total", Kind.COUNTER, "seconds", -9));
        openFiles = jvm.add(Metric.scalar("jvm_open_file_descriptors", Kind.GAUGE, "", 0));
        maxFiles = jvm.add(Metric.scalar("jvm_max_file_descriptors", Kind.GAUGE, "", 0));
        heapUsed = jvm.add(Metric.scalar("jvm_heap_used_bytes", Kind.GAUGE, "bytes", 0));
        heapCommitted = jvm.add(Metric.scalar("jvm_heap_committed_bytes", Kind.GAUGE, "bytes", 0));
        heapMax = jvm.add(Metric.scalar("jvm_heap_max_bytes", Kind.GAUGE, "bytes", 0));
        Metric start = jvm.add(Metric.scalar("jvm_start_time_seconds", Kind.GAUGE, "seconds", -3));
        jvm.addEntity(null);
        start.set(0, ManagementFactory.getRuntimeMXBean().getStartTime());

        Template pool = model.add(new Template("memory_pool", "pool"));
        poolUsed = pool.add(Metric.scalar("jvm_memory_pool_used_bytes", Kind.GAUGE, "bytes", 0));
        poolCommitted = pool.add(
                Metric.scalar("jvm_memory_pool_committed_bytes", Kind.GAUGE, "bytes", 0));
        poolMax = pool.add(Metric.scalar("jvm_memory_pool_max_bytes", Kind.GAUGE, "bytes", 0));
        poolAfterGc = pool.add(
                Metric.scalar("jvm_memory_pool_collection_used_bytes", Kind.GAUGE, "bytes", 0));
        for (MemoryPoolMXBean bean : pools) {
            pool.addEntity(null, bean.getName());
        }

        model.describe("type", entity -> {
            for (MemoryPoolMXBean bean : pools) {
                if (bean.getName().equals(entity[0])) {
                    return bean.getType().name();
                }
            }
            return "";
        });

        Template gc = model.add(new Template("gc", "gc"));
        collections = gc.add(Metric.scalar("jvm_gc_collections_total", Kind.COUNTER, "", 0));
        collectionSeconds = gc.add(
                Metric.scalar("jvm_gc_collection_seconds_total", Kind.COUNTER, "seconds", -3));
        for (GarbageCollectorMXBean bean : collectors) {
            gc.addEntity(null, bean.getName());
        }

        Template buffer = model.add(new Template("jvm_buffer_pool", "pool"));
        bufferUsed = buffer.add(
                Metric.scalar("jvm_buffer_pool_used_bytes", Kind.GAUGE, "bytes", 0));
        bufferCapacity = buffer.add(
                Metric.scalar("jvm_buffer_pool_capacity_bytes", Kind.GAUGE, "bytes", 0));
        bufferCount = buffer.add(Metric.scalar("jvm_buffer_pool_buffers", Kind.GAUGE, "", 0));
        for (BufferPoolMXBean bean : buffers) {
            buffer.addEntity(null, bean.getName());
        }
    }

    /** @param slowTurn counting file descriptors lists a directory of them all: once a minute */
    public void sample(boolean slowTurn) {
        threads.set(0, threadBean.getThreadCount());
        daemonThreads.set(0, threadBean.getDaemonThreadCount());
        classes.set(0, classBean.getLoadedClassCount());
        unloaded.set(0, classBean.getUnloadedClassCount());
        sampleMemory();
        for (int i = 0; i < collectors.size(); i++) {
            collections.set(i, collectors.get(i).getCollectionCount());
            collectionSeconds.set(i, collectors.get(i).getCollectionTime());
        }
        for (int i = 0; i < buffers.size(); i++) {
            bufferUsed.set(i, buffers.get(i).getMemoryUsed());
            bufferCapacity.set(i, buffers.get(i).getTotalCapacity());
            bufferCount.set(i, buffers.get(i).getCount());
        }
        if (osBean instanceof com.sun.management.OperatingSystemMXBean) {
            cpuSeconds.set(0,
                    ((com.sun.management.OperatingSystemMXBean) osBean).getProcessCpuTime());
        }
        if (slowTurn && osBean instanceof com.sun.management.UnixOperatingSystemMXBean) {
            com.sun.management.UnixOperatingSystemMXBean unix =
                    (com.sun.management.UnixOperatingSystemMXBean) osBean;
            openFiles.set(0, unix.getOpenFileDescriptorCount());
            maxFiles.set(0, unix.getMaxFileDescriptorCount());
        }
    }

    private void sampleMemory() {
        MemoryUsage heap = ManagementFactory.getMemoryMXBean().getHeapMemoryUsage();
        heapUsed.set(0, heap.getUsed());
        heapCommitted.set(0, heap.getCommitted());
        setMax(heapMax, 0, heap);
        for (int i = 0; i < pools.size(); i++) {
            MemoryUsage usage = pools.get(i).getUsage();
            poolUsed.set(i, usage.getUsed());
            poolCommitted.set(i, usage.getCommitted());
            setMax(poolMax, i, usage);
            MemoryUsage after = pools.get(i).getCollectionUsage();
            if (after != null) {
                poolAfterGc.set(i, after.getUsed());
            }
        }
    }

    private static void setMax(Metric metric, int slot, MemoryUsage usage) {
        if (usage.getMax() >= 0) {
            metric.set(slot, usage.getMax());
        }
    }
}
