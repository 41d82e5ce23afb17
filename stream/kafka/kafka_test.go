package kafka

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/ringwatch/ringwatch/access/broker"
	"github.com/ringwatch/ringwatch/stream"
	"github.com/ringwatch/ringwatch/stream/streamtest"
)

func TestValidate(t *testing.T) {
	if err := DefaultConfig().Validate(); err != nil {
		t.Error(err)
	}
	err := Config{Brokers: []string{"nowhere"},
		SASL: broker.SASL{Mechanism: "X", Password: "hush"}}.Validate()
	for _, want := range []string{`broker "nowhere"`, "replication_factor", "min_insync_replicas",
		`mechanism "X"`, "sasl needs user"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is missing in: %v", want, err)
		}
	}
	if _, err := New(DefaultConfig(), quiet); err == nil ||
		!strings.Contains(err.Error(), "brokers is empty") {
		t.Errorf("no brokers: %v", err)
	}
	if dump := fmt.Sprintf("%v %+v %#v", broker.SASL{Password: "hush"},
		Config{SASL: broker.SASL{Password: "hush"}},
		&broker.SASL{Password: "hush"}); strings.Contains(dump,
		"hush") {
		t.Errorf("the password is printed: %s", dump)
	}
}

func TestRetryable(t *testing.T) {
	for err, want := range map[error]bool{
		nil: false, kerr.MessageTooLarge: false, kerr.InvalidRecord: false,
		kerr.NotEnoughReplicas: true, kerr.UnknownTopicOrPartition: true,
		kerr.TopicAuthorizationFailed: true,
		context.DeadlineExceeded:      true, kgo.ErrMaxBuffered: true, kgo.ErrClientClosed: true,
		errors.New("something"): true,
	} {
		err = explained(err)
		if got := stream.Retryable(err); got != want {
			t.Errorf("Retryable(%v) = %v", err, got)
		}
		if err != nil && stream.Retryable(fmt.Errorf("%w: %w", stream.ErrPublish, err)) != want {
			t.Errorf("wrapping changes Retryable(%v)", err)
		}
	}
	if err := explained(kgo.ErrMaxBuffered); !errors.Is(err, stream.ErrFull) ||
		!errors.Is(err, kgo.ErrMaxBuffered) {
		t.Errorf("a full buffer is %v", err)
	}
	if err := explained(kgo.ErrRecordTimeout); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a record that took too long is %v", err)
	}
}

// TestPartitions: a key's partition is that which every other Kafka client chooses.
func TestPartitions(t *testing.T) {
	random := streamtest.Random(t)
	theirs := kgo.StickyKeyPartitioner(nil).ForTopic("")
	for range 2000 {
		cluster := make([]byte, 1+random.IntN(40))
		for i := range cluster {
			cluster[i] = byte(random.IntN(256))
		}
		n := 1 + random.IntN(100)
		want := theirs.Partition(&kgo.Record{Key: append([]byte("acme/"), cluster...)}, n)
		if got := stream.PartitionOf("acme", string(cluster), n); int(got) != want {
			t.Fatalf("%q of %d: partition %d, want %d", cluster, n, got, want)
		}
	}
}
