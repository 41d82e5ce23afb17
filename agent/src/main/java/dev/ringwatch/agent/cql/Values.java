package dev.ringwatch.agent.cql;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;

/**
 * CQL values as bytes, without asking their types to do it: a range read makes a million of them a
 * second.
 */
final class Values {
    private Values() {}

    static ByteBuffer text(String value) {
        return ByteBuffer.wrap(value.getBytes(StandardCharsets.UTF_8));
    }

    static ByteBuffer bigint(long value) {
        return ByteBuffer.allocate(8).putLong(0, value);
    }

    static ByteBuffer real(double value) {
        return ByteBuffer.allocate(8).putDouble(0, value);
    }

    /**
     * {@code frozen<map<double, bigint>>}: bound → count of the buckets that are not empty; what is
     * beyond the last bound has the bound infinity.
     */
    static ByteBuffer buckets(long[] counts, long[] bounds, double scale) {
        int filled = 0;
        for (long count : counts) {
            filled += count != 0 ? 1 : 0;
        }
        ByteBuffer map = ByteBuffer.allocate(4 + 24 * filled);
        map.putInt(filled);
        for (int i = 0; i < counts.length; i++) {
            if (counts[i] != 0) {
                map.putInt(8).putDouble(i < bounds.length
                        ? bounds[i] * scale : Double.POSITIVE_INFINITY);
                map.putInt(8).putLong(counts[i]);
            }
        }
        map.flip();
        return map;
    }
}
