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

    final String name;
    final Loader loader;
    /** What the JMX exporter says of itself is said, too. */
    final boolean isJmxExporter;
    final Output output;
    /** Null until the rules are read, or if they are bad. */
    Namer namer;

    public BeanProfile(String name, boolean isJmxExporter, Loader loader) {
        this.name = name;
        this.isJmxExporter = isJmxExporter;
        this.loader = loader;
        this.output = new Output(name);
    }

    public Output output() {
        return output;
    }

    /** The rules, or an exception with what is wrong with them. */
    Namer load(Consumer<String> say) throws Exception {
        return new JmxRules(loader.load(say), say);
    }

    /** For those who look before a start: throws what {@link #load} would. */
    public void check(Consumer<String> say) throws Exception {
        load(say);
    }
}
