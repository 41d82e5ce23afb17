package dev.ringwatch.agent.pull;

import dev.ringwatch.agent.frame.Bytes;
import dev.ringwatch.agent.frame.Kind;
import dev.ringwatch.agent.frame.Metric;
import dev.ringwatch.agent.frame.Template;
import java.nio.charset.StandardCharsets;

/**
 * Prometheus text format 0.0.4, one metric at a time. Numbers are written from their integers and
 * exponents, so that 1 µs is {@code 0.000001} and nothing is rounded. A histogram lists the buckets
 * up to its last count only: its others, 128 of them for each of thousands, would say nothing.
 */
final class Exposition {
    private final Bytes out = new Bytes(64 * 1024);

    /** The metric's lines; empty if no entity has a value. Valid until the next call. */
    Bytes render(Template template, Metric metric) {
        out.clear();
        boolean any = false;
        for (int slot = 0; slot < template.slots(); slot++) {
            if (!template.isLive(slot) || !metric.isPresent(slot)) {
                continue;
            }
            if (!any) {
                any = true;
                ascii("# TYPE ");
                ascii(metric.name);
                ascii(metric.bounds != null ? " histogram\n" : metric.kind == Kind.COUNTER
                        ? " counter\n" : " gauge\n");
            }
            if (metric.bounds != null) {
                histogram(template, metric, slot);
            } else {
                scalar(template, metric, slot);
            }
        }
        return out;
    }

    private void scalar(Template template, Metric metric, int slot) {
        ascii(metric.name);
        if (metric.kind == Kind.STRING) {
            labels(template, slot, "value", metric.text(slot));
            ascii(" 1\n");
            return;
        }
        labels(template, slot, null, null);
        out.u8(' ');
        if (metric.kind == Kind.GAUGE_DOUBLE) {
            real(Double.longBitsToDouble(metric.value(slot)));
        } else {
            decimal(metric.value(slot), metric.exponent, metric.kind == Kind.COUNTER);
        }
        out.u8('\n');
    }

    private void histogram(Template template, Metric metric, int slot) {
        long[] buckets = metric.buckets(slot);
        long total = 0;
        int last = -1;
        for (int b = 0; buckets != null && b < buckets.length; b++) {
            last = buckets[b] != 0 ? b : last;
        }
        for (int b = 0; b <= last; b++) {
            total += buckets[b];
            if (b < metric.bounds.size()) {
                bucketStart(template, metric, slot);
                decimal(metric.bounds.bound(b), metric.bounds.exponent, false);
                bucketEnd(total);
            }
        }
        bucketStart(template, metric, slot);
        ascii("+Inf");
        bucketEnd(total);
        if (metric.hasSum) {
            ascii(metric.name);
            ascii("_sum");
            labels(template, slot, null, null);
            out.u8(' ');
            decimal(metric.value(slot), metric.exponent, false);
            out.u8('\n');
        }
        ascii(metric.name);
        ascii("_count");
        labels(template, slot, null, null);
        out.u8(' ');
        decimal(total, 0, false);
        out.u8('\n');
    }

    private void bucketStart(Template template, Metric metric, int slot) {
        ascii(metric.name);
        ascii("_bucket{");
        for (int l = 0; l < template.labelCount(); l++) {
            label(template.label(l), template.labelValue(slot, l));
            out.u8(',');
        }
        ascii("le=\"");
    }

    private void bucketEnd(long count) {
        ascii("\"} ");
        decimal(count, 0, false);
        out.u8('\n');
    }

    private void labels(Template template, int slot, String extra, String extraValue) {
        if (template.labelCount() == 0 && extra == null) {
            return;
        }
        out.u8('{');
        for (int l = 0; l < template.labelCount(); l++) {
            if (l > 0) {
                out.u8(',');
            }
            label(template.label(l), template.labelValue(slot, l));
        }
        if (extra != null) {
            if (template.labelCount() > 0) {
                out.u8(',');
            }
            label(extra, extraValue);
        }
        out.u8('}');
    }

    private void label(String name, String value) {
        ascii(name);
        ascii("=\"");
        int plain = 0;
        while (plain < value.length() && value.charAt(plain) < 128 && value.charAt(plain) != '"'
                && value.charAt(plain) != '\\' && value.charAt(plain) != '\n') {
            plain++;
        }
        if (plain == value.length()) {
            ascii(value);
        } else {
            byte[] escaped = value.replace("\\", "\\\\").replace("\"", "\\\"").replace("\n",
                    "\\n").getBytes(StandardCharsets.UTF_8);
            out.bytes(escaped, escaped.length);
        }
        out.u8('"');
    }

    private void real(double value) {
        if (Double.isInfinite(value)) {
            ascii(value > 0 ? "+Inf" : "-Inf");
        } else {
            ascii(Double.toString(value));
        }
    }

    /** {@code value × 10^exponent}, exactly. */
    private void decimal(long value, int exponent, boolean unsigned) {
        if (value == 0) {
            out.u8('0');
            return;
        }
        if (value < 0 && unsigned) { // a counter beyond 2^63
            ascii(new java.math.BigDecimal(new java.math.BigInteger(Long.toUnsignedString(value)),
                    -exponent).toPlainString());
            return;
        }
        if (value < 0) {
            out.u8('-');
        }
        int digits = 1;
        for (long rest = value / 10; rest != 0; rest /= 10) {
            digits++;
        }
        int fraction = Math.max(0, -exponent);
        if (digits <= fraction) {
            ascii("0.");
            for (int i = digits; i < fraction; i++) {
                out.u8('0');
            }
        }
        for (int i = digits - 1; i >= 0; i--) {
            long digit = value;
            for (int d = 0; d < i; d++) {
                digit /= 10;
            }
            out.u8((int) ('0' + Math.abs(digit % 10)));
            if (i == fraction && fraction > 0) {
                out.u8('.');
            }
        }
        for (int i = 0; i < exponent; i++) {
            out.u8('0');
        }
    }

    private void ascii(String text) {
        for (int i = 0; i < text.length(); i++) {
            out.u8(text.charAt(i));
        }
    }
}
