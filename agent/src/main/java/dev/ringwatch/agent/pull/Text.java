package dev.ringwatch.agent.pull;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/**
 * Exposition text in a reused buffer. Digits are written by hand: {@code Long.toString} would be an
 * object a line. Numbers come from integers and exponents, so that 1 µs is {@code 0.000001} and
 * nothing is rounded.
 */
final class Text {
    private static final int LONGEST_NUMBER = 48;
    private static final byte[] END = "} ".getBytes(StandardCharsets.US_ASCII);

    private byte[] bytes;
    private int length;
    private final byte[] digits = new byte[20];

    Text(int capacity) {
        bytes = new byte[capacity];
    }

    byte[] array() {
        return bytes;
    }

    int length() {
        return length;
    }

    void clear() {
        length = 0;
    }

    void add(byte[] more) {
        reserve(more.length);
        System.arraycopy(more, 0, bytes, length, more.length);
        length += more.length;
    }

    void add(char c) {
        reserve(1);
        bytes[length++] = (byte) c;
    }

    /** ASCII only. */
    void add(String ascii) {
        reserve(ascii.length());
        for (int i = 0; i < ascii.length(); i++) {
            bytes[length++] = (byte) ascii.charAt(i);
        }
    }

    /** All of a line's labels, and what stands before its number. */
    void labels(byte[] labels) {
        if (labels.length == 0) {
            add(' ');
            return;
        }
        add('{');
        add(labels);
        add(END);
    }

    /** A line's labels of which there is one more, which is written next. */
    void labelsAnd(byte[] labels) {
        add('{');
        if (labels.length > 0) {
            add(labels);
            add(',');
        }
    }

    /** {@code value × 10^exponent}, exactly. */
    void decimal(long value, int exponent, boolean unsigned) {
        if (value < 0 && (unsigned || value == Long.MIN_VALUE)) {
            // a counter beyond 2^63, or what has no positive twin
            BigInteger whole = new BigInteger(unsigned ? Long.toUnsignedString(value)
                    : Long.toString(value));
            add(new BigDecimal(whole, -exponent).toPlainString());
            return;
        }
        reserve(LONGEST_NUMBER);
        if (value < 0) {
            bytes[length++] = '-';
            value = -value;
        }
        int count = 0;
        do {
            long rest = value / 10;
            digits[count++] = (byte) ('0' + (int) (value - rest * 10));
            value = rest;
        } while (value != 0);
        if (count == 1 && digits[0] == '0') {
            bytes[length++] = '0';
            return;
        }
        int fraction = Math.max(0, -exponent);
        if (count <= fraction) {
            bytes[length++] = '0';
            bytes[length++] = '.';
            for (int i = count; i < fraction; i++) {
                bytes[length++] = '0';
            }
        }
        for (int i = count - 1; i >= 0; i--) {
            bytes[length++] = digits[i];
            if (i == fraction && fraction > 0) {
                bytes[length++] = '.';
            }
        }
        for (int i = 0; i < exponent; i++) {
            bytes[length++] = '0';
        }
    }

    void real(double value) {
        if (value == (long) value && Math.abs(value) < 1e15) {
            decimal((long) value, 0, false);
        } else if (Double.isInfinite(value)) {
            add(value > 0 ? "+Inf" : "-Inf");
        } else {
            add(Double.toString(value));
        }
    }

    /** {@code name="value"}. */
    static byte[] label(String name, String value) {
        String escaped = value;
        if (value.indexOf('\\') >= 0 || value.indexOf('"') >= 0 || value.indexOf('\n') >= 0) {
            escaped = value.replace("\\", "\\\\").replace("\"", "\\\"").replace("\n", "\\n");
        }
        return (name + "=\"" + escaped + '"').getBytes(StandardCharsets.UTF_8);
    }

    /**
     * A bound of a histogram as a label has it: shortest form, but always with a point, so that
     * both formats say the same.
     */
    static String bound(long value, int exponent) {
        BigDecimal exact = BigDecimal.valueOf(value, -exponent).stripTrailingZeros();
        return exact.scale() <= 0 ? exact.toPlainString() + ".0" : exact.toPlainString();
    }

    private void reserve(int more) {
        if (bytes.length - length < more) {
            bytes = Arrays.copyOf(bytes, Math.max(length + more, bytes.length * 2));
        }
    }
}
