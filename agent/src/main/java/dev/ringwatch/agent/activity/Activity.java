package dev.ringwatch.agent.activity;

import dev.ringwatch.agent.cassandra.NodeBeans;
import dev.ringwatch.agent.cassandra.NodeSource;
import dev.ringwatch.agent.filter.Filters;
import dev.ringwatch.agent.frame.Kind;
import dev.ringwatch.agent.frame.Metric;
import dev.ringwatch.agent.frame.Model;
import dev.ringwatch.agent.frame.Template;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.function.BiFunction;
import java.util.function.Consumer;

/** All sources of this package, each in the turns that it needs. */
public final class Activity {
    private static final long MINUTE_NS = 60_000_000_000L;
    private static final long HISTORY_EVERY_NS = 15 * MINUTE_NS;
    /** When a repair has ended here: what it has reached is there by then. */
    private static final long AFTER_A_REPAIR_NS = MINUTE_NS / 12;
    /** A history that takes long to read is read so much more rarely. */
    private static final int REST_AFTER_HISTORY = 30;
    private static final long SNAPSHOTS_EVERY_NS = 10 * MINUTE_NS;
    /** Fewer tables are looked at more often, at the same cost by the minute. */
    private static final long REST_FOR_A_TABLE_NS = SNAPSHOTS_EVERY_NS / 1000;
    private static final long CERTIFICATES_EVERY_NS = 60 * MINUTE_NS;
    private static final int SOURCES = 7;

    private final NodeBeans beans;
    private final Kinds kinds;
    private final Compactions compactions;
    private final StreamSessions streams;
    private final Clients clients;
    private final RepairSessions repairs;
    private final RepairTables repairTables;
    private final Snapshots.Tables snapshotTables;
    private final Certificates.Uses certificateUses;
    private final Metric backups;
    /** Takes one job and refuses a second: that one is due again in the next pass. */
    private final ThreadPoolExecutor rarely;

    private long pass;
    private long errors;
    private boolean listens;
    private boolean sendsHistory;
    private long historyDue;
    private long snapshotsDue;
    private long certificatesDue;

    /** The thread's own; what it has found is handed over by what is volatile. */
    private final RepairHistory history = new RepairHistory();
    private final ParentRepairs parents = new ParentRepairs();
    private final Snapshots snapshots = new Snapshots(Snapshots.MAX_FILES);
    private final Certificates certificates;
    private volatile List<RepairHistory.Known> foundHistory;
    private volatile Map<String, Snapshots.Found> foundSnapshots;
    private volatile Map<String, Long> foundCertificates;
    private volatile long historyNotBefore;
    private volatile long snapshotsNotBefore;
    private volatile long rareErrors;
    private volatile long threadId = -1;

    /**
     * @param node its template
     * @param maxEntities of each type whose entities are tables, the others have bounds of their
     *     own
     * @param say takes a line about what cannot be read, seldom
     * @param threads makes the thread of what is read rarely
     */
    public Activity(NodeBeans beans, Model model, Template node, Filters filters, int maxEntities,
            Consumer<String> say, BiFunction<Runnable, String, Thread> threads) {
        this.beans = beans;
        kinds = new Kinds(model, filters);
        compactions = new Compactions(model, filters, kinds);
        streams = new StreamSessions(model, filters, kinds, !NodeSource.replaces().isEmpty());
        clients = new Clients(new Drivers(model, filters));
        repairs = new RepairSessions(model, filters, node, Replicated::tablesOf);
        repairTables = new RepairTables(model, filters, maxEntities);
        snapshotTables = new Snapshots.Tables(model, filters, maxEntities);
        certificateUses = new Certificates.Uses(model, filters);
        certificates = new Certificates(say);
        backups = node.add(Metric.scalar("cassandra_node_incremental_backups_enabled", Kind.GAUGE,
                "", 0));
        rarely = new ThreadPoolExecutor(1, 1, 1, TimeUnit.MINUTES, new SynchronousQueue<>(),
                work -> {
                    Thread thread = threads.apply(work, "ringwatch-agent-rare");
                    threadId = thread.getId();
                    return thread;
                });
        rarely.prestartAllCoreThreads();
        long now = System.nanoTime();
        historyDue = now;
        historyNotBefore = now;
        snapshotsDue = now + MINUTE_NS / 2;
        snapshotsNotBefore = now;
        certificatesDue = now;
    }

