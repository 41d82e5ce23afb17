package dev.ringwatch.agent.delivery;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;

/** The API key, from the configuration or from a file that may be replaced at any time. */
public final class ApiKey {
    private static final int MAX_BYTES = 4096;

    private final Path file;
    private final WatchedFiles watched;
    private String key;

    private ApiKey(Path file, String key) {
        this.file = file;
        this.key = key;
        this.watched = file == null ? null : new WatchedFiles(file);
    }

    public static ApiKey fixed(String key) {
        return new ApiKey(null, key);
    }

    public static ApiKey in(Path file) {
        return new ApiKey(file, null);
    }

    /** Whether a text can stand in a header line: one word of visible ASCII. */
    public static boolean isKey(String text) {
        return !text.isEmpty() && text.chars().allMatch(c -> c > ' ' && c < 127);
    }

    /** What the file holds now, or what it held last if it is unreadable or half written. */
    String get() throws IOException {
        if (file == null) {
            return key;
        }
        try {
            if (watched.changed()) {
                key = read();
            }
        } catch (IOException | RuntimeException unreadable) {
            watched.forget();
            if (key == null) {
                throw new Unreadable("ingest.key_file " + file + " cannot be read: "
                        + (unreadable instanceof NoSuchFileException ? "there is no such file"
                                : unreadable.getMessage() == null ? unreadable.toString()
                                : unreadable.getMessage()), unreadable);
            }
        }
        return key;
    }

    private String read() throws IOException {
        if (Files.size(file) > MAX_BYTES) {
            throw new IOException("it is larger than " + MAX_BYTES + " bytes: put the key alone "
                    + "into it");
        }
        String text = Files.readString(file).trim();
        if (!isKey(text)) {
            throw new IOException("it holds more than a key, or none: put the key alone into it");
        }
        return text;
    }
}
