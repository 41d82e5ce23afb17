package dev.ringwatch.agent.pull;

import dev.ringwatch.agent.beans.BeanProfile;
import dev.ringwatch.agent.beans.CollectdNames;
import dev.ringwatch.agent.frame.Model;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** Whose names the metrics are served under. Equal if they have one name. */
public abstract class Profile {
    /** METRICS.md. */
    public static final Profile RINGWATCH = new Profile("ringwatch") {
        @Override
        void add(Layout layout, Model model) {
            OurNames.add(layout, model);
        }
    };

    /**
     * Shipped configurations of the JMX exporter, each a file of that name in the directory
     * profile.
     */
    private static final List<String> SHIPPED = List.of("jmx_exporter", "grafana_mixin",
            "dashboard_5408", "criteo_exporter", "opentelemetry");
    /**
     * Of Instaclustr's cassandra-exporter 0.9, and what that was called here before there were
     * others'.
     */
    private static final String INSTACLUSTR = "instaclustr_exporter";
    private static final String OLD_INSTACLUSTR = "cassandra_exporter";
    private static final String CRITEO = "criteo_exporter";
    /** DataStax's metric collector, whose dashboards K8ssandra has, too. */
    private static final String MCAC = "mcac";
    /** The collector in K8ssandra's management API. */
    private static final String MANAGEMENT_API = "management_api";
    private static final int MAX_BYTES = 1 << 20;

    private final String name;

    Profile(String name) {
        this.name = name;
    }

    /** A profile whose names are made of beans by rules. */
    private static class OfBeans extends Profile {
        private final BeanProfile beans;

        OfBeans(String name, BeanProfile.Kind kind, BeanProfile.Loader rules) {
            super(name);
            beans = new BeanProfile(name, kind, rules);
        }

        @Override
        public BeanProfile beans() {
            return beans;
        }

        @Override
        String shape(Model model) {
            return beans.output().shape();
        }

        @Override
        void add(Layout layout, Model model) {
            List<Label> all = toString().startsWith(CRITEO)
                    ? List.of(Label.constant("cluster", layout.cluster),
                    Label.constant("datacenter", model.datacenter())) : List.of();
            beans.output().families((family, type, help, template, metric) -> {
                List<Label> labels = new ArrayList<>(all);
                labels.addAll(OurNames.labels(template));
                layout.add(family, Family.Type.valueOf(type), "", escaped(help, family),
                        new Family.Source(template, metric, labels, 0, 1));
            });
        }

        private static String escaped(String help, String name) {
            return help.isEmpty() ? name : help.replace("\\", "\\\\");
        }
    }

    /** Names of its own for what frames have, and rules for the rest. */
    private static final class Instaclustr extends Profile {
        private final BeanProfile beans;

        Instaclustr(String name) {
            super(name);
            beans = new BeanProfile(name, BeanProfile.Kind.RULES, say -> {
                if (name.equals(OLD_INSTACLUSTR)) {
                    say.accept("this is Instaclustr's cassandra-exporter: call it " + INSTACLUSTR
                            + ", since criteo has a cassandra_exporter, too");
                }
                return resource(INSTACLUSTR + ".yaml");
            });
        }

        @Override
        public BeanProfile beans() {
            return beans;
        }

        @Override
        String shape(Model model) {
            return beans.output().shape();
        }

        @Override
        void add(Layout layout, Model model) {
            ExporterNames.add(layout, model);
            List<Label> node = ExporterNames.node(layout, model);
            beans.output().families((family, type, help, template, metric) -> {
                List<Label> labels = new ArrayList<>(OurNames.labels(template));
                labels.addAll(node);
                layout.add(family, Family.Type.valueOf(type), "",
                        "What Instaclustr's cassandra-exporter calls " + family + ".",
                        new Family.Source(template, metric, labels, 0, 1));
            });
        }
    }

    /** Names of its own for what frames have, and what collectd reads of the machine besides. */
    private static final class Mcac extends Profile {
        private final CollectdNames collectd = new CollectdNames(MCAC);

        Mcac() {
            super(MCAC);
        }

        @Override
        public CollectdNames collectd() {
            return collectd;
        }