    /** @param slowTurn once a minute */
    public void sample(boolean slowTurn, int passesPerMinute) {
        pass++;
        if (!listens) {
            listens = true;
            beans.listen(repairs);
        }
        long nowMs = System.currentTimeMillis();
        long nanos = System.nanoTime();
        kinds.begin();
        for (int source = 0; source < SOURCES; source++) {
            try {
                sample(source, slowTurn, passesPerMinute, nowMs, nanos);
            } catch (Throwable otherVersion) { // the other sources are as true without this one
                errors++;
            }
        }
        kinds.end();
    }

    /** Holds nothing of Cassandra's, and is told nothing, until the next pass. */
    public void rest() {
        beans.unlisten(repairs);
        listens = false;
        repairs.clear();
        compactions.clear();
        streams.clear();
    }

    private void sample(int source, boolean slowTurn, int passesPerMinute, long nowMs, long nanos)
            throws ReflectiveOperationException {
        switch (source) {
            case 0:
                compactions.sample(nowMs, nanos);
                break;
            case 1:
                streams.sample(nowMs, nanos);
                break;
            case 2:
                clients.sample(pass, passesPerMinute);
                break;
            case 3:
                repairs.sample();
                break;
            case 4:
                sampleHistory(slowTurn, nanos);
                break;
            case 5:
                sampleSnapshots(slowTurn, nanos);
                break;
            default:
                sampleCertificates(nanos);
        }
    }

    private void sampleHistory(boolean slowTurn, long nanos) {
        if (slowTurn) {
            sendsHistory = beans.isFirstOfCluster();
            if (!sendsHistory) {
                repairTables.clear();
            }
        }
        if (repairs.someEnded()) {
            historyDue = Math.min(historyDue, nanos + AFTER_A_REPAIR_NS);
        }
        List<RepairHistory.Known> found = foundHistory;
        if (found != null && sendsHistory) {
            foundHistory = null;
            repairTables.show(found);
        }
        if (sendsHistory && nanos - historyDue >= 0 && nanos - historyNotBefore >= 0
                && begin(this::readHistory)) {
            historyDue = nanos + HISTORY_EVERY_NS;
        }
    }

    private void readHistory() throws Exception {
        long began = System.nanoTime();
        historyNotBefore = began + MINUTE_NS;
        history.tables(Replicated.all());
        try {
            if (!history.isEmpty() && beans.partitionsByMurmur3()) {
                parents.readInto(history);
            }
        } finally {
            foundHistory = history.known(System.currentTimeMillis() / 1000);
            long ended = System.nanoTime();
            historyNotBefore = ended
                    + Math.max(MINUTE_NS, REST_AFTER_HISTORY * (ended - began));
        }
    }

    private void sampleSnapshots(boolean slowTurn, long nanos) {
        if (slowTurn) {
            backups.set(0, beans.incrementalBackups() ? 1 : 0);
        }
        Map<String, Snapshots.Found> found = foundSnapshots;
        if (found != null) {
            foundSnapshots = null;
            snapshotTables.show(found);
        }
        if (nanos - snapshotsDue >= 0 && nanos - snapshotsNotBefore >= 0
                && begin(this::readSnapshots)) {
            snapshotsDue = nanos + MINUTE_NS;
        }
    }

    private void readSnapshots() {
        snapshotsNotBefore = System.nanoTime() + SNAPSHOTS_EVERY_NS;
        foundSnapshots = snapshots.read(beans.dataDirectories(), System.currentTimeMillis());
        snapshotsNotBefore = System.nanoTime()
                + Math.min(SNAPSHOTS_EVERY_NS, REST_FOR_A_TABLE_NS * snapshots.looked());
    }

    private void sampleCertificates(long nanos) {
        Map<String, Long> found = foundCertificates;
        if (found != null) {
            foundCertificates = null;
            certificateUses.show(found);
        }
        if (nanos - certificatesDue >= 0 && begin(this::readCertificates)) {
            certificatesDue = nanos + CERTIFICATES_EVERY_NS;
        }
    }

    private void readCertificates() throws ReflectiveOperationException {
        foundCertificates = certificates.read(Encryption.keystores());
    }

    private interface Job {
        void run() throws Exception;
    }

    /** False if the thread is busy. */
    private boolean begin(Job job) {
        try {
            rarely.execute(() -> {
                try {
                    job.run();
                } catch (Throwable failed) { // it is due again before long
                    rareErrors++; // only this thread writes it
                }
            });
            return true;
        } catch (RejectedExecutionException busy) {
            return false;
        }
    }

    /** Whose thread is the agent's, too. */
    public long threadId() {
        return threadId;
    }

    /** Reads that failed. */
    public long errors() {
        return errors + rareErrors + certificates.errors();
    }

    /** Tables that are not sent, since there are too many. */
    public long leftOut() {
        return repairTables.leftOut() + snapshotTables.leftOut();
    }
}
