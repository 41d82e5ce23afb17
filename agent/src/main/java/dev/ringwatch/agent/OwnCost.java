package dev.ringwatch.agent;

import dev.ringwatch.agent.beans.Beans;
import dev.ringwatch.agent.delivery.FrameQueue;
import dev.ringwatch.agent.delivery.Sender;
import dev.ringwatch.agent.frame.Kind;
import dev.ringwatch.agent.frame.Metric;
import dev.ringwatch.agent.frame.Model;
import dev.ringwatch.agent.frame.Tally;
import dev.ringwatch.agent.frame.Template;
import java.lang.management.ManagementFactory;
import java.util.HashMap;
import java.util.Map;

/** What the agent itself costs and the ledger of its frames, as metrics like any other. */
final class OwnCost {
    /** Beside the one that makes passes. */
    private static final int THREADS = 3;

    private final FrameQueue queue;
    private final Sender sender;
    private final long senderId;
    private final com.sun.management.ThreadMXBean threads;
    private final Metric passes;
    private final Metric skipped;
    private final Metric cpu;
    private final Metric allocated;
    private final Metric frames;
    private final Metric sent;
    private final Metric sentBytes;
    private final Metric errors;
    private final Metric clockOffset;
    private final Metric queuedFrames;
    private final Metric queuedBytes;
    private final Metric recovered;
    private final Metric spoolFrames;
    private final Metric spoolBytes;
    private final Metric spoolOff;
    private final Metric spoolDamaged;
    private final Metric gaugeErrors;
    private final Metric refused;
    private final Metric entities;
    private final Metric entitiesRefused;
    private final Template drops;
    private final Metric dropped;
    private final Map<String, Template.Entity> reasons = new HashMap<>();
    private final FrameQueue.Ledger ledger = new FrameQueue.Ledger();
    private Beans beans;
    private Software.Reads reads;
    private long lastCpu;
    private long lastPassNs;
    private long knownDrops;

    OwnCost(Model model, FrameQueue queue, Sender sender, Thread sending) {
        this.queue = queue;
        this.sender = sender;
        this.senderId = sending == null ? -1 : sending.getId();
        java.lang.management.ThreadMXBean bean = ManagementFactory.getThreadMXBean();
        threads = bean instanceof com.sun.management.ThreadMXBean && bean.isThreadCpuTimeSupported()
                ? (com.sun.management.ThreadMXBean) bean : null;
        Template agent = model.add(new Template("agent"));
        passes = agent.add(Metric.scalar("ringwatch_agent_passes_total", Kind.COUNTER, "", 0));
        skipped = agent.add(
                Metric.scalar("ringwatch_agent_passes_skipped_total", Kind.COUNTER, "", 0));
        cpu = agent.add(Metric.scalar("ringwatch_agent_pass_cpu_seconds_total", Kind.COUNTER,
                "seconds", -9));
        allocated = agent.add(
                Metric.scalar("ringwatch_agent_allocated_bytes_total", Kind.COUNTER, "bytes", 0));
        frames = agent.add(Metric.scalar("ringwatch_agent_frames_total", Kind.COUNTER, "", 0));
        sent = agent.add(Metric.scalar("ringwatch_agent_frames_sent_total", Kind.COUNTER, "", 0));
        sentBytes = agent.add(
                Metric.scalar("ringwatch_agent_sent_bytes_total", Kind.COUNTER, "bytes", 0));
        errors = agent.add(Metric.scalar("ringwatch_agent_send_errors_total", Kind.COUNTER, "", 0));
        clockOffset = agent.add(Metric.scalar("ringwatch_agent_clock_offset_seconds", Kind.GAUGE,
                "seconds", -3));
        queuedFrames = agent.add(Metric.scalar("ringwatch_agent_queue_frames", Kind.GAUGE, "", 0));
        queuedBytes = agent.add(
                Metric.scalar("ringwatch_agent_queue_bytes", Kind.GAUGE, "bytes", 0));
        recovered = agent.add(
                Metric.scalar("ringwatch_agent_frames_recovered_total", Kind.COUNTER, "", 0));
        spoolFrames = agent.add(Metric.scalar("ringwatch_agent_spool_frames", Kind.GAUGE, "", 0));
        spoolBytes = agent.add(
                Metric.scalar("ringwatch_agent_spool_bytes", Kind.GAUGE, "bytes", 0));
        spoolOff = agent.add(Metric.scalar("ringwatch_agent_spool_off", Kind.GAUGE, "", 0));
        spoolDamaged = agent.add(Metric.scalar("ringwatch_agent_spool_damaged_bytes_total",
                Kind.COUNTER, "bytes", 0));
        gaugeErrors = agent.add(
                Metric.scalar("ringwatch_agent_read_errors_total", Kind.COUNTER, "", 0));
        refused = agent.add(
                Metric.scalar("ringwatch_agent_metrics_refused_total", Kind.COUNTER, "", 0));
        entities = agent.add(Metric.scalar("ringwatch_agent_entities", Kind.GAUGE, "", 0));
        entitiesRefused = agent.add(
                Metric.scalar("ringwatch_agent_entities_refused_total", Kind.COUNTER, "", 0));
        agent.addEntity(null);
        drops = model.add(new Template("agent_drop", "reason"));
        dropped = drops.add(
                Metric.scalar("ringwatch_agent_frames_dropped_total", Kind.COUNTER, "", 0));
        reason(FrameQueue.FULL);
        reason(FrameQueue.KEY_LOST);
    }

