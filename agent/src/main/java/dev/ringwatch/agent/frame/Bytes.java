package dev.ringwatch.agent.frame;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/** A byte array that grows and is reused: the primitive types of FORMAT.md §2, appended. */
public final class Bytes {
    private byte[] array;
    private int length;

    public Bytes(int capacity) {
        array = new byte[capacity];
    }

    /**
     * The backing array; only the first {@link #length()} bytes mean anything, and only until the
     * next append.
     */
    public byte[] array() {
        return array;
    }

    public int length() {
        return length;
    }

    public void clear() {
        length = 0;
    }

    public byte[] copy() {
        return Arrays.copyOf(array, length);
    }

    public void u8(int value) {
        reserve(1);
        array[length++] = (byte) value;
    }

    public void u32(int value) {
        reserve(4);
        length += 4;
        patchU32(length - 4, value);
    }

    public void patchU32(int at, int value) {
        array[at] = (byte) value;
        array[at + 1] = (byte) (value >>> 8);
        array[at + 2] = (byte) (value >>> 16);
        array[at + 3] = (byte) (value >>> 24);
    }

    /** Eight bytes, lowest first: a double's bits. */
    public void u64(long value) {
        reserve(8);
        for (int i = 0; i < 8; i++) {
            array[length++] = (byte) (value >>> (8 * i));
        }
    }

    /** Eight bytes, highest first: half a UUID in network order. */
    public void u64BigEndian(long value) {
        u64(Long.reverseBytes(value));
    }

    /** Unsigned LEB128; {@code value} is taken as unsigned. */
    public void uvarint(long value) {
        reserve(10);
        while ((value & ~0x7FL) != 0) {
            array[length++] = (byte) (value | 0x80);
            value >>>= 7;
        }
        array[length++] = (byte) value;
    }

    public void svarint(long value) {
        uvarint((value << 1) ^ (value >> 63));
    }

    /**
     * Allocates for the UTF-8 form: for dictionaries and changed strings only, never on an idle
     * pass.
     */
    public void string(String value) {
        byte[] utf8 = value.getBytes(StandardCharsets.UTF_8);
        uvarint(utf8.length);
        bytes(utf8, utf8.length);
    }

    public void bytes(byte[] from, int count) {
        reserve(count);
        System.arraycopy(from, 0, array, length, count);
        length += count;
    }

    public void append(Bytes from) {
        bytes(from.array, from.length);
    }

    private void reserve(int more) {
        if (array.length - length < more) {
            array = Arrays.copyOf(array, Math.max(length + more, array.length * 2));
        }
    }
}
