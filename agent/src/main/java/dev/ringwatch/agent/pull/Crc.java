package dev.ringwatch.agent.pull;

/**
 * The CRC-32 of two texts one after the other from theirs alone, so that a page of which little has
 * changed needs no look at the rest. A CRC is a polynomial over GF(2) modulo the generator:
 * appending n bytes multiplies it by x^8n. Costs under a microsecond.
 */
final class Crc {
    /** CRC-32 of RFC 1952, reflected: the highest bit is x^0. */
    private static final int GENERATOR = 0xEDB88320;
    private static final int ONE = 1 << 31;
    /** x^(2^k). */
    private static final int[] SQUARES = new int[32];

    static {
        SQUARES[0] = 1 << 30;
        for (int k = 1; k < SQUARES.length; k++) {
            SQUARES[k] = multiply(SQUARES[k - 1], SQUARES[k - 1]);
        }
    }

    private Crc() {}

    static int append(int first, int second, int secondLength) {
        int shift = ONE;
        int k = 3; // eight bits a byte
        for (int n = secondLength; n != 0; n >>>= 1, k++) {
            if ((n & 1) != 0) {
                shift = multiply(SQUARES[k & 31], shift);
            }
        }
        return multiply(shift, first) ^ second;
    }

    private static int multiply(int a, int b) {
        int product = 0;
        for (int bit = ONE; bit != 0; bit >>>= 1) {
            if ((a & bit) != 0) {
                product ^= b;
            }
            b = (b & 1) != 0 ? b >>> 1 ^ GENERATOR : b >>> 1;
        }
        return product;
    }
}
