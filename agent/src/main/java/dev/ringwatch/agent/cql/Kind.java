package dev.ringwatch.agent.cql;

import com.codahale.metrics.Counter;
import com.codahale.metrics.Gauge;
import com.codahale.metrics.Histogram;
import com.codahale.metrics.Meter;
import com.codahale.metrics.Metric;
import com.codahale.metrics.Timer;

/** What a metric is: Cassandra 6's words, in {@code type} and in the names of the type tables. */
enum Kind {
    COUNTER("Counter"), GAUGE("Gauge"), HISTOGRAM("Histogram"), METER("Meter"), TIMER("Timer");

    /** As in the type tables' comments. */
    final String title;
    /** As in the column {@code type}. */
    final String word;

    Kind(String title) {
        this.title = title;
        this.word = title.toLowerCase(java.util.Locale.ROOT);
    }

    /** Null for what no table shows. */
    static Kind of(Metric metric) {
        return metric instanceof Counter ? COUNTER
                : metric instanceof Gauge ? GAUGE
                : metric instanceof Histogram ? HISTOGRAM
                : metric instanceof Meter ? METER
                : metric instanceof Timer ? TIMER : null;
    }
}
