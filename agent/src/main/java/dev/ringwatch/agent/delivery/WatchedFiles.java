package dev.ringwatch.agent.delivery;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;

/**
 * Tells when files were replaced: another time of change, size or inode. Follows links, as secrets
 * are mounted through them.
 */
public final class WatchedFiles {
    private final Path[] files;
    private final Object[] seen;

    public WatchedFiles(Path... files) {
        this.files = files;
        this.seen = new Object[files.length * 3];
    }

    /**
     * True the first time, and whenever a file is not what it was; what is there now is what counts
     * from here on.
     */
    public boolean changed() throws IOException {
        boolean changed = false;
        for (int i = 0; i < files.length; i++) {
            if (files[i] != null) {
                BasicFileAttributes now = Files.readAttributes(files[i], BasicFileAttributes.class);
                changed |= note(3 * i, now.lastModifiedTime()) | note(3 * i + 1, now.size())
                        | note(3 * i + 2, now.fileKey());
            }
        }
        return changed;
    }

    /** Look again as if for the first time. */
    void forget() {
        java.util.Arrays.fill(seen, null);
    }

    private boolean note(int index, Object value) {
        boolean same = value == null ? seen[index] == null : value.equals(seen[index]);
        seen[index] = value;
        return !same;
    }
}
