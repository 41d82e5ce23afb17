package kafka

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ringwatch/ringwatch/dev/engines"
	"github.com/ringwatch/ringwatch/dev/eventually"
	"github.com/ringwatch/ringwatch/stream/streamtest"
)

func TestRebalance(t *testing.T) {
	k := mustKafka(t, engines.SharedKafka(t))
	c := streamtest.Config(t)
	streamtest.MustTopic(t, k, c)
	p, _ := streamtest.MustProducer(t, k, c)
	b := streamtest.NewBoard()
	first, second := streamtest.NewWorker(b), streamtest.NewWorker(b)
	one, regOne := streamtest.MustConsumer(t, k, streamtest.ConsumerConfig(c), first)
	two, regTwo := streamtest.MustConsumer(t, k, streamtest.ConsumerConfig(c), second)
	published := 0
	publish := func(n int) {
		t.Helper()
		for i := range 8 {
			streamtest.MustPublish(t, p, fmt.Sprint("c", i), n)
		}
		published += 8 * n
	}
	stopOne := streamtest.Run(t, one)
	publish(30)
	eventually.True(t, "the first consumer handles", func() bool {
		return first.Handled() > 0
	})
	stopTwo := streamtest.Run(t, two)
	eventually.True(t, "both have partitions", func() bool {
		publish(5)
		return first.Partitions() > 0 && second.Partitions() > 0 &&
			first.Partitions()+second.Partitions() == int(c.Partitions)
	})
	// The first one cannot do its work for a while: it keeps its records, and its partitions
	// until it leaves.
	var broken sync.Mutex
	failing := true
	first.Fail(func() error {
		broken.Lock()
		defer broken.Unlock()
		if failing {
			return errors.New("the store is away")
		}
		return nil
	})
	publish(10)
	eventually.True(t, "the first consumer tries again", func() bool {
		return streamtest.Metric(t, regOne, "ringwatch_stream_handle_retries_total") > 2
	})
	if streamtest.Metric(t, regOne, "ringwatch_stream_pending_age_seconds") <= 0 {
		t.Error("pending records have no age")
	}
	third := streamtest.NewWorker(b)
	three, regThree := streamtest.MustConsumer(t, k, streamtest.ConsumerConfig(c), third)
	stopThree := streamtest.Run(t, three)
	eventually.True(t, "a third consumer gets a partition although the first is stuck",
		func() bool { publish(1); return third.Partitions() > 0 })
	broken.Lock()
	failing = false
	broken.Unlock()
	publish(10)
	eventually.True(t, "everything is handled", func() bool { return b.Count() == published })
	stopOne()
	publish(10)
	eventually.True(t, "two do what three did", func() bool { return b.Count() == published })
	stopTwo()
	stopThree()
	if b.Err() != nil {
		t.Error(b.Err())
	}
	for _, reg := range []*prometheus.Registry{regOne, regTwo, regThree} {
		streamtest.ConsumeLedger(t, reg)
	}
}
