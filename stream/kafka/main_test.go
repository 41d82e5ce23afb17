package kafka

import (
	"log/slog"
	"os"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/ringwatch/ringwatch/dev/engines"
	"github.com/ringwatch/ringwatch/dev/eventually"
	"github.com/ringwatch/ringwatch/stream"
	"github.com/ringwatch/ringwatch/stream/files"
	"github.com/ringwatch/ringwatch/stream/streamtest"
)

func TestMain(m *testing.M) {
	if os.Getenv(childTopic) != "" {
		child()
		return
	}
	engines.Main(m)
}

var quiet = slog.New(slog.DiscardHandler)

// TestContract: Kafka is what package stream asks for.
func TestContract(t *testing.T) {
	streamtest.Test(t, func(t *testing.T) stream.Engine {
		return mustKafka(t, engines.SharedKafka(t))
	})
}

// TestCopyTopics: topics of a directory are copied to Kafka.
func TestCopyTopics(t *testing.T) {
	from, err := files.Open(files.Config{Dir: t.TempDir(), MaxBytes: files.MinBytes}, quiet)
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close()
	streamtest.Copy(t, from, mustKafka(t, engines.SharedKafka(t)))
}

// mustKafka is the engine of a broker.
func mustKafka(t *testing.T, broker *engines.Kafka) *Kafka {
	t.Helper()
	c := DefaultConfig()
	c.Brokers = []string{broker.Addr()}
	k, err := New(c, quiet)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// mustClient is a Kafka client that owes nothing to the code under test.
func mustClient(t *testing.T, k *Kafka, opts ...kgo.Opt) *kgo.Client {
	t.Helper()
	client, err := kgo.NewClient(append(opts, kgo.SeedBrokers(k.config.Brokers...),
		kgo.RecordPartitioner(kgo.ManualPartitioner()))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return client
}

// committed returns what the group has committed.
func committed(t *testing.T, k *Kafka, group string) map[int32]int64 {
	t.Helper()
	admin := kadm.NewClient(mustClient(t, k))
	var offsets kadm.OffsetResponses
	// a new broker has none yet
	eventually.True(t, "the group's coordinator answers", func() (ok bool) {
		var err error
		offsets, err = admin.FetchOffsets(t.Context(), group)
		return err == nil
	})
	m := map[int32]int64{}
	offsets.Each(func(o kadm.OffsetResponse) { m[o.Partition] = o.At })
	return m
}
