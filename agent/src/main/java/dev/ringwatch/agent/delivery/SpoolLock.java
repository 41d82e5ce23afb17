package dev.ringwatch.agent.delivery;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.channels.OverlappingFileLockException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/** One agent per spool directory: a file lock, which the system releases however a process ends. */
final class SpoolLock {
    /**
     * Of this process: closing any channel of a locked file would release the process's lock on it.
     */
    private static final Set<Path> TAKEN = ConcurrentHashMap.newKeySet();

    private final Path directory;
    private final FileChannel file;

    private SpoolLock(Path directory, FileChannel file) {
        this.directory = directory;
        this.file = file;
    }

    static SpoolLock take(Path wanted) throws IOException {
        Files.createDirectories(wanted);
        Path directory = wanted.toRealPath();
        if (!TAKEN.add(directory)) {
            throw inUse();
        }
        FileChannel file = null;
        try {
            file = FileChannel.open(directory.resolve("ringwatch.lock"),
                    StandardOpenOption.CREATE, StandardOpenOption.WRITE, LinkOption.NOFOLLOW_LINKS);
            if (file.tryLock() == null) {
                throw inUse();
            }
            return new SpoolLock(directory, file);
        } catch (OverlappingFileLockException other) {
            SpoolFiles.close(file);
            TAKEN.remove(directory);
            throw inUse();
        } catch (IOException | RuntimeException e) {
            SpoolFiles.close(file);
            TAKEN.remove(directory);
            throw e;
        }
    }

    private static IOException inUse() {
        return new IOException("another agent uses it: give each agent a directory of its own");
    }

    void release() {
        SpoolFiles.close(file);
        TAKEN.remove(directory);
    }
}
