package dev.ringwatch.agent;

import dev.ringwatch.agent.pull.Profile;
import java.io.PrintStream;
import java.net.URL;
import java.nio.charset.StandardCharsets;

/**
 * {@code java -cp ringwatch-agent.jar dev.ringwatch.agent.Check [--secrets] agent.yaml}: reads a
 * configuration as the agent does and prints what it understood, a name, a tab and a value on each
 * line, or the line {@code error}, and then exits with 1. For {@code ringwatch doctor}, so that
 * there is one parser. The key is printed only with {@code --secrets}. Rules that an operator wrote
 * are compiled if Cassandra's SnakeYAML is on the class path, too.
 */
public final class Check {
    private Check() {}

    public static void main(String[] arguments) {
        PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        boolean secrets = arguments.length == 2 && arguments[0].equals("--secrets");
        if (arguments.length != (secrets ? 2 : 1)) {
            line(out, "error", "usage: Check [--secrets] agent.yaml");
            System.exit(2);
        }
        try {
            print(out, Config.load(arguments[arguments.length - 1]), secrets);
        } catch (Config.Invalid e) {
            line(out, "error", e.getMessage());
            System.exit(1);
        }
    }

    private static void print(PrintStream out, Config config, boolean secrets) {
        line(out, "version", Agent.version());
        for (URL url : config.urls) {
            line(out, "url", url);
        }
        line(out, "key", config.key.isEmpty() ? null : secrets ? config.key : "<redacted>");
        line(out, "key_file", config.keyFile);
        line(out, "ca_file", config.caFile);
        line(out, "cert_file", config.certFile);
        line(out, "cert_key_file", config.certKeyFile);
        line(out, "spool", config.spool);
        line(out, "spool_bytes", config.spoolBytes);
        line(out, "max_entities", config.maxEntities);
        line(out, "interval_ms", config.intervalMs);
        line(out, "queue_bytes", config.queueBytes);
        line(out, "cluster", config.cluster);
        line(out, "paused", config.paused ? true : null);
        line(out, "listen", config.listenHost == null ? null
                : (config.listenHost.indexOf(':') < 0 ? config.listenHost
                        : "[" + config.listenHost + "]") + ":" + config.listenPort);
        for (Profile profile : config.profiles) {
            line(out, profile.isOfFile() ? "profile_of_file" : "profile", profile);
            if (profile.isOfFile()) {
                rules(out, profile);
            }
        }
    }

    /** What the agent would say of a profile's rules, and whether it would have any. */
    private static void rules(PrintStream out, Profile profile) {
        try {
            profile.beans().check(said -> line(out, "rules_ignore", profile + ": " + said));
            line(out, "rules_read", profile);
        } catch (NoClassDefFoundError e) { // SnakeYAML is Cassandra's, and not in the jar
            line(out, "rules_unread", profile);
        } catch (Exception | LinkageError e) {
            line(out, "rules_error", profile + ": "
                    + (e instanceof IllegalArgumentException ? e.getMessage() : e.toString()));
        }
    }

    private static void line(PrintStream out, String name, Object value) {
        if (value != null) {
            out.println(name + "\t" + value.toString().replaceAll("\\p{Cntrl}", " "));
        }
    }
}
