package dev.ringwatch.agent.events;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Predicate;
import org.junit.jupiter.api.Test;

/** What users store and keep secret does not leave the node. */
class RedactionTest {
    private static final Predicate<String> NAMES =
            Set.of("shop", "orders", "k", "c", "v", "Name", "tags", "at")::contains;

    private static String cql(String statement) {
        return Redaction.statement(statement, NAMES);
    }

    @Test
    void statementsKeepTheirShape() {
        assertEquals("SELECT * FROM shop.orders WHERE k = ? AND c > ? LIMIT ? ALLOW FILTERING",
                cql("SELECT * FROM shop.orders WHERE k = 'x' AND c > 5 LIMIT 100 ALLOW FILTERING"));
        assertEquals("SELECT k, v FROM shop.orders WHERE k IN (?)",
                cql("SELECT k, v FROM shop.orders WHERE k IN ('a', 'b', 'it''s', $$d$$)"));
        assertEquals("SELECT k, v FROM shop.orders WHERE k IN (?)",
                cql("SELECT k, v FROM shop.orders WHERE k IN (1, 2)"));
        assertEquals("SELECT \"Name\" FROM shop.orders WHERE token(k) > ?",
                cql("SELECT \"Name\" FROM shop.orders WHERE token(k) > -9223372036854775808"));
        assertEquals("INSERT INTO shop.orders (k, tags) VALUES (?) USING TTL ?",
                cql("INSERT INTO shop.orders (k, tags) VALUES (0xcafe, {'a': 1, 'b': [2, 3]}) "
                        + "USING TTL 60"));
        assertEquals("UPDATE shop.orders SET v = v + ? WHERE k = ? IF EXISTS",
                cql("UPDATE shop.orders SET v = v + {'x', 'y'} WHERE "
                        + "k = 6f9619ff-8b86-d011-b42d-00c04fc964ff IF EXISTS"));
        assertEquals("SELECT v FROM shop.orders WHERE k = ? AND v = ?",
                cql("SELECT v FROM shop.orders WHERE k = ? AND v = :name"));
        assertEquals("INSERT INTO shop.orders JSON ?",
                cql("INSERT INTO shop.orders JSON '{\"k\": \"secret\", \"v\": 5}'"));
        assertEquals("SELECT v FROM shop.orders WHERE k = ? AND c = ?",
                cql("SELECT v FROM shop.orders WHERE k = alice@example.com AND c = 1.5e10"));
    }

    @Test
    void listsAndCollectionsOfAnyContentReadTheSame() {
        for (String values : List.of("(1)", "(1, 2,3 , 4)", "('a', {}, [ ], {1: [2, {3, 4}]})",
                "(:a, :b)", "({'a': :b})", "([1, [2, [3, [4]]]], -- all\n 5)")) {
            assertEquals("INSERT INTO shop.orders (k) VALUES (?)",
                    cql("INSERT INTO shop.orders (k) VALUES " + values), values);
        }
        assertEquals("SELECT v FROM shop.orders WHERE (k, c) IN ((?))",
                cql("SELECT v FROM shop.orders WHERE (k, c) IN ((1, 2), (3, 4),(5, 6))"));
        assertEquals("UPDATE shop.orders SET v = ?",
                cql("UPDATE shop.orders SET v = [1, 2, {3, [4, {5, LIMIT"));
    }

    /** Cassandra's and the agent's threads may have little stack. */
    @Test
    void longAndDeepStatementsAreRead() throws InterruptedException {
        Set<String> redacted = ConcurrentHashMap.newKeySet();
        Thread small = new Thread(null, () -> {
            redacted.add(cql("SELECT v FROM shop.orders WHERE k IN ("
                    + "5, ".repeat(2_000) + "5)"));
            redacted.add(cql("SELECT v FROM shop.orders WHERE k IN (" + "(5, 6), ".repeat(900)
                    + "(5, 6))"));
            redacted.add(cql("SELECT v FROM shop.orders ORDER BY v ANN OF [" + "0.125, ".repeat(768)
                    + "1]"));
            redacted.add(cql("{1,".repeat(2_700)));
        }, "small", 64 << 10);
        small.start();
        small.join();
        assertEquals(Set.of("SELECT v FROM shop.orders WHERE k IN (?)",
                "SELECT v FROM shop.orders WHERE k IN ((?))",
                "SELECT v FROM shop.orders ORDER BY v ANN OF ?", "?"), redacted);
    }

