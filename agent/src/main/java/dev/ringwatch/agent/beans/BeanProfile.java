package dev.ringwatch.agent.beans;

import java.util.function.Consumer;

/** A profile whose names are made of beans: how it names them, and what has been named. */
public final class BeanProfile {
    /** Reads what the profile's rules are; may take long, and may find them bad. */
    public interface Loader {
        /**
         * @param say is told what is ignored
         * @throws Exception with what is wrong, in words
         */
        String load(Consumer<String> say) throws Exception;
    }

    /** What the rules are written for. */
    public enum Kind {
        /** Rules, with what the JMX exporter says of itself and the JVM. */
        JMX_EXPORTER,
        /** The same rules alone. */
        RULES,
        /** A configuration of criteo's cassandra_exporter. */
        CRITEO
    }

    final String name;
    final Kind kind;
    final Loader loader;
    final Output output;
    /** Null until the rules are read, or if they are bad. */
    Namer namer;
    private Consumer<String> say;
    private volatile boolean failed;

    public BeanProfile(String name, Kind kind, Loader loader) {
        this.name = name;
        this.kind = kind;
        this.loader = loader;
        this.output = new Output(name, kind != Kind.CRITEO);
    }

    public Output output() {
        return output;
    }

    /**
     * What the profile calls an attribute, or null; also null if a rule cannot name it, which is
     * said once.
     *
     * @param value what the exporter would look at
     */
    Named name(Attribute attribute, Object value) {
        try {
            return namer.name(attribute, value);
        } catch (Namer.Unusable e) {
            if (!failed) {
                failed = true;
                say.accept(e.getMessage() + "; it is left out, like others that reach such a rule;"
                        + " the JMX exporter ends its scrape there");
            }
            return null;
        }
    }

    /** Whether a scrape of the exporter's would fail. */
    boolean hasFailed() {
        return failed;
    }

    /** The rules, or an exception with what is wrong with them. */
    Namer load(Consumer<String> say) throws Exception {
        this.say = say;
        String text = loader.load(say);
        return kind == Kind.CRITEO ? new CriteoNames(text, System.getenv(), say)
                : new JmxRules(text, say);
    }

    /** For those who look before a start: throws what {@link #load} would. */
    public void check(Consumer<String> say) throws Exception {
        load(say);
    }
}
