package main

import (
	"bufio"
	"context"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ringwatch/ringwatch/dev/engines"
	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/frame/frametest"
	"github.com/ringwatch/ringwatch/stream"
	"github.com/ringwatch/ringwatch/stream/kafka"
)

func TestMain(m *testing.M) { engines.Main(m) }

// TestConsume: what docs/CONSUME.md shows reads a real topic.
func TestConsume(t *testing.T) {
	c, broker := stream.DefaultConfig(), kafka.DefaultConfig()
	broker.Brokers = []string{engines.SharedKafka(t).Addr()}
	c.PublishTimeout = time.Minute
	k, err := kafka.New(broker, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.EnsureTopic(t.Context(), k, c); err != nil {
		t.Fatal(err)
	}
	p, err := stream.NewProducer(k, c, prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	n := frametest.New("prod-1", 1, 1)
	n.Templates[0].Metrics[1] = frame.Metric{Name: "os_load1", Kind: frame.Gauge, Exponent: -2}
	at := frame.WindowOf(time.Now().UnixMilli())
	for _, load := range []int64{125, 250} {
		n.Entities[0][0].Cells[1].Int = load
		if err := p.Publish(t.Context(), "default", n.Cluster, n.Frame(at)); err != nil {
			t.Fatal(err)
		}
		at += 5000
	}
	ctx, cancel := context.WithCancel(t.Context())
	in, out := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- consume(ctx, out, c.Topic, broker.Brokers...); out.Close() }()
	guard := time.AfterFunc(4*time.Minute, func() { in.CloseWithError(context.DeadlineExceeded) })
	defer guard.Stop()
	lines := bufio.NewScanner(in)
	for _, load := range []string{" 1.25", " 2.5"} {
		if !lines.Scan() {
			t.Fatalf("no line%s: %v", load, lines.Err())
		}
		if line := lines.Text(); !strings.HasSuffix(line, load) ||
			!strings.Contains(line, `cluster="prod-1"`) {
			t.Errorf("%s, want%s", line, load)
		}
	}
	cancel()
	if err := <-ended; err == nil || ctx.Err() == nil {
		t.Errorf("it ended with %v", err)
	}
}