    /** What a pass can have before it, and a pass holds the model. By the thread's own time. */
    @Test
    void aPassIsOverSoon() {
        for (String part : List.of("w", "token", "passwd", "key", "'a", "$$", "{", "DELETE ")) {
            String line = part.repeat(2_048 / part.length());
            within(5_000, part, () -> {
                for (int i = 0; i < Inbox.MAX; i++) {
                    Redaction.text(line);
                }
            });
        }
        for (String part : List.of("{?,", "(?),", "?,", "[{?:", "?.", "{} ")) {
            String statement = part.repeat(8_192 / part.length());
            within(5_000, part, () -> {
                for (int i = 0; i < 64; i++) {
                    cql(statement);
                }
            });
        }
    }

    private static void within(long ms, String what, Runnable work) {
        ThreadMXBean threads = ManagementFactory.getThreadMXBean();
        long began = threads.getCurrentThreadCpuTime();
        work.run();
        long took = (threads.getCurrentThreadCpuTime() - began) / 1_000_000;
        assertTrue(took < ms, what + " took " + took + " ms");
    }

    /** In each, what must not be there is a word that holds LEAK. */
    private static final List<String> HOSTILE = List.of(
            "SELECT * FROM shop.orders WHERE k = 'LEAK'",
            "SELECT * FROM shop.orders WHERE k = 'it''s LEAK'",
            "SELECT * FROM shop.orders WHERE k = '''LEAK'''",
            "SELECT * FROM shop.orders WHERE k = $$LEAK 'and' LEAK$$",
            "SELECT * FROM shop.orders WHERE k = $$ LEAK",
            "SELECT * FROM shop.orders WHERE k = 'LEAK LEAK FROM LEAK",
            "SELECT * FROM shop.orders WHERE k = \"LEAK\"",
            "SELECT * FROM shop.orders WHERE k = \"LE\"\"LEAK\"",
            "SELECT * FROM shop.orders WHERE k = \u2018LEAK\u2019",
            "SELECT * FROM shop.orders WHERE k = \u201cLEAK LEAK\u201d",
            "SELECT * FROM shop.orders WHERE k = \u00abLEAK\u00bb",
            "SELECT * FROM shop.orders WHERE k = \uff07LEAK\uff07",
            "SELECT * FROM shop.orders WHERE k = LEAK",
            "SELECT * FROM shop.orders WHERE k = LEAK:LEAK AND c = LEAK",
            "SELECT * FROM shop.orders WHERE k = LEAK and LEAK = LEAK",
            "SELECT * FROM shop.orders WHERE (k, c) = (LEAK, LEAK) ORDER BY LEAK",
            "SELECT * FROM shop.orders WHERE k = shop.LEAK.orders",
            "SELECT * FROM shop.orders WHERE k = LEAK-k-LEAK",
            "SELECT * FROM shop.orders /* LEAK */ WHERE k = 5 -- LEAK",
            "SELECT * FROM shop.orders /* LEAK",
            "SELECT * FROM shop.orders // LEAK\nWHERE k = 'LEAK'",
            "SELECT * FROM LEAK.LEAK WHERE LEAK = 0xLEAK",
            "SELECT * FROM shop.orders WHERE k IN ('LEAK', 'LEAK', LEAK",
            "INSERT INTO shop.orders (k, tags) VALUES ('LEAK', {'LEAK': 'LEAK', LEAK: [LEAK, 'LE",
            "INSERT INTO shop.orders JSON '{\"k\": \"LEAK\", \"v\": {\"LEAK\": 5}}'",
            "INSERT INTO shop.orders (k, LEAK) VALUES (?, ?)",
            "CREATE ROLE LEAK WITH PASSWORD = 'LEAK' AND LOGIN = true",
            "CREATE USER LEAK WITH PASSWORD 'LEAK' NOSUPERUSER",
            "CREATE ROLE r WITH HASHED PASSWORD = '$2a$10$LEAKLEAKLEAK'",
            "CREATE ROLE r WITH OPTIONS = {'LEAK': 'LEAK'}",
            "ALTER ROLE LEAK WITH PASSWORD = $$LEAK$$",
            "ALTER USER LEAK WITH PASSWORD 'LEAK",
            "alter role r with password=LEAK",
            "GRANT SELECT ON shop.orders TO LEAK",
            "BEGIN BATCH INSERT INTO shop.orders (k) VALUES ('LEAK'); UPDATE shop.orders SET "
                    + "v = 'LEAK' WHERE k = LEAK; APPLY BATCH",
            "DELETE tags['LEAK'] FROM shop.orders WHERE k = 'LEAK'",
            "SELECT * FROM shop.orders WHERE k = 'a\\' OR LEAK = 'LEAK'",
            "SELECT * FROM shop.orders WHERE k = '\u0000LEAK\n LEAK'",
            "SELECT * FROM shop.orders WHERE k = \ud83d\ude00LEAK\ud83d",
            "'LEAK' AND c = LEAK",
            "LEAK' AND v = 'LEAK'",
            "");

