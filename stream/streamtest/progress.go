package streamtest

import (
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ringwatch/ringwatch/dev/eventually"
	"github.com/ringwatch/ringwatch/stream"
)

// testProgress: what a consumer says that it has handled is never more than it has, it grows while
// nothing comes, it stands still while the handler fails, and a consumer that starts anew knows of
// what others have committed.
func testProgress(t *testing.T, e stream.Engine) {
	c := Config(t)
	MustTopic(t, e, c)
	producer, _ := MustProducer(t, e, c)
	w := NewWorker(NewBoard())
	var failing atomic.Bool
	w.Fail(func() error {
		if failing.Load() {
			return errors.New("the test says so")
		}
		return nil
	})
	cc := stream.DefaultConsumerConfig(c.Topic, c.Topic)
	cc.CommitEvery, cc.MaxBackoff = 10*time.Millisecond, 50*time.Millisecond
	start := func() (*stream.Consumer, func()) {
		consumer, err := stream.NewConsumer(e, cc, w, prometheus.NewRegistry(), quiet)
		if err != nil {
			t.Fatal(err)
		}
		return consumer, Run(t, consumer)
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
		eventually.True(t, "all partitions are handled", func() bool {
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
	mine := stream.PartitionOf("acme", "c1", 4)
	MustPublish(t, producer, "c1", 3)
	caughtUp(time.Now())
	if n := w.Board.Count(); n != 3 {
		t.Fatalf("%d records were handled, want 3", n)
	}
	failing.Store(true)
	before := time.Now()
	MustPublish(t, producer, "c1", 1)
	after := time.Now()
	eventually.True(t, "the others go on", func() bool {
		through := ask()
		if through[mine].After(after) {
			t.Fatalf("partition %d is said to be handled until %s, and a record of %s is not", mine,
				through[mine], before)
		}
		return through[(mine+1)%4].After(after)
	})
	failing.Store(false)
	caughtUp(after)
	// A record that ingest did not write is stepped over.
	Foreign(t, e, c, stream.Message{Partition: mine, Key: []byte("no key of ours"),
		Value: []byte("x")})
	caughtUp(time.Now())
	stop()
	if p, err := consumer.Progress(t.Context()); err != nil || len(p.Through) > 0 {
		t.Errorf("a consumer that has ended says %v, %v", p, err)
	}
	consumer, _ = start()
	caughtUp(time.Now())
}
