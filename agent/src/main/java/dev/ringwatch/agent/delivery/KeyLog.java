package dev.ringwatch.agent.delivery;

/**
 * What became of the last key frames, by their checks: a delta frame in the spool is useless once
 * its key frame is lost. Forgotten ones count as unknown, which at worst sends a frame in vain.
 */
final class KeyLog {
    static final byte UNKNOWN = 0;
    static final byte SENT = 1;
    static final byte LOST = 2;
    private static final int REMEMBERED = 64;

    private final int[] keys = new int[REMEMBERED];
    private final byte[] fates = new byte[REMEMBERED];
    private int next;

    void note(int key, byte fate) {
        for (int i = 0; i < REMEMBERED; i++) {
            if (keys[i] == key && fates[i] != UNKNOWN) {
                fates[i] = fate;
                return;
            }
        }
        keys[next] = key;
        fates[next] = fate;
        next = (next + 1) % REMEMBERED;
    }

    byte fate(int key) {
        for (int i = 0; i < REMEMBERED; i++) {
            if (keys[i] == key && fates[i] != UNKNOWN) {
                return fates[i];
            }
        }
        return UNKNOWN;
    }
}
