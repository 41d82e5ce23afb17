package dev.ringwatch.agent.delivery;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.function.Consumer;

/**
 * Decides what goes from memory to disk and when, and lives with a disk that fails: then the spool
 * is off, which is said once, memory goes on alone, and the disk is tried again after some minutes.
 */
final class Overflow {
    private final FrameQueue queue;
    private final Spool spool;
    private final Path directory;
    private final Pace pace;
    private final Consumer<String> say;
    private boolean tried;
    private long againAt;
    private boolean writable;
    private String said = "";
    private volatile boolean off;

    /** @param spool null if there is to be none */
    Overflow(FrameQueue queue, Spool spool, Path directory, Pace pace, Consumer<String> say) {
        this.queue = queue;
        this.spool = spool;
        this.directory = directory;
        this.pace = pace;
        this.say = say;
    }

    /**
     * In an outage all but the newest frame goes to disk, so that a killed process loses one frame
     * and not all; otherwise the backlog does, once it takes half of the memory.
     */
    void step(boolean outage) {
        if (spool == null || !ready()) {
            return;
        }
        if (outage) {
            put(1);
        } else if (queue.isHalfFull()) {
            put(FrameQueue.FRESH);
        }
    }

    private boolean ready() {
        if (writable || tried && now() - againAt < 0) {
            return writable;
        }
        tried = true;
        try {
            if (!spool.isOpen()) {
                spool.open();
                isBack();
            }
            writable = true;
        } catch (IOException | RuntimeException e) {
            switchOff(e);
        }
        return writable;
    }

    private void put(int keep) {
        List<FrameQueue.Queued> frames = queue.beginSpooling(keep);
        if (frames.isEmpty()) {
            return;
        }
        for (FrameQueue.Queued frame : frames) {
            try {
                if (!spool.fits(frame.frame)) {
                    queue.unspoolable();
                    continue;
                }
                spool.write(frame);
            } catch (IOException | RuntimeException e) {
                queue.failed();
                switchOff(e);
                return;
            }
            if (queue.spooled()) {
                spool.noteCopy();
            }
        }
        isBack();
    }

    private void isBack() {
        if (off) {
            off = false;
            said = "";
            say.accept("the spool in " + directory + " is in use again");
        }
    }

    private void switchOff(Exception why) {
        spool.stopWriting();
        writable = false;
        off = true;
        againAt = now() + pace.spoolAgainMs;
        String reason = why instanceof java.nio.file.AccessDeniedException ? "permission denied"
                : why instanceof java.nio.file.FileAlreadyExistsException ? "it is not a directory"
                : why.getMessage() == null ? why.toString() : why.getMessage();
        if (!reason.equals(said)) {
            said = reason;
            say.accept("the spool in " + directory + " is off, frames wait in memory only: "
                    + reason + "; make room, or let the user of this process write there, and "
                    + "the agent uses it again");
        }
    }

    /** At the end of the process: what is in memory stays on disk, if there is a disk. */
    void finish() {
        if (spool == null) {
            return;
        }
        queue.failed(); // what was in the hand
        if (ready()) {
            put(0);
        }
        spool.close();
    }

    boolean hasBacklog() {
        return spool != null && !spool.isEmpty();
    }

    byte[] next() {
        if (spool == null) {
            return null;
        }
        try {
            return spool.next();
        } catch (IOException | RuntimeException e) {
            switchOff(e);
            return null;
        }
    }

    void taken() {
        spool.taken();
    }

    void rejected(String reason) {
        spool.rejected(reason);
    }

    void forgetCopy() {
        spool.forgetCopy();
    }

    boolean isOn() {
        return writable;
    }

    // For any thread.

    boolean isOff() {
        return off;
    }

    long bytes() {
        return spool == null ? 0 : spool.bytes();
    }

    long damagedBytes() {
        return spool == null ? 0 : spool.damagedBytes();
    }

    private static long now() {
        return System.nanoTime() / 1_000_000;
    }
}
