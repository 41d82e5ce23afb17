package stream

import (
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/ringwatch/ringwatch/engines"
)

// TestProgress: what a consumer says that it has handled is never more than it has, it grows while
// nothing comes, it stands still while the handler fails, and a consumer that starts anew knows of
// what others have committed.
func TestProgress(t *testing.T) {
	c := testConfig(t, engines.SharedKafka(t))
	mustTopic(t, c)
	producer, _ := mustProducer(t, c)
	w := newWorker(newBoard())
	var failing atomic.Bool
	w.fail = func() error {
		if failing.Load() {
			return errors.New("the test says so")
		}
		return nil
	}
	cc := DefaultConsumerConfig(c, "progress")
	cc.CommitEvery, cc.MaxBackoff = 10*time.Millisecond, 50*time.Millisecond
	start := func() (*Consumer, func()) {
		consumer, err := NewConsumer(cc, w, prometheus.NewRegistry(), quiet)
		if err != nil {
			t.Fatal(err)
		}
		return consumer, run(t, consumer)
	}
	consumer, stop := start()
	ask := func() map[int32]time.Time {
		t.Helper()
		p, err := consumer.Progress(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if len(p.Through) > 0 && p.Partitions != 4 {
			t.Fatalf("%d partitions, want 4", p.Partitions)
		}
		return p.Through
	}
	caughtUp := func(since time.Time) {
		t.Helper()
		eventually(t, "all partitions are handled", func() bool {
			through := ask()
			for p := range int32(4) {
				if !through[p].After(since) {
					return false
				}
			}
			return true
		})
	}
	caughtUp(time.Now()) // an empty topic, too
	mine := PartitionOf("acme", "c1", 4)
	mustPublish(t, producer, "c1", 3)
	caughtUp(time.Now())
	if n := w.board.count(); n != 3 {
		t.Fatalf("%d records were handled, want 3", n)
	}
	failing.Store(true)
	before := time.Now()
	mustPublish(t, producer, "c1", 1)
	after := time.Now()
	eventually(t, "the others go on", func() bool {
		through := ask()
		if through[mine].After(after) {
			t.Fatalf("partition %d is said to be handled until %s, and a record of %s is not", mine, through[mine], before)
		}
		return through[(mine+1)%4].After(after)
	})
	failing.Store(false)
	caughtUp(after)
	// A record that ingest did not write is stepped over.
	foreign := mustClient(t, c)
	if err := foreign.ProduceSync(t.Context(), &kgo.Record{Partition: mine, Key: []byte("no key of ours"), Value: []byte("x")}).FirstErr(); err != nil {
		t.Fatal(err)
	}
	caughtUp(time.Now())
	stop()
	if p, err := consumer.Progress(t.Context()); err != nil || len(p.Through) > 0 {
		t.Errorf("a consumer that has ended says %v, %v", p, err)
	}
	consumer, _ = start()
	caughtUp(time.Now())
}

// TestPartitionOf: it is the partition that a frame of the cluster really goes to.
func TestPartitionOf(t *testing.T) {
	c := testConfig(t, engines.SharedKafka(t))
	c.Partitions = 7
	mustTopic(t, c)
	producer, _ := mustProducer(t, c)
	want := map[string]int32{}
	for i := range 20 {
		cluster := fmt.Sprintf("cluster %d", i)
		want[cluster] = PartitionOf("acme", cluster, 7)
		mustPublish(t, producer, cluster, 1)
	}
	w := newWorker(newBoard())
	consumer, err := NewConsumer(DefaultConsumerConfig(c, "partition-of"), w, prometheus.NewRegistry(), quiet)
	if err != nil {
		t.Fatal(err)
	}
	run(t, consumer)
	eventually(t, "all records", func() bool { return w.board.count() == 20 })
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, r := range w.kept {
		if r.Partition != want[r.Cluster] {
			t.Errorf("%s is on partition %d, not on %d", r.Cluster, r.Partition, want[r.Cluster])
		}
	}
	if PartitionOf("acme", "c", 0) != 0 {
		t.Error("a topic that nobody knows has a partition")
	}
}
