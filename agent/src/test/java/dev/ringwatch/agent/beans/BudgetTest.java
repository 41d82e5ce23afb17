package dev.ringwatch.agent.beans;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Test;

class BudgetTest {
    private static final long FOREVER_NS = Long.MAX_VALUE / 4;

    @Test
    void endsWithTheThreadsWork() {
        ThreadMXBean threads = ManagementFactory.getThreadMXBean();
        long began = threads.getCurrentThreadCpuTime();
        Budget budget = new Budget(5_000_000, FOREVER_NS);
        while (!budget.isSpent()) {
            Thread.onSpinWait();
        }
        assertTrue(threads.getCurrentThreadCpuTime() - began >= 5_000_000);
    }

    @Test
    void endsWithOthersPatience() {
        long began = System.nanoTime();
        Budget budget = new Budget(FOREVER_NS, 5_000_000);
        while (!budget.isSpent()) {
            LockSupport.parkNanos(100_000); // takes no work
        }
        assertTrue(System.nanoTime() - began >= 5_000_000);
        assertFalse(new Budget(FOREVER_NS, FOREVER_NS).isSpent());
    }
}
