package dev.ringwatch.agent.events;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.LoggerContext;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.classic.spi.IThrowableProxy;
import ch.qos.logback.core.UnsynchronizedAppenderBase;
import dev.ringwatch.agent.frame.Event.Severity;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import org.slf4j.ILoggerFactory;
import org.slf4j.LoggerFactory;

/**
 * Cassandra's log, through an appender that is added while it runs. No logger's level is touched:
 * what Cassandra does not log is not seen. Cassandra writes the statements of slow queries at
 * DEBUG, which its own logback.xml has on for {@code org.apache.cassandra}; where that is off,
 * there are no events of slow queries.
 *
 * <p>Logback takes all appenders away when it reads a changed file, so each pass looks whether ours
 * is there.
 */
public final class LogSource implements EventSource {
    private static final String CASSANDRA = "org.apache.cassandra.";

    private final Inbox inbox;
    private final Consumer<String> say;
    private final Appender appender = new Appender();
    private final List<Logger> attached = new ArrayList<>();
    private LoggerContext context;
    private boolean open;

    /** @param say gets one line if this source stays off */
    public LogSource(Inbox inbox, Consumer<String> say) {
        this.inbox = inbox;
        this.say = say;
    }

    @Override
    public void open() {
        ILoggerFactory factory = LoggerFactory.getILoggerFactory();
        if (!(factory instanceof LoggerContext)) {
            say.accept("Cassandra logs through " + factory.getClass().getName()
                    + " and not through logback, so there are no events of what it logs");
            return;
        }
        context = (LoggerContext) factory;
        appender.setContext(context);
        appender.setName("ringwatch-agent");
        open = true;
        attach(true);
    }

    @Override
    public void look(boolean slowTurn) {
        if (open) {
            attach(slowTurn);
        }
    }

    /** To the root, and to those that do not hand on what they log. */
    private void attach(boolean all) {
        Logger root = context.getLogger(Logger.ROOT_LOGGER_NAME);
        boolean gone = !root.isAttached(appender);
        if (gone) {
            attached.clear();
            appender.start();
            attach(root);
        }
        if (gone || all) {
            for (Logger logger : context.getLoggerList()) {
                if (!logger.isAdditive() && !logger.isAttached(appender)
                        && (logger.getName() + ".").startsWith(CASSANDRA)) {
                    attach(logger);
                }
            }
        }
    }

    private void attach(Logger logger) {
        logger.addAppender(appender);
        attached.add(logger);
    }

    @Override
    public void close() {
        open = false;
        for (Logger logger : attached) {
            logger.detachAppender(appender);
        }
        attached.clear();
        appender.stop();
    }

    /** What is taken below WARN, by logger: the level it has at least, and what it is about. */
    private static final class Taken {
        final EventKind kind;
        final int level;

        Taken(EventKind kind, Level level) {
            this.kind = kind;
            this.level = level.toInt();
        }
    }

    private static final Map<String, Taken> TAKEN = new HashMap<>();

    private static void take(EventKind kind, Level level, String... loggers) {
        for (String logger : loggers) {
            TAKEN.put(logger, new Taken(kind, level));
        }
    }

    static {
        take(EventKind.SLOW_QUERY, Level.DEBUG, CASSANDRA + "db.monitoring.MonitoringTask",
                "slow_queries");
        take(EventKind.LARGE_PARTITION, Level.WARN,
                CASSANDRA + "io.sstable.format.big.BigTableWriter",
                CASSANDRA + "db.guardrails.Guardrail");
        take(EventKind.TOMBSTONES, Level.WARN, CASSANDRA + "db.ReadCommand");
        take(EventKind.BATCH, Level.WARN, CASSANDRA + "cql3.statements.BatchStatement");
        take(EventKind.GC_PAUSE, Level.INFO, CASSANDRA + "service.GCInspector");
        take(EventKind.DROPPED, Level.INFO, CASSANDRA + "metrics.MessagingMetrics");
        take(EventKind.REPAIR, Level.INFO, CASSANDRA + "repair.RepairRunnable",
                CASSANDRA + "repair.RepairCoordinator");
        take(EventKind.STOP, Level.INFO, CASSANDRA + "service.StorageService");
    }

    /**
     * On the thread of whoever logs. It looks at level and name, and formats nothing that is not
     * taken or finds no room; it waits for nothing, throws nothing and logs nothing. What the
     * agent's own threads cause is none of the node's events.
     */
    private final class Appender extends UnsynchronizedAppenderBase<ILoggingEvent> {
        private final ThreadLocal<Boolean> busy = new ThreadLocal<>();

        @Override
        public void doAppend(ILoggingEvent event) {
            int level = event.getLevel().toInt();
            Taken taken = TAKEN.get(event.getLoggerName());
            if (level < (taken == null ? Level.WARN_INT : taken.level) || !isStarted()) {
                return;
            }
            if (busy.get() != null || Thread.currentThread().getName().startsWith("ringwatch-")) {
                return; // formatting what it was given has logged
            }
            busy.set(Boolean.TRUE);
            try {
                append(event, taken, level);
            } catch (Throwable theirs) { // of an argument's toString()
                return;
            } finally {
                busy.remove();
            }
        }

        private void append(ILoggingEvent event, Taken taken, int level) {
            Severity severity = level >= Level.ERROR_INT ? Severity.ERROR
                    : level >= Level.WARN_INT ? Severity.WARNING : Severity.INFO;
            EventKind kind = taken != null ? taken.kind
                    : severity == Severity.ERROR ? EventKind.ERROR : EventKind.WARNING;
            if (event.getLoggerName().startsWith("dev.ringwatch.")
                    || !inbox.hasRoomForLine(kind, severity)) {
                return;
            }
            IThrowableProxy thrown = event.getThrowableProxy();
            inbox.add(Seen.logLine(event.getTimeStamp(), kind, severity,
                    event.getFormattedMessage(),
                    thrown == null ? "" : thrown.getClassName() + ": " + thrown.getMessage()));
        }

        @Override
        protected void append(ILoggingEvent event) {
            doAppend(event);
        }
    }
}
