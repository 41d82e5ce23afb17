package stream

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/ringwatch/ringwatch/engines"
)

func TestValidate(t *testing.T) {
	if err := DefaultConfig().Validate(); err != nil {
		t.Error(err)
	}
	if err := DefaultConsumerConfig(DefaultConfig(), "g").Validate(); err != nil {
		t.Error(err)
	}
	err := ConsumerConfig{Stream: Config{Brokers: []string{"nowhere"}, SASL: SASL{Mechanism: "X", Password: "hush"}}}.Validate()
	for _, want := range []string{`broker "nowhere"`, "topic", "partitions", "replication_factor", "min_insync_replicas", "retention", "max_message_bytes", "publish_timeout",
		`mechanism "X"`, "sasl needs user", "group", "session_timeout", "handle_timeout", "tick_every", "commit_every", "max_backoff", "max_fetch_bytes", "max_records"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is missing in: %v", want, err)
		}
	}
	if dump := fmt.Sprintf("%v %+v %#v", SASL{Password: "hush"}, Config{SASL: SASL{Password: "hush"}}, &SASL{Password: "hush"}); strings.Contains(dump, "hush") {
		t.Errorf("the password is printed: %s", dump)
	}
}

func TestRetryable(t *testing.T) {
	for err, want := range map[error]bool{
		nil: false, kerr.MessageTooLarge: false, kerr.InvalidRecord: false, kerr.NotEnoughReplicas: true, kerr.UnknownTopicOrPartition: true, kerr.TopicAuthorizationFailed: true,
		context.DeadlineExceeded: true, kgo.ErrMaxBuffered: true, kgo.ErrClientClosed: true, errors.New("something"): true,
	} {
		if got := Retryable(err); got != want {
			t.Errorf("Retryable(%v) = %v", err, got)
		}
		if err != nil && Retryable(fmt.Errorf("%w: %w", ErrPublish, err)) != want {
			t.Errorf("wrapping changes Retryable(%v)", err)
		}
	}
}

