package streamtest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ringwatch/ringwatch/stream"
)

// MustLog is a log with a topic of the test's own.
func MustLog(
	t *testing.T, e stream.Engine, c stream.Config, l stream.LogConfig,
) (*stream.Log, *prometheus.Registry) {
	t.Helper()
	if err := stream.EnsureLog(t.Context(), e, c, l); err != nil {
		t.Fatal(err)
	}
	reg := prometheus.NewRegistry()
	log, err := stream.NewLog(e, c, l, reg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(log.Close)
	return log, reg
}

// LogConfig is for a topic of small entries, with four partitions.
func LogConfig(c stream.Config) stream.LogConfig {
	l := stream.DefaultLogConfig(c.Topic)
	l.Partitions, l.MaxEntryBytes = 4, 64<<10
	return l
}

// Entry is an entry of the account acme; an empty value takes the key away.
func Entry(cluster, key, value string) stream.Entry {
	e := stream.Entry{Account: "acme", Cluster: cluster, Key: key}
	if value != "" {
		e.Value = []byte(value)
	}
	return e
}

// Show prints entries in order.
func Show(entries []stream.Entry) string {
	var words []string
	for _, e := range entries {
		words = append(words, fmt.Sprintf("%s:%s:%s=%s", e.Account, e.Cluster, e.Key, e.Value))
	}
	return strings.Join(words, " ")
}

// testLog: the last entry of each key, of all partitions or of some, and what is published after.
func testLog(t *testing.T, e stream.Engine) {
	c := Config(t)
	l, reg := MustLog(t, e, c, LogConfig(c))
	ctx, cancel := context.WithTimeout(t.Context(), Patience)
	defer cancel()
	if entries, at, err := l.Last(ctx, nil); err != nil || len(entries) != 0 || len(at) != 4 {
		t.Fatalf("of an empty topic: %v %v %v", entries, at, err)
	}
	err := l.Publish(ctx, Entry("prod", "a", "1"), Entry("prod", "b", "1"), Entry("prod", "a", "2"),
		Entry("prod/two", "a", "1"), Entry("prod", "gone", "1"), Entry("", "account's", "1"))
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Publish(ctx, Entry("prod", "gone", "")); err != nil {
		t.Fatal(err)
	}
	prod := stream.PartitionOf("acme", "prod", 4)
	entries, at, err := l.Last(ctx, []int32{prod})
	if err != nil || !strings.HasPrefix(Show(entries), "acme:prod:b=1 acme:prod:a=2") ||
		len(at) != 1 {
		t.Errorf("of a partition: %s %v %v", Show(entries), at, err)
	}
	for _, e := range entries {
		if e.Partition != prod || time.Since(e.At) > Patience {
			t.Errorf("%+v", e)
		}
	}
	read := 0
	if _, err := l.Read(ctx, nil, func(stream.Entry) error { read++; return nil }); err != nil ||
		read != 7 {
		t.Errorf("Read handed on %d of 7 entries, %v", read, err)
	}
	all, at, err := l.Last(ctx, nil)
	if err != nil || len(all) != 4 {
		t.Errorf("of all: %s %v", Show(all), err)
	}
	if err := l.Publish(ctx, Entry("prod", "a", "3"), Entry("later", "x", "1")); err != nil {
		t.Fatal(err)
	}
	follow, stop := context.WithCancel(ctx)
	seen := map[string]bool{}
	err = l.Follow(follow, at, func(e stream.Entry) error {
		if seen[Show([]stream.Entry{e})] = true; len(seen) == 2 {
			stop()
		}
		return nil
	})
	if err != nil || !seen["acme:prod:a=3"] || !seen["acme:later:x=1"] {
		t.Errorf("followed %v, %v", seen, err)
	}
	enough := errors.New("enough")
	if _, err := l.Read(ctx, nil, func(stream.Entry) error { return enough }); !errors.Is(err,
		enough) {
		t.Errorf("the error of who reads: %v", err)
	}
	less := LogConfig(c)
	less.MaxEntryBytes, less.MaxLastBytes = 1<<10, 1<<10
	if err := l.Publish(ctx, Entry("prod", "long", strings.Repeat("x", 2000))); err != nil {
		t.Fatal(err)
	}
	small, _ := MustLog(t, e, c, less)
	if _, _, err := small.Last(ctx, nil); !errors.Is(err, stream.ErrLog) ||
		!strings.Contains(err.Error(), "max_last_bytes") {
		t.Errorf("more than fits: %v", err)
	}
	for _, e := range []stream.Entry{
		Entry("prod", "large", strings.Repeat("x", 65<<10)), Entry("a\tb", "x", "1"), {Key: "x"},
	} {
		if err := l.Publish(ctx, e); !errors.Is(err, stream.ErrEntry) || stream.Retryable(err) {
			t.Errorf("%.40s: %v", Show([]stream.Entry{e}), err)
		}
	}
	accepted := Metric(t, reg, "ringwatch_stream_log_accepted_total")
	published := Metric(t, reg, "ringwatch_stream_log_published_total")
	if accepted < 9 || accepted != published ||
		Metric(t, reg, "ringwatch_stream_log_pending") != 0 {
		t.Errorf("%v accepted, %v published", accepted, published)
	}
}

// testLogForeign: records that others write, and marks, are no entries.
func testLogForeign(t *testing.T, e stream.Engine) {
	c := Config(t)
	l, _ := MustLog(t, e, c, LogConfig(c))
	var list []stream.Message
	for _, key := range []string{"", "no tab", "\t", "/\tx"} {
		list = append(list, stream.Message{Key: []byte(key), Value: []byte("x")})
	}
	Foreign(t, e, c, list...)
	ctx, cancel := context.WithTimeout(t.Context(), Patience)
	defer cancel()
	if entries, _, err := l.Last(ctx, nil); err != nil || len(entries) != 0 {
		t.Errorf("%s %v", Show(entries), err)
	}
}
