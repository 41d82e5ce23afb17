package streamtest

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ringwatch/ringwatch/dev/eventually"
	"github.com/ringwatch/ringwatch/stream"
)

// Patience bounds every wait: the machine may be ten times slower from one minute to the next.
const Patience = 4 * time.Minute

var quiet = slog.New(slog.DiscardHandler)

// Random prints its seed, so that a failure can be seen again.
func Random(t *testing.T) *rand.Rand {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

// Config is for a topic of the test's own, with four partitions.
func Config(t *testing.T) stream.Config {
	c := stream.DefaultConfig()
	// A test that runs again begins anew.
	c.Topic = fmt.Sprintf("%s.%d", topicName(t), time.Now().UnixNano())
	c.Partitions = 4
	c.PublishTimeout = time.Minute // a crowded machine is no outage
	return c
}

func topicName(t *testing.T) string {
	name := []byte(t.Name())
	for i, b := range name {
		if b == '/' {
			name[i] = '.'
		}
	}
	return string(name)
}

// Metric sums a metric over its labels.
func Metric(t *testing.T, reg *prometheus.Registry, name string) (sum float64) {
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

// MustTopic makes the topic of frames.
func MustTopic(t *testing.T, e stream.Engine, c stream.Config) {
	t.Helper()
	if err := stream.EnsureTopic(t.Context(), e, c); err != nil {
		t.Fatal(err)
	}
}

// MustProducer makes a producer.
func MustProducer(
	t *testing.T, e stream.Engine, c stream.Config,
) (*stream.Producer, *prometheus.Registry) {
	t.Helper()
	reg := prometheus.NewRegistry()
	p, err := stream.NewProducer(e, c, reg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p, reg
}

// MustPublish publishes n frames of a cluster, one after the other.
func MustPublish(t *testing.T, p *stream.Producer, cluster string, n int) {
	t.Helper()
	for i := range n {
		b := fmt.Appendf(nil, "%s %d", cluster, i)
		if err := p.Publish(t.Context(), "acme", cluster, b); err != nil {
			t.Fatal(err)
		}
	}
}

// ConsumerConfig is that of a consumer of its own group that is quick in everything.
func ConsumerConfig(c stream.Config) stream.ConsumerConfig {
	cc := stream.DefaultConsumerConfig(c.Topic, c.Topic)
	cc.CommitEvery, cc.TickEvery = 20*time.Millisecond, 20*time.Millisecond
	cc.MaxBackoff = 200 * time.Millisecond
	cc.MaxRecords = 50
	return cc
}

// MustConsumer makes a consumer.
func MustConsumer(
	t *testing.T, e stream.Engine, cc stream.ConsumerConfig, h stream.Handler,
) (*stream.Consumer, *prometheus.Registry) {
	t.Helper()
	reg := prometheus.NewRegistry()
	c, err := stream.NewConsumer(e, cc, h, reg, quiet)
	if err != nil {
		t.Fatal(err)
	}
	return c, reg
}

// Run runs a consumer until the returned function is called, which fails the test if Run failed.
func Run(t *testing.T, c *stream.Consumer) (stop func()) {
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
		case <-time.After(Patience):
			t.Error("Run did not end")
		}
	}
	t.Cleanup(stop)
	return stop
}

// ConsumeLedger checks the metrics of a consumer that has ended.
func ConsumeLedger(t *testing.T, reg *prometheus.Registry) {
	t.Helper()
	get := func(name string) float64 { return Metric(t, reg, "ringwatch_stream_"+name) }
	c, h, d, p := get("consumed_total"), get("handled_total"), get("dropped_total"), get("pending")
	if c != h+d || p != 0 || c == 0 {
		t.Errorf("ledger: consumed %v, handled %v, dropped %v, pending %v", c, h, d, p)
	}
}

// PublishLedger checks the metrics of a producer that is at rest.
func PublishLedger(t *testing.T, reg *prometheus.Registry) {
	t.Helper()
	get := func(name string) float64 { return Metric(t, reg, "ringwatch_stream_publish_"+name) }
	a, p, d, w := get("accepted_total"), get("published_total"), get("dropped_total"),
		get("pending")
	if a != p+d || w != 0 || a == 0 {
		t.Errorf("ledger: accepted %v, published %v, dropped %v, pending %v", a, p, d, w)
	}
}

// Committed returns what the group has committed of a topic: by a member that does nothing, so no
// other may be there.
func Committed(t *testing.T, e stream.Engine, c stream.Config, group string) map[int32]int64 {
	t.Helper()
	assigned := map[int32]bool{}
	m, err := e.Join(stream.Membership{Topic: c.Topic, Group: group,
		SessionTimeout:   10 * time.Second,
		RebalanceTimeout: time.Minute, MaxFetchBytes: 1 << 20, MaxMessages: 1,
		Assigned: func(list []int32) {
			for _, p := range list {
				assigned[p] = true
			}
		},
		Revoked: func(context.Context, stream.Member, []int32, bool) {}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		m.Allow()
		if err := m.Leave(context.Background()); err != nil {
			t.Error(err)
		}
	}()
	eventually.True(t, "the group gives us all partitions", func() bool {
		m.Allow()
		if _, err := m.Poll(t.Context(), 100*time.Millisecond); err != nil {
			t.Fatal(err)
		}
		return len(assigned) == int(c.Partitions)
	})
	at := m.Committed()
	for p, offset := range at {
		if offset < 0 {
			delete(at, p)
		}
	}
	return at
}

// Foreign publishes messages as somebody else would: with any key, partition and time.
func Foreign(t *testing.T, e stream.Engine, c stream.Config, messages ...stream.Message) {
	t.Helper()
	to, err := e.Open(stream.Topic{Name: c.Topic, Partitions: c.Partitions, Retention: c.Retention,
		MaxMessageBytes: c.MaxMessageBytes, MaxBufferedBytes: c.MaxBufferedBytes,
		Timeout: c.PublishTimeout, Partition: partitionByKey(messages)})
	if err != nil {
		t.Fatal(err)
	}
	defer to.Close()
	answers := make(chan error, len(messages))
	for i := range messages {
		to.Publish(&messages[i], func(err error) { answers <- err })
	}
	for range messages {
		if err := <-answers; err != nil {
			t.Fatal(err)
		}
	}
}

// partitionByKey gives a message the partition it names; those of one key name one.
func partitionByKey(messages []stream.Message) func([]byte, int) int32 {
	of := map[string]int32{}
	for _, m := range messages {
		of[string(m.Key)] = m.Partition
	}
	return func(key []byte, _ int) int32 { return of[string(key)] }
}
