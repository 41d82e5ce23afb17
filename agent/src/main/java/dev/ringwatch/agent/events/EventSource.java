package dev.ringwatch.agent.events;

/** Where events come from. All of it is called by the agent's own thread and may throw. */
public interface EventSource {
    /** Begins to notice, for the first time or after {@link #close}. */
    void open();

    /** Once a pass, and in one a minute with {@code slowTurn}. */
    default void look(boolean slowTurn) {}

    /** Notices nothing more and leaves nothing behind in its host. */
    void close();
}
