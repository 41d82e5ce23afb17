package dev.ringwatch.agent.events;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.LoggerContext;
import dev.ringwatch.agent.frame.Event.Severity;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.slf4j.LoggerFactory;

/** The appender in a real logback: what it takes, what it costs, and that it leaves. */
class LogSourceTest {
    private final LoggerContext context = (LoggerContext) LoggerFactory.getILoggerFactory();
    private final Logger root = context.getLogger(Logger.ROOT_LOGGER_NAME);
    private final Logger some = context.getLogger("org.apache.cassandra.Some");
    private final Logger slow =
            context.getLogger("org.apache.cassandra.db.monitoring.MonitoringTask");
    private final Inbox inbox = new Inbox();
    private final List<String> said = new ArrayList<>();
    private final LogSource source = new LogSource(inbox, said::add);
    private final AtomicInteger formatted = new AtomicInteger();

    /** An argument that counts how often it is made a text. */
    private final Object counted = new Object() {
        @Override
        public String toString() {
            formatted.incrementAndGet();
            return "counted";
        }
    };

    @BeforeEach
    void open() {
        root.detachAndStopAllAppenders(); // a console would make texts, too
        root.setLevel(Level.DEBUG);
        some.setAdditive(true);
        source.open();
    }

    @AfterEach
    void close() {
        source.close();
        root.setLevel(Level.WARN);
    }

    private List<String> seen() {
        List<String> all = new ArrayList<>();
        inbox.drain(seen -> all.add(seen.kind.word + " " + seen.severity.word + " " + seen.text
                + (seen.thrown.isEmpty() ? "" : " " + seen.thrown)));
        return all;
    }

    @Test
    void itTakesWhatMattersAndMakesNoTextOfTheRest() {
        for (int i = 0; i < 1_000; i++) {
            some.info("nothing {}", counted);
            some.debug("nothing {}", counted);
            context.getLogger("org.apache.cassandra.db.ReadCommand").info("nothing {}", counted);
        }
        assertEquals(0, formatted.get());
        some.warn("careful {}", 5);
        some.error("broken", new IllegalStateException("why"));
        slow.debug("2 operations were slow");
        slow.trace("not that");
        context.getLogger("org.apache.cassandra.service.GCInspector").info("G1 GC in 5ms. ");
        assertEquals(List.of("warning warning careful 5",
                "error error broken java.lang.IllegalStateException: why",
                "slow_query info 2 operations were slow", "gc_pause info G1 GC in 5ms. "), seen());
        assertTrue(said.isEmpty());
    }

    @Test
    void aFloodChangesNothingButACounter() {
        for (int i = 0; i < 10_000; i++) {
            some.warn("flood {}", counted);
        }
        assertEquals(Inbox.MAX, formatted.get());
        assertEquals(Inbox.MAX, seen().size());
        assertEquals(10_000 - Inbox.MAX, inbox.takeRefused(EventKind.WARNING, Severity.WARNING));
        assertEquals(0, inbox.takeRefused(EventKind.WARNING, Severity.WARNING));
        some.warn("and again there is room");
        assertEquals(1, seen().size());
        String huge = "x".repeat(1_000_000);
        for (int i = 0; i < 100; i++) {
            some.warn(huge);
        }
        int chars = 0;
        for (String text : seen()) {
            chars += text.length();
        }
        assertTrue(chars <= Inbox.MAX_CHARS + Seen.MAX_CHARS + 100_000, chars + " characters");
    }

    @Test
    void whoLogsWhileItIsLoggedStopsNothing() {
        Object logs = new Object() {
            @Override
            public String toString() {
                some.warn("inside {}", this);
                return "logs";
            }
        };
        some.warn("outside {}", logs);
        Object throwing = new Object() {
            @Override
            public String toString() {
                throw new StackOverflowError();
            }
        };
        some.warn("throws {}", throwing);
        some.warn("after");
        List<String> seen = seen();
        assertTrue(seen.contains("warning warning outside logs"), seen.toString());
        assertTrue(seen.contains("warning warning after"), seen.toString());
        assertFalse(seen.toString().contains("inside"), seen.toString());
    }

    @Test
    void itIsNotAboutTheAgent() throws InterruptedException {
        context.getLogger("dev.ringwatch.agent").warn("ringwatch-agent: unreachable");
        Thread own = new Thread(() -> some.warn("while the agent reads"), "ringwatch-agent-x");
        own.start();
        own.join();
        assertEquals(List.of(), seen());
    }

    @Test
    void itIsThereAgainAfterLogbackReadItsFile() {
        context.reset();
        root.setLevel(Level.DEBUG);
        some.warn("nobody sees it");
        source.look(false);
        some.warn("seen");
        assertEquals(List.of("warning warning seen"), seen());
        Logger alone = context.getLogger("org.apache.cassandra.Alone");
        alone.setAdditive(false);
        source.look(true);
        alone.warn("alone");
        assertEquals(List.of("warning warning alone"), seen());
        source.close();
        assertFalse(alone.iteratorForAppenders().hasNext());
        alone.setAdditive(true);
    }

    @Test
    void itLeavesNothingBehind() {
        Level before = slow.getLevel();
        source.close();
        some.warn("unseen");
        source.look(true);
        some.warn("unseen");
        assertEquals(List.of(), seen());
        for (Logger logger : context.getLoggerList()) {
            assertFalse(logger.iteratorForAppenders().hasNext(), logger.getName());
        }
        assertEquals(before, slow.getLevel());
        source.open();
        some.warn("seen");
        some.warn("twice would be wrong");
        assertEquals(2, seen().size());
    }
}
