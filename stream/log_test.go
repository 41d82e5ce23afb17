package stream

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/ringwatch/ringwatch/engines"
)

func TestLogConfig(t *testing.T) {
	if err := DefaultLogConfig("ringwatch.alerts").Validate(); err != nil {
		t.Error(err)
	}
	err := LogConfig{Topic: "a b", Retention: time.Second}.Validate()
	for _, want := range []string{"topic", "partitions", "retention", "max_entry_bytes"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is missing in: %v", want, err)
		}
	}
	if Retryable(fmt.Errorf("%w: too large", ErrEntry)) || !errors.Is(ErrEntry, ErrLog) {
		t.Error("an entry that is never published is tried again")
	}
}

// testLog is a log with a topic of the test's own.
func testLog(t *testing.T, broker *engines.Kafka) (*Log, *prometheus.Registry) {
	t.Helper()
	c := testConfig(t, broker)
	l := DefaultLogConfig(c.Topic)
	l.Partitions, l.MaxEntryBytes = 4, 64<<10
	if err := EnsureLog(t.Context(), c, l, quiet); err != nil {
		t.Fatal(err)
	}
	return openLog(t, c, l)
}

func openLog(t *testing.T, c Config, l LogConfig) (*Log, *prometheus.Registry) {
	t.Helper()
	reg := prometheus.NewRegistry()
	log, err := NewLog(c, l, reg, quiet)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(log.Close)
	return log, reg
}

func entry(cluster, key, value string) Entry {
	e := Entry{Account: "acme", Cluster: cluster, Key: key}
	if value != "" {
		e.Value = []byte(value)
	}
	return e
}

func show(entries []Entry) string {
	var words []string
	for _, e := range entries {
		words = append(words, fmt.Sprintf("%s:%s:%s=%s", e.Account, e.Cluster, e.Key, e.Value))
	}
	return strings.Join(words, " ")
}

// TestLog: the last entry of each key, of all partitions or of some, and what is published after.
func TestLog(t *testing.T) {
	l, reg := testLog(t, engines.SharedKafka(t))
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if entries, at, err := l.Last(ctx, nil); err != nil || len(entries) != 0 || len(at) != 4 {
		t.Fatalf("of an empty topic: %v %v %v", entries, at, err)
	}
	err := l.Publish(ctx, entry("prod", "a", "1"), entry("prod", "b", "1"), entry("prod", "a", "2"),
		entry("prod/two", "a", "1"), entry("prod", "gone", "1"), entry("", "account's", "1"))
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Publish(ctx, entry("prod", "gone", "")); err != nil {
		t.Fatal(err)
	}
	prod := PartitionOf("acme", "prod", 4)
	entries, at, err := l.Last(ctx, []int32{prod})
	if err != nil || !strings.HasPrefix(show(entries), "acme:prod:b=1 acme:prod:a=2") || len(at) != 1 {
		t.Errorf("of a partition: %s %v %v", show(entries), at, err)
	}
	for _, e := range entries {
		if e.Partition != prod || time.Since(e.At) > patience {
			t.Errorf("%+v", e)
		}
	}
	read := 0
	if _, err := l.Read(ctx, nil, func(Entry) error { read++; return nil }); err != nil || read != 7 {
		t.Errorf("Read handed on %d of 7 entries, %v", read, err)
	}
	all, at, err := l.Last(ctx, nil)
	if err != nil || len(all) != 4 {
		t.Errorf("of all: %s %v", show(all), err)
	}
	end, err := l.End(ctx, nil)
	if err != nil || fmt.Sprint(end) != fmt.Sprint(at) {
		t.Errorf("the end is %v and Last came to %v: %v", end, at, err)
	}
	if err := l.Publish(ctx, entry("prod", "a", "3"), entry("later", "x", "1")); err != nil {
		t.Fatal(err)
	}
	follow, stop := context.WithCancel(ctx)
	seen := map[string]bool{}
	err = l.Follow(follow, at, func(e Entry) error {
		if seen[show([]Entry{e})] = true; len(seen) == 2 {
			stop()
		}
		return nil
	})
	if err != nil || !seen["acme:prod:a=3"] || !seen["acme:later:x=1"] {
		t.Errorf("followed %v, %v", seen, err)
	}
	enough := errors.New("enough")
	if _, err := l.Read(ctx, nil, func(Entry) error { return enough }); !errors.Is(err, enough) {
		t.Errorf("the error of who reads: %v", err)
	}
	l.log.MaxLastBytes = 20
	if _, _, err := l.Last(ctx, nil); !errors.Is(err, ErrLog) ||
		!strings.Contains(err.Error(), "max_last_bytes") {
		t.Errorf("more than fits: %v", err)
	}
	for _, e := range []Entry{
		entry("prod", "large", strings.Repeat("x", 65<<10)), entry("a\tb", "x", "1"), {Key: "x"},
	} {
		if err := l.Publish(ctx, e); !errors.Is(err, ErrEntry) || Retryable(err) {
			t.Errorf("%.40s: %v", show([]Entry{e}), err)
		}
	}
	accepted := metric(t, reg, "ringwatch_stream_log_accepted_total")
	published := metric(t, reg, "ringwatch_stream_log_published_total")
	if accepted < 9 || accepted != published ||
		metric(t, reg, "ringwatch_stream_log_pending") != 0 {
		t.Errorf("%v accepted, %v published", accepted, published)
	}
}