func TestEnsureTopic(t *testing.T) {
	c := testConfig(t, engines.SharedKafka(t))
	c.Retention = 5 * time.Hour
	var wg sync.WaitGroup
	for range 4 { // several processes start at once
		wg.Go(func() {
			if err := EnsureTopic(t.Context(), c, quiet); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	admin := kadm.NewClient(mustClient(t, c))
	topics, err := admin.ListTopics(t.Context(), c.Topic)
	if err != nil || len(topics[c.Topic].Partitions) != 4 || topics[c.Topic].Partitions.NumReplicas() != 1 {
		t.Errorf("%v, %v", topics, err)
	}
	resources, err := admin.DescribeTopicConfigs(t.Context(), c.Topic)
	if err != nil {
		t.Fatal(err)
	}
	have := map[string]string{}
	for _, s := range resources[0].Configs {
		have[s.Key] = s.MaybeValue()
	}
	for name, want := range map[string]string{"retention.ms": "18000000", "max.message.bytes": "17825792", "cleanup.policy": "delete", "min.insync.replicas": "1", "compression.type": "producer"} {
		if have[name] != want {
			t.Errorf("%s is %s, want %s", name, have[name], want)
		}
	}
	c.MaxMessageBytes = 20 << 20
	if err := EnsureTopic(t.Context(), c, quiet); !errors.Is(err, ErrTopic) || !strings.Contains(err.Error(), "17825792") || !strings.Contains(err.Error(), "max.message.bytes to 20971520") {
		t.Errorf("a smaller limit: %v", err)
	}
	c.MaxMessageBytes, c.Retention = 1<<20, time.Hour
	if err := EnsureTopic(t.Context(), c, quiet); err != nil {
		t.Errorf("a topic that someone tuned: %v", err)
	}
	c.Topic += ".compacted"
	if _, err := admin.CreateTopic(t.Context(), 1, 1, map[string]*string{"cleanup.policy": kadm.StringPtr("compact"), "max.message.bytes": kadm.StringPtr("2000000")}, c.Topic); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the broker knows the compacted topic", func() bool {
		err = EnsureTopic(t.Context(), c, quiet)
		return !errors.Is(err, kerr.UnknownTopicOrPartition)
	})
	if !errors.Is(err, ErrTopic) || !strings.Contains(err.Error(), "cleanup.policy") {
		t.Errorf("a compacted topic: %v", err)
	}
	c.Topic, c.ReplicationFactor = c.Topic+".three", 3
	if err := EnsureTopic(t.Context(), c, quiet); !errors.Is(err, kerr.InvalidReplicationFactor) || !strings.Contains(err.Error(), "fewer brokers") {
		t.Errorf("too few brokers: %v", err)
	}
}

func TestPublish(t *testing.T) {
	c := testConfig(t, engines.SharedKafka(t))
	mustTopic(t, c)
	p, reg := mustProducer(t, c)
	if err := p.Ready(t.Context()); err != nil {
		t.Error(err)
	}
	big := bytes.Repeat([]byte("0123456789abcdef"), 1<<20)
	sent := map[string][]byte{"acme/prod/1": []byte("one"), "acme/prod": []byte("two"), "zeta/prod": big}
	for key, b := range sent {
		account, cluster, _ := strings.Cut(key, "/")
		if err := p.Publish(t.Context(), account, cluster, b); err != nil {
			t.Fatal(err)
		}
	}
	mustPublish(t, p, "prod", 20)
	client := mustClient(t, c, kgo.ConsumeTopics(c.Topic))
	got := map[string][]byte{}
	partitions := map[string]int32{}
	eventually(t, "all records are read", func() bool {
		client.PollFetches(t.Context()).EachRecord(func(r *kgo.Record) {
			key := string(r.Key)
			if _, ok := got[key]; !ok {
				got[key] = r.Value
				partitions[key] = r.Partition
			} else if key == "acme/prod" {
				got["n"] = append(got["n"], 'x')
			}
			if partitions[key] != r.Partition {
				t.Errorf("%s is on two partitions", key)
			}
		})
		return len(got) == 4 && len(got["n"]) == 20
	})
	for key, b := range sent {
		if !bytes.Equal(got[key], b) {
			t.Errorf("%s: %d bytes came, %d went", key, len(got[key]), len(b))
		}
	}
	if err := p.Publish(t.Context(), "acme", "prod", make([]byte, 18<<20)); !errors.Is(err, ErrPublish) || Retryable(err) {
		t.Errorf("a message that is too large: %v", err)
	}
	publishLedger(t, reg)
}

func publishLedger(t *testing.T, reg *prometheus.Registry) {
	t.Helper()
	get := func(name string) float64 { return metric(t, reg, "ringwatch_stream_publish_"+name) }
	if a, p, d, w := get("accepted_total"), get("published_total"), get("dropped_total"), get("pending"); a != p+d || w != 0 || a == 0 {
		t.Errorf("ledger: accepted %v, published %v, dropped %v, pending %v", a, p, d, w)
	}
}

// A broker that is stopped refuses connections, one that is frozen takes them and says nothing: Publish must answer in time in both cases.
func TestPublishWithoutKafka(t *testing.T) {
	broker := engines.MustKafka(t)
	c := testConfig(t, broker)
	c.PublishTimeout = time.Second
	c.MaxMessageBytes, c.MaxBufferedBytes = 1<<20, 1<<20
	mustTopic(t, c)
	p, reg := mustProducer(t, c)
	eventually(t, "Publish works", func() bool { return p.Publish(t.Context(), "acme", "prod", []byte("first")) == nil })

	fails := func(state string) {
		t.Helper()
		var wg sync.WaitGroup
		var mu sync.Mutex
		full := 0
		for i := range 40 {
			wg.Go(func() {
				began := time.Now()
				err := p.Publish(t.Context(), "acme", fmt.Sprint("c", i), make([]byte, 64<<10))
				if !errors.Is(err, ErrPublish) || !Retryable(err) {
					t.Errorf("%s: %v", state, err)
				}
				if took := time.Since(began); took > c.PublishTimeout+time.Minute { // without a bound it would wait for the broker
					t.Errorf("%s: Publish took %s", state, took)
				}
				mu.Lock()
				defer mu.Unlock()
				if errors.Is(err, kgo.ErrMaxBuffered) {
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
		eventually(t, "Publish works again after the broker was "+state, func() bool {
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
	publishLedger(t, reg)
}

func TestNoKafkaAtAll(t *testing.T) {
	c := DefaultConfig()
	c.Brokers = []string{"127.0.0.1:1"} // nobody listens there
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	if err := EnsureTopic(ctx, c, quiet); err == nil || !strings.Contains(err.Error(), "127.0.0.1:1: check that Kafka runs there") {
		t.Errorf("EnsureTopic: %v", err)
	}
	w := newWorker(newBoard())
	consumer, _ := mustConsumer(t, testConsumerConfig(c), w)
	stop := run(t, consumer)
	eventually(t, "ticks without Kafka", func() bool { w.mu.Lock(); defer w.mu.Unlock(); return w.ticks > 2 })
	stop()
}
