package dev.ringwatch.agent.beans;

import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;

/**
 * What the calling thread may take from now on. CPU time is what a host notices; on a busy machine
 * a thread of low priority gets little of it, so how long others wait is bounded apart.
 */
final class Budget {
    private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();

    private final long cpuEnd;
    private final long began = System.nanoTime();
    private final long waitNs;

    Budget(long cpuNs, long waitNs) {
        this.cpuEnd = THREADS.getCurrentThreadCpuTime() + cpuNs;
        this.waitNs = waitNs;
    }

    boolean isSpent() {
        return THREADS.getCurrentThreadCpuTime() > cpuEnd || System.nanoTime() - began > waitNs;
    }
}
