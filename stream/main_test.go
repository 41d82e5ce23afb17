package stream

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/ringwatch/ringwatch/engines"
)

func TestMain(m *testing.M) {
	if os.Getenv(childTopic) != "" {
		child()
		return
	}
	engines.Main(m)
}

// patience bounds every wait: the machine may be ten times slower from one minute to the next.
const patience = 4 * time.Minute

var quiet = slog.New(slog.NewTextHandler(io.Discard, nil))

// newRandom prints its seed, so that a failure can be seen again.
func newRandom(t *testing.T) *rand.Rand {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

// testConfig is for a topic of the test's own on the broker.
func testConfig(t *testing.T, broker *engines.Kafka) Config {
	c := DefaultConfig()
	c.Brokers = []string{broker.Addr()}
	c.Topic = fmt.Sprintf("%s.%d", t.Name(), time.Now().UnixNano()) // a test that runs again begins anew
	c.Partitions = 4
	c.PublishTimeout = time.Minute // a crowded machine is no outage
	return c
}

func mustTopic(t *testing.T, c Config) {
	t.Helper()
	if err := EnsureTopic(t.Context(), c, quiet); err != nil {
		t.Fatal(err)
	}
}

func mustProducer(t *testing.T, c Config) (*Producer, *prometheus.Registry) {
	t.Helper()
	reg := prometheus.NewRegistry()
	p, err := NewProducer(c, reg, quiet)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p, reg
}

// mustClient is a Kafka client that owes nothing to the code under test.
func mustClient(t *testing.T, c Config, opts ...kgo.Opt) *kgo.Client {
	t.Helper()
	client, err := kgo.NewClient(append(opts, kgo.SeedBrokers(c.Brokers...), kgo.DefaultProduceTopic(c.Topic), kgo.RecordPartitioner(kgo.ManualPartitioner()))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return client
}

// committed returns what the group has committed.
func committed(t *testing.T, c Config, group string) map[int32]int64 {
	t.Helper()
	admin := kadm.NewClient(mustClient(t, c))
	var offsets kadm.OffsetResponses
	eventually(t, "the group's coordinator answers", func() (ok bool) { // a new broker has none yet
		var err error
		offsets, err = admin.FetchOffsets(t.Context(), group)
		return err == nil
	})
	m := map[int32]int64{}
	offsets.Each(func(o kadm.OffsetResponse) { m[o.Partition] = o.At })
	return m
}

// eventually polls a condition.
func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for !condition() {
		if time.Now().After(deadline) {
			t.Fatalf("not within %s: %s", patience, what)
		}
		select {
		case <-t.Context().Done():
			t.Fatal(t.Context().Err())
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// metric sums a metric over its labels.
func metric(t *testing.T, reg *prometheus.Registry, name string) (sum float64) {
	t.Helper()
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == name {
			for _, m := range f.Metric {
				sum += m.GetCounter().GetValue() + m.GetGauge().GetValue()
			}
		}
	}
	return sum
}

// run runs a consumer until the returned function is called, which fails the test if Run failed.
func run(t *testing.T, c *Consumer) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx) }()
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		select {
		case err := <-ended:
			if err != nil {
				t.Errorf("Run: %v", err)
			}
		case <-time.After(patience):
			t.Error("Run did not end")
		}
	}
	t.Cleanup(stop)
	return stop
}

func mustPublish(t *testing.T, p *Producer, cluster string, n int) {
	t.Helper()
	for i := range n {
		if err := p.Publish(t.Context(), "acme", cluster, fmt.Appendf(nil, "%s %d", cluster, i)); err != nil {
			t.Fatal(err)
		}
	}
}
