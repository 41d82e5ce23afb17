package kafka

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ringwatch/ringwatch/dev/engines"
	"github.com/ringwatch/ringwatch/dev/eventually"
	"github.com/ringwatch/ringwatch/stream"
	"github.com/ringwatch/ringwatch/stream/streamtest"
)

// A broker that is stopped refuses connections, one that is frozen takes them and says nothing:
// Publish must answer in time in both cases.
func TestPublishWithoutKafka(t *testing.T) {
	broker := engines.MustKafka(t)
	k := mustKafka(t, broker)
	c := streamtest.Config(t)
	c.PublishTimeout = time.Second
	c.MaxMessageBytes, c.MaxBufferedBytes = 1<<20, 1<<20
	streamtest.MustTopic(t, k, c)
	p, reg := streamtest.MustProducer(t, k, c)
	eventually.True(t, "Publish works", func() bool {
		return p.Publish(t.Context(), "acme", "prod", []byte("first")) == nil
	})

	fails := func(state string) {
		t.Helper()
		var wg sync.WaitGroup
		var mu sync.Mutex
		full := 0
		for i := range 40 {
			wg.Go(func() {
				began := time.Now()
				err := p.Publish(t.Context(), "acme", fmt.Sprint("c", i), make([]byte, 64<<10))
				if !errors.Is(err, stream.ErrPublish) || !stream.Retryable(err) {
					t.Errorf("%s: %v", state, err)
				}
				// without a bound it would wait for the broker
				if took := time.Since(began); took > c.PublishTimeout+time.Minute {
					t.Errorf("%s: Publish took %s", state, took)
				}
				mu.Lock()
				defer mu.Unlock()
				if errors.Is(err, stream.ErrFull) {
					full++
				}
			})
		}
		wg.Wait()
		if full == 0 {
			t.Errorf("%s: 2.5 MiB were waiting where 1 MiB may", state)
		}
		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if p.Ready(short) == nil {
			t.Errorf("%s: Ready says it answers", state)
		}
	}
	recovers := func(state string) {
		t.Helper()
		eventually.True(t, "Publish works again after the broker was "+state, func() bool {
			return p.Publish(t.Context(), "acme", "prod", []byte(state)) == nil
		})
	}
	if err := broker.Pause(); err != nil {
		t.Fatal(err)
	}
	fails("frozen")
	if err := broker.Resume(); err != nil {
		t.Fatal(err)
	}
	recovers("frozen")
	if err := broker.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	fails("stopped")
	if err := broker.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	recovers("stopped")
	streamtest.PublishLedger(t, reg)
}

func TestNoKafkaAtAll(t *testing.T) {
	away := DefaultConfig()
	away.Brokers = []string{"127.0.0.1:1"} // nobody listens there
	k, err := New(away, quiet)
	if err != nil {
		t.Fatal(err)
	}
	c := stream.DefaultConfig()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	if err := stream.EnsureTopic(ctx, k, c); err == nil ||
		!strings.Contains(err.Error(), "127.0.0.1:1: check that Kafka runs there") {
		t.Errorf("EnsureTopic: %v", err)
	}
	w := streamtest.NewWorker(streamtest.NewBoard())
	consumer, _ := streamtest.MustConsumer(t, k, streamtest.ConsumerConfig(c), w)
	stop := streamtest.Run(t, consumer)
	eventually.True(t, "ticks without Kafka", func() bool { return w.Ticks() > 2 })
	stop()
}

// TestLogKafkaAway: entries published while Kafka stands still are there once when it goes on, in
// their order, and who gives up has an error.
func TestLogKafkaAway(t *testing.T) {
	broker := engines.MustKafka(t)
	k := mustKafka(t, broker)
	c := streamtest.Config(t)
	l, reg := streamtest.MustLog(t, k, c, streamtest.LogConfig(c))
	if err := l.Publish(t.Context(), streamtest.Entry("prod", "a", "0")); err != nil {
		t.Fatal(err)
	}
	if err := broker.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	published := make(chan error, 1)
	go func() {
		published <- l.Publish(t.Context(), streamtest.Entry("prod", "a", "1"),
			streamtest.Entry("prod", "a", "2"))
	}()
	eventually.True(t, "entries wait", func() bool {
		return streamtest.Metric(t, reg, "ringwatch_stream_log_pending") == 2
	})
	given, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if err := l.Publish(given, streamtest.Entry("other", "x", "1")); !errors.Is(err,
		stream.ErrLog) || !stream.Retryable(err) {
		t.Errorf("given up: %v", err)
	}
	if err := broker.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-published; err != nil {
		t.Fatal(err)
	}
	var seen []stream.Entry
	ctx, done := context.WithTimeout(t.Context(), streamtest.Patience)
	defer done()
	p := stream.PartitionOf("acme", "prod", 4)
	if _, err := l.Read(ctx, []int32{p}, func(e stream.Entry) error {
		if e.Cluster == "prod" {
			seen = append(seen, e)
		}
		return nil
	}); err != nil || streamtest.Show(seen) != "acme:prod:a=0 acme:prod:a=1 acme:prod:a=2" {
		t.Errorf("%s %v", streamtest.Show(seen), err)
	}
	accepted := streamtest.Metric(t, reg, "ringwatch_stream_log_accepted_total")
	if accepted != streamtest.Metric(t, reg, "ringwatch_stream_log_published_total")+
		streamtest.Metric(t, reg, "ringwatch_stream_log_dropped_total") {
		t.Error("the ledger does not add up")
	}
}
