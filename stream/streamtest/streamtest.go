// Package streamtest has the contract of stream.Engine, and what its tests share. Each engine
// passes Test as one that really keeps messages.
package streamtest

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ringwatch/ringwatch/dev/eventually"
	"github.com/ringwatch/ringwatch/stream"
)

// Test checks the engine that start returns: of the same topics or of none, each time.
func Test(t *testing.T, start func(t *testing.T) stream.Engine) {
	for name, test := range map[string]func(*testing.T, stream.Engine){
		"Publish": testPublish, "PublishMany": testPublishMany, "PartitionOf": testPartitionOf,
		"Consume": testConsume, "TakeOver": testTakeOver, "SlowTicks": testSlowTicks,
		"Fatal": testFatal, "MaxAge": testMaxAge, "From": testFrom, "Again": testAgain,
		"Progress": testProgress, "Walk": testWalk, "Follow": testFollow,
		"Log": testLog, "LogForeign": testLogForeign,
	} {
		t.Run(name, func(t *testing.T) { test(t, start(t)) })
	}
}

// testPublish: what was published comes as it was, a cluster's frames from one partition.
func testPublish(t *testing.T, e stream.Engine) {
	c := Config(t)
	MustTopic(t, e, c)
	MustTopic(t, e, c) // it is there
	p, reg := MustProducer(t, e, c)
	if err := p.Ready(t.Context()); err != nil {
		t.Error(err)
	}
	big := bytes.Repeat([]byte("0123456789abcdef"), 1<<20)
	sent := map[string][]byte{"acme/prod/1": []byte("one"), "acme/prod": []byte("two"),
		"zeta/prod": big, "acme/none": {}}
	for key, b := range sent {
		account, cluster, _ := strings.Cut(key, "/")
		if err := p.Publish(t.Context(), account, cluster, b); err != nil {
			t.Fatal(err)
		}
	}
	MustPublish(t, p, "prod", 20)
	got, partitions := map[string][]byte{}, map[string]int32{}
	more := 0
	enough := errors.New("enough")
	ago := time.Now().Add(-time.Hour)
	err := stream.Follow(t.Context(), e, c.Topic, ago, nil, func(r stream.Record) error {
		key := r.Account + "/" + r.Cluster
		if _, ok := got[key]; !ok {
			got[key], partitions[key] = r.Value, r.Partition
		} else if key == "acme/prod" {
			if want := fmt.Sprintf("prod %d", more); string(r.Value) != want {
				t.Errorf("%q came, want %q", r.Value, want)
			}
			more++
		}
		if partitions[key] != r.Partition {
			t.Errorf("%s is on two partitions", key)
		}
		if len(got) == len(sent) && more == 20 {
			return enough
		}
		return nil
	})
	if !errors.Is(err, enough) {
		t.Error(err)
	}
	for key, b := range sent {
		if !bytes.Equal(got[key], b) {
			t.Errorf("%s: %d bytes came, %d went", key, len(got[key]), len(b))
		}
	}
	err = p.Publish(t.Context(), "acme", "prod", make([]byte, 18<<20))
	if !errors.Is(err, stream.ErrPublish) || stream.Retryable(err) {
		t.Errorf("a message that is too large: %v", err)
	}
	PublishLedger(t, reg)
	p.Close()
	err = p.Publish(t.Context(), "acme", "prod", nil)
	if !errors.Is(err, stream.ErrPublish) || !stream.Retryable(err) {
		t.Errorf("after Close: %v", err)
	}
}

// testPublishMany: many at once, each cluster's in order.
func testPublishMany(t *testing.T, e stream.Engine) {
	c := Config(t)
	MustTopic(t, e, c)
	p, reg := MustProducer(t, e, c)
	const clusters, frames = 12, 60
	var wg sync.WaitGroup
	for i := range clusters {
		wg.Go(func() {
			for n := range frames {
				cluster := fmt.Sprint("c", i)
				b := fmt.Appendf(nil, "%s %d", cluster, n)
				if err := p.Publish(t.Context(), "acme", cluster, b); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	PublishLedger(t, reg)
	b := NewBoard()
	w := NewWorker(b)
	consumer, consumed := MustConsumer(t, e, ConsumerConfig(c), w)
	stop := Run(t, consumer)
	eventually.True(t, "all are handled", func() bool { return b.Count() == clusters*frames })
	stop()
	next := map[string]int{}
	for _, r := range w.Kept() {
		if want := fmt.Sprintf("%s %d", r.Cluster, next[r.Cluster]); string(r.Value) != want {
			t.Fatalf("%q came where %q is next", r.Value, want)
		}
		next[r.Cluster]++
	}
	if b.Err() != nil {
		t.Error(b.Err())
	}
	ConsumeLedger(t, consumed)
}

// testPartitionOf: it is the partition that a frame of the cluster really goes to.
func testPartitionOf(t *testing.T, e stream.Engine) {
	c := Config(t)
	c.Partitions = 7
	MustTopic(t, e, c)
	p, _ := MustProducer(t, e, c)
	want := map[string]int32{}
	for i := range 20 {
		cluster := fmt.Sprintf("cluster %d", i)
		want[cluster] = stream.PartitionOf("acme", cluster, 7)
		MustPublish(t, p, cluster, 1)
	}
	w := NewWorker(NewBoard())
	consumer, _ := MustConsumer(t, e, ConsumerConfig(c), w)
	Run(t, consumer)
	eventually.True(t, "all records", func() bool { return w.Handled() == 20 })
	for _, r := range w.Kept() {
		if r.Partition != want[r.Cluster] {
			t.Errorf("%s is on partition %d, not on %d", r.Cluster, r.Partition, want[r.Cluster])
		}
	}
	if stream.PartitionOf("acme", "c", 0) != 0 {
		t.Error("a topic that nobody knows has a partition")
	}
}
