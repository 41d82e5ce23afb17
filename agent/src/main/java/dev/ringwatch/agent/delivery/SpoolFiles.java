package dev.ringwatch.agent.delivery;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Pattern;

/** Names of the spool's files. */
final class SpoolFiles {
    private static final Pattern NAME = Pattern.compile("ringwatch-[0-9a-f]{16}\\.spool");
    private static final int NUMBER_AT = "ringwatch-".length();

    private SpoolFiles() {}

    static Path name(Path directory, long number) {
        return directory.resolve(String.format("ringwatch-%016x.spool", number));
    }

    /** What there is, oldest first; only plain files of exactly our names. */
    static List<Segment> list(Path directory) throws IOException {
        List<Segment> found = new ArrayList<>();
        try (DirectoryStream<Path> files =
                Files.newDirectoryStream(directory, "ringwatch-*.spool")) {
            for (Path file : files) {
                String name = file.getFileName().toString();
                if (!NAME.matcher(name).matches() || name.charAt(NUMBER_AT) > '7') {
                    // numbers are positive
                    continue;
                }
                BasicFileAttributes about = Files.readAttributes(file, BasicFileAttributes.class,
                        LinkOption.NOFOLLOW_LINKS);
                if (about.isRegularFile()) {
                    found.add(new Segment(
                            Long.parseLong(name.substring(NUMBER_AT, NUMBER_AT + 16), 16),
                            file, false, about.size()));
                }
            }
        } catch (java.nio.file.DirectoryIteratorException e) {
            throw e.getCause();
        }
        found.sort((a, b) -> Long.compare(a.number, b.number));
        return found;
    }

    static FileChannel create(Path file) throws IOException {
        return FileChannel.open(file, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE);
    }

    static void close(FileChannel file) {
        if (file == null) {
            return;
        }
        try {
            file.close();
        } catch (IOException nothingToDo) {
            return;
        }
    }
}