    /** Whose threads are the agent's, too. */
    void also(Beans reading, Software.Reads rarely) {
        beans = reading;
        reads = rarely;
    }

    /**
     * At the beginning of a pass, so that what a frame says of the agent is the state after the
     * pass before.
     */
    void sample(long passCount, long skippedCount, long lostSources, Tally tally) {
        passes.set(0, passCount);
        skipped.set(0, skippedCount);
        gaugeErrors.set(0,
                tally.gaugeErrors() + lostSources + (beans == null ? 0 : beans.errors()));
        refused.set(0, tally.refused());
        entities.set(0, tally.entities());
        entitiesRefused.set(0, tally.entitiesRefused());
        queue.read(ledger);
        frames.set(0, ledger.made);
        recovered.set(0, ledger.recovered);
        sent.set(0, ledger.sent);
        sentBytes.set(0, ledger.sentBytes);
        queuedFrames.set(0, ledger.queued);
        queuedBytes.set(0, ledger.queuedBytes);
        spoolFrames.set(0, ledger.spooled);
        errors.set(0, sender == null ? 0 : sender.errors());
        long offset = sender == null ? Sender.NO_OFFSET : sender.clockOffset();
        if (offset == Sender.NO_OFFSET) {
            clockOffset.absent(0);
        } else {
            clockOffset.set(0, offset);
        }
        spoolBytes.set(0, sender == null ? 0 : sender.spoolBytes());
        spoolOff.set(0, sender != null && sender.spoolIsOff() ? 1 : 0);
        spoolDamaged.set(0, sender == null ? 0 : sender.spoolDamagedBytes());
        if (ledger.dropped != knownDrops) {
            knownDrops = ledger.dropped;
            for (Map.Entry<String, Long> entry : queue.dropped().entrySet()) {
                dropped.set(reason(entry.getKey()).slot(), entry.getValue());
            }
        }
        if (threads != null) {
            sampleThreads();
        }
    }

    private void sampleThreads() {
        long now = threads.getCurrentThreadCpuTime();
        long bytes = threads.getThreadAllocatedBytes(Thread.currentThread().getId());
        for (int i = 0; i < THREADS; i++) {
            long id = i == 0 ? senderId : i == 1 ? beans.threadId() : reads.threadId();
            if (id >= 0) {
                now += Math.max(0, threads.getThreadCpuTime(id));
                bytes += Math.max(0, threads.getThreadAllocatedBytes(id));
            }
        }
        cpu.set(0, now);
        allocated.set(0, bytes);
        lastPassNs = Math.max(0, now - lastCpu);
        lastCpu = now;
    }

    /**
     * CPU of the agent's threads from the beginning of the last pass to the beginning of this one.
     */
    long lastPassNs() {
        return lastPassNs;
    }

    private Template.Entity reason(String name) {
        Template.Entity entity = reasons.get(name);
        if (entity == null) {
            entity = new Template.Entity();
            dropped.set(drops.addEntity(entity, name), 0);
            reasons.put(name, entity);
        }
        return entity;
    }
}