    @Test
    void noLiteralIsInAStatement() {
        for (String statement : HOSTILE) {
            String redacted = cql(statement);
            assertFalse(redacted.contains("LEAK"), statement + " became " + redacted);
            for (int cut = 0; cut < statement.length(); cut++) { // as Cassandra cuts them
                redacted = cql(statement.substring(0, cut));
                assertFalse(redacted.contains("LEAK"), statement + " became " + redacted);
            }
        }
    }

    @Test
    void noLiteralOfAStatementIsInAnyOtherText() {
        for (String statement : HOSTILE.subList(0, HOSTILE.size() - 3)) {
            for (String around : List.of("%s", "Error executing query %s", "failed: [%s]",
                    "The statement: [%s] could not be parsed.", "Slow: <%s>, 5 msec")) {
                String text = String.format(around, statement);
                String redacted = Redaction.text(text);
                assertFalse(redacted.contains("LEAK"), text + " became " + redacted);
            }
        }
    }

    @Test
    void noSecretIsInAText() {
        for (String text : List.of(
                "login failed, password = 'LEAK'", "password=LEAK", "Password: LEAK",
                "the password is LEAK", "keystore_password LEAK", "db.passwd=LEAK;x=1",
                "secret LEAK", "client_secret:LEAK", "api_key=LEAK", "access-key: LEAK",
                "auth_token=LEAK", "Authorization: Bearer LEAK", "Basic LEAK==",
                "cannot reach https://user:LEAK@host:9042/x", "LEAK:LEAK@host is gone",
                "mail to LEAK@example.com bounced", "jdbc:x://LEAK@h/db",
                "Unable to make int from 'LEAK'", "Unable to make int from \"LEAK\"",
                "For input string: \"LEAK", "For input string: 'LEAK it''s LEAK",
                "not a date: \u201cLEAK\u201d", "value $$LEAK$$", "value $$LEAK",
                "Row at key LEAK is unreadable", "for key: LEAK, LEAK", "partition key (LEAK, 5)",
                "read repair mutation for table t, key LEAK LEAK, node n",
                "DecoratedKey(-5, LEAK) != DecoratedKey(6, LEAK)", "Mutation(keyspace='a', LEAK)",
                "row [v=LEAK]", "literal (LEAK) for k of type int",
                "Invalid STRING constant (LEAK) for k", "{k=LEAK, v=LEAK}", "map {LEAK: [LEAK",
                "value: LEAK", "Invalid value LEAK for column", "the value is LEAK LEAK",
                "values LEAK, LEAK and LEAK", "a constant LEAK", "password LEAK LEAK",
                "pwd=LEAK LEAK LEAK", "passwords,LEAK", "a client_secret is LEAK LEAK",
                "expected 8 bytes got LEAK", "expected 8 bytes but was LEAK LEAK",
                "token: Bearer LEAK", "token Bearer LEAK", "its token is LEAK LEAK",
                "Failed x'LEAK' y", "Failed x'LEAK LEAK", "Failed 5'LEAK' y", "Failed x's LEAK' y",
                "Failed x't key LEAK' y", "Failed x's LEAK SELECT v FROM t' y", "O'LEAK")) {
            String redacted = Redaction.text(text);
            assertFalse(redacted.contains("LEAK"), text + " became " + redacted);
        }
        assertEquals("Nodes a and b have the same token ? in their ring",
                Redaction.text("Nodes a and b have the same token -55 in their ring"));
        for (String id : List.of("6f9619ff-8b86-d011-b42d-00c04fc964ff", "0xCAFEBABE",
                "1b255f4def2540a60000000000000005")) {
            assertFalse(Redaction.text("of " + id + " it").contains(id), id);
        }
    }

    @Test
    void otherTextsAreReadAsTheyWere() {
        for (String text : List.of(
                "Aggregation query used without partition key".substring(0, 30),
                "Not marking nodes down due to local pause of 6085643435ns > 5000000000ns",
                "Cassandra can't start because the node's clock is 5 s behind",
                "10.0.0.7:7000 has 12 dropped hints, because node is down past configured window",
                "insufficient space to compact all requested files. 512.5MiB required",
                "Failed to delete /var/lib/cassandra/data/shop/orders/nb-1-big-Data.db",
                "We've seen that it's the node's clock, so don't start",
                "Unable to lock JVM memory (ENOMEM)")) {
            assertEquals(text, Redaction.text(text));
        }
    }
}
