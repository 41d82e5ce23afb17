package dev.ringwatch.agent;

import dev.ringwatch.agent.delivery.WatchedFiles;
import java.io.IOException;
import java.nio.file.Path;
import java.util.function.Consumer;

/**
 * {@code paused} of {@code agent.yaml}, while Cassandra runs: an operator who suspects the agent
 * takes it out of the way without a restart. All else that the file says counts from the next
 * restart on.
 */
final class PauseSwitch {
    private final String file;
    private final WatchedFiles watched;
    private final Consumer<String> say;
    private boolean paused;
    /**
     * Somebody may be in the middle of writing it: it is read when it has stood still from one look
     * to the next.
     */
    private boolean changing;
    private String complained = "";

    /** @param say is told, once each, why a changed file is not followed */
    PauseSwitch(String file, boolean paused, Consumer<String> say) {
        this.file = file;
        this.paused = paused;
        this.say = say;
        watched = new WatchedFiles(Path.of(file));
        try {
            watched.changed(); // what it is now has been read
        } catch (IOException gone) {
            changing = true;
        }
    }

    /** Whether passes are to rest; looks at the file, so at most once a second is enough. */
    boolean look() {
        try {
            if (watched.changed()) {
                changing = true;
            } else if (changing) {
                changing = false;
                paused = Config.load(file).paused;
                complained = "";
            }
        } catch (IOException gone) {
            if (changing) {
                complain(file + ": it can no longer be read (" + gone.getClass().getSimpleName()
                        + ")");
            }
            changing = true;
        } catch (Config.Invalid e) {
            complain(e.getMessage());
        }
        return paused;
    }

    private void complain(String why) {
        if (!why.equals(complained)) {
            complained = why;
            say.accept(why + "; the agent goes on as before, but correct this before the next "
                    + "restart");
        }
    }
}
