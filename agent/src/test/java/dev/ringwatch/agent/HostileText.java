package dev.ringwatch.agent;

import com.sun.management.ThreadMXBean;
import java.lang.management.ManagementFactory;
import java.util.Random;

/**
 * Texts that somebody might send to do harm, made from good ones, and a bound on what reading one
 * may take.
 */
public final class HostileText {
    private static final ThreadMXBean THREADS = (ThreadMXBean) ManagementFactory.getThreadMXBean();
    private static final long PATIENCE_NS = 60_000_000_000L;

    private final Random random;
    private final String[] good;
    private final String[] parts;

    /** @param good texts to begin with; parts: what is put in anywhere */
    public HostileText(long seed, String[] good, String... parts) {
        this.random = new Random(seed);
        this.good = good;
        this.parts = parts;
    }

    /** Some, with up to ten changes, of so many characters at most. */
    public String next(int most) {
        StringBuilder text = new StringBuilder(good[random.nextInt(good.length)]);
        for (int change = random.nextInt(10); change >= 0; change--) {
            int from = random.nextInt(text.length() + 1);
            int to = Math.min(text.length(), from + random.nextInt(20));
            switch (random.nextInt(6)) {
                case 0: text.delete(from, to); break;
                case 1: text.insert(from, text.substring(from, to)); break;
                case 2: text.insert(from, (char) random.nextInt(256)); break;
                case 3: text.insert(from, parts[random.nextInt(parts.length)]); break;
                case 4:
                    text.insert(from,
                            parts[random.nextInt(parts.length)].repeat(random.nextInt(300)));
                    break;
                default: text.setLength(from); break;
            }
        }
        text.setLength(Math.min(text.length(), most));
        return text.toString();
    }

    /**
     * Reads a text, and returns what is wrong with how: more than so many bytes for each character
     * and 64 KiB, or a minute; null if nothing is. The first of all readings loads classes, so what
     * takes too many bytes is read once more.
     */
    public static String exceeds(String text, int factor, Runnable read) {
        String wrong = measure(text, factor, read);
        return wrong == null ? null : measure(text, factor, read);
    }

    private static String measure(String text, int factor, Runnable read) {
        long id = Thread.currentThread().getId();
        long before = THREADS.getThreadAllocatedBytes(id);
        long began = System.nanoTime();
        read.run();
        long took = System.nanoTime() - began;
        long bytes = THREADS.getThreadAllocatedBytes(id) - before;
        if (bytes > 65_536 + (long) factor * text.length()) {
            return text.length() + " characters took " + bytes + " bytes: " + text;
        }
        return took > PATIENCE_NS
                ? text.length() + " characters took " + took + " ns: " + text : null;
    }
}