        @Override
        String shape(Model model) {
            return collectd.output().shape();
        }

        @Override
        void add(Layout layout, Model model) {
            McacNames.add(layout, model);
            List<Label> node = McacNames.node(layout, model);
            collectd.output().families((family, type, help, template, metric) -> {
                List<Label> labels = new ArrayList<>(OurNames.labels(template));
                labels.addAll(node);
                layout.add(family, Family.Type.valueOf(type), "", help,
                        new Family.Source(template, metric, labels, 0, 1));
            });
        }
    }

    /** Names of its own for what frames have. */
    private static final class ManagementApi extends Profile {
        ManagementApi() {
            super(MANAGEMENT_API);
        }

        @Override
        String shape(Model model) {
            return ManagementNames.shape(model);
        }

        @Override
        void add(Layout layout, Model model) {
            ManagementNames.add(layout, model);
        }
    }

    /** Adds the families of what the model has. */
    abstract void add(Layout layout, Model model);

    /** Changes when there are other families to add than the model's say. */
    String shape(Model model) {
        return "";
    }

    /** Whether its rules are a file of the operator's. */
    public boolean isOfFile() {
        return false;
    }

    /** What is to be read for it besides the model, or null. */
    public BeanProfile beans() {
        return null;
    }

    /** What is to be read of the machine for it, or null. */
    public CollectdNames collectd() {
        return null;
    }

    /**
     * As it is written in the configuration: a new one for each call if it keeps anything. Null if
     * there is no such.
     */
    public static Profile named(String name) {
        if (SHIPPED.contains(name)) {
            return new OfBeans(name, kind(name), say -> resource(name + ".yaml"));
        }
        if (name.equals(INSTACLUSTR) || name.equals(OLD_INSTACLUSTR)) {
            return new Instaclustr(name);
        }
        if (name.equals(MCAC)) {
            return new Mcac();
        }
        if (name.equals(MANAGEMENT_API)) {
            return new ManagementApi();
        }
        return name.equals(RINGWATCH.name) ? RINGWATCH : null;
    }

    /**
     * A profile by the rules of a file, or null if that kind takes none. The file is read later.
     *
     * @param number of those of its kind: the second one is called {@code jmx_exporter_2}
     */
    public static Profile ofFile(String kind, Path file, int number) {
        if (!kind.equals("jmx_exporter") && !kind.equals(CRITEO)) {
            return null;
        }
        return new OfBeans(number == 1 ? kind : kind + '_' + number, kind(kind),
                say -> rules(file)) {
            @Override
            public boolean isOfFile() {
                return true;
            }
        };
    }

    private static BeanProfile.Kind kind(String name) {
        return name.equals(CRITEO) ? BeanProfile.Kind.CRITEO
                : name.equals("opentelemetry") ? BeanProfile.Kind.RULES
                : BeanProfile.Kind.JMX_EXPORTER;
    }

    public static List<String> names() {
        List<String> names = new ArrayList<>(List.of(RINGWATCH.name));
        names.addAll(SHIPPED);
        names.add(INSTACLUSTR);
        names.add(MCAC);
        names.add(MANAGEMENT_API);
        return names;
    }

    /** A file of the repository's directory profile, which the jar has beside this class. */
    static String resource(String name) {
        try (InputStream in = Profile.class.getResourceAsStream(name)) {
            return new String(in.readAllBytes(), StandardCharsets.UTF_8);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static String rules(Path file) throws IOException {
        if (!Files.isRegularFile(file) || !Files.isReadable(file)) {
            throw new IllegalArgumentException(file
                    + " cannot be read: create it readable for the user of this process");
        }
        try (InputStream in = Files.newInputStream(file)) {
            byte[] bytes = in.readNBytes(MAX_BYTES + 1);
            if (bytes.length > MAX_BYTES) {
                throw new IllegalArgumentException(file + " is larger than " + MAX_BYTES
                        + " bytes");
            }
            return new String(bytes, StandardCharsets.UTF_8);
        }
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof Profile && name.equals(((Profile) other).name);
    }

    @Override
    public int hashCode() {
        return name.hashCode();
    }

    @Override
    public String toString() {
        return name;
    }
}