// TestLogTopic: it is made compacted, and one that forgets is refused.
func TestLogTopic(t *testing.T) {
	c := testConfig(t, engines.SharedKafka(t))
	l := DefaultLogConfig(c.Topic + ".log")
	l.Partitions = 2
	for range 2 {
		if err := EnsureLog(t.Context(), c, l, quiet); err != nil {
			t.Fatal(err)
		}
	}
	admin := kadm.NewClient(mustClient(t, c))
	have, err := settingsOf(t.Context(), admin, l.Topic)
	if err != nil || have["cleanup.policy"] != "compact,delete" ||
		have["retention.ms"] != "7776000000" {
		t.Errorf("%v %v", have, err)
	}
	forever := l
	forever.Topic, forever.Retention = c.Topic+".forever", 0
	if err := EnsureLog(t.Context(), c, forever, quiet); err != nil {
		t.Fatal(err)
	}
	if have, err := settingsOf(t.Context(), admin, forever.Topic); err != nil ||
		have["cleanup.policy"] != "compact" {
		t.Errorf("%v %v", have, err)
	}
	mustTopic(t, c)
	l.Topic = c.Topic // of frames
	if err := EnsureLog(t.Context(), c, l, quiet); !errors.Is(err, ErrTopic) ||
		!strings.Contains(err.Error(), "cleanup.policy delete") {
		t.Errorf("a topic that forgets: %v", err)
	}
}

// TestLogKafkaAway: entries published while Kafka stands still are there once when it goes on, in
// their order, and who gives up has an error.
func TestLogKafkaAway(t *testing.T) {
	broker := engines.MustKafka(t)
	l, reg := testLog(t, broker)
	if err := l.Publish(t.Context(), entry("prod", "a", "0")); err != nil {
		t.Fatal(err)
	}
	if err := broker.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	published := make(chan error, 1)
	go func() {
		published <- l.Publish(t.Context(), entry("prod", "a", "1"), entry("prod", "a", "2"))
	}()
	eventually(t, "entries wait", func() bool {
		return metric(t, reg, "ringwatch_stream_log_pending") == 2
	})
	given, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if err := l.Publish(given, entry("other", "x", "1")); !errors.Is(err, ErrLog) || !Retryable(err) {
		t.Errorf("given up: %v", err)
	}
	if err := broker.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-published; err != nil {
		t.Fatal(err)
	}
	var seen []Entry
	ctx, done := context.WithTimeout(t.Context(), patience)
	defer done()
	p := PartitionOf("acme", "prod", 4)
	if _, err := l.Read(ctx, []int32{p}, func(e Entry) error {
		if e.Cluster == "prod" {
			seen = append(seen, e)
		}
		return nil
	}); err != nil || show(seen) != "acme:prod:a=0 acme:prod:a=1 acme:prod:a=2" {
		t.Errorf("%s %v", show(seen), err)
	}
	accepted := metric(t, reg, "ringwatch_stream_log_accepted_total")
	if accepted != metric(t, reg, "ringwatch_stream_log_published_total")+
		metric(t, reg, "ringwatch_stream_log_dropped_total") {
		t.Error("the ledger does not add up")
	}
}

// TestLogForeign: records that others write, and marks, are no entries.
func TestLogForeign(t *testing.T) {
	l, _ := testLog(t, engines.SharedKafka(t))
	client := mustClient(t, Config{Brokers: l.config.Brokers, Topic: l.log.Topic})
	for _, key := range []string{"", "no tab", "\t", "/\tx"} {
		r := &kgo.Record{Key: []byte(key), Value: []byte("x")}
		if err := client.ProduceSync(t.Context(), r).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if entries, _, err := l.Last(ctx, nil); err != nil || len(entries) != 0 {
		t.Errorf("%s %v", show(entries), err)
	}
}
