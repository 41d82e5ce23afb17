package streamtest

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ringwatch/ringwatch/dev/eventually"
	"github.com/ringwatch/ringwatch/stream"
)

func testConsume(t *testing.T, e stream.Engine) {
	c := Config(t)
	MustTopic(t, e, c)
	p, _ := MustProducer(t, e, c)
	random := Random(t)
	b := NewBoard()
	w := NewWorker(b)
	w.Fail(func() error {
		if random.IntN(3) == 0 {
			return errors.New("now and then")
		}
		return nil
	})
	consumer, reg := MustConsumer(t, e, ConsumerConfig(c), w)
	stop := Run(t, consumer)
	before := time.Now().Add(-time.Second)
	for i := range 5 {
		MustPublish(t, p, fmt.Sprint("cluster/", i), 41)
	}
	Foreign(t, e, c, stream.Message{Key: []byte("no slash"), Value: []byte("x")})
	eventually.True(t, "everything is handled", func() bool {
		return b.Count() == 5*41 && Metric(t, reg, "ringwatch_stream_dropped_total") == 1
	})
	eventually.True(t, "ticks", func() bool { return w.Ticks() > 3 })
	low := map[int32]int64{}
	for partition := range c.Partitions {
		if at, ok := w.LowWater(partition); ok {
			low[partition] = at
		}
	}
	stop()
	if b.Err() != nil {
		t.Error(b.Err())
	}
	order := map[string]int{}
	for _, r := range w.Kept() { // values are still what they were
		if want := fmt.Sprintf("%s %d", r.Cluster, order[r.Cluster]); string(r.Value) != want ||
			r.Account != "acme" || r.Received.Before(before) ||
			time.Until(r.Received) > time.Second {
			t.Fatalf("got %+v, want %q", r, want)
		}
		order[r.Cluster]++
	}
	if Metric(t, reg, "ringwatch_stream_lag_records") != 0 {
		t.Error("lag remains")
	}
	ConsumeLedger(t, reg)

	// Another one goes on at LowWater, not behind the last record.
	at := Committed(t, e, c, c.Topic)
	for partition, want := range low {
		if at[partition] != want {
			t.Errorf("partition %d is committed at %d, want %d", partition, at[partition], want)
		}
	}
	again := NewWorker(NewBoard())
	consumer, _ = MustConsumer(t, e, ConsumerConfig(c), again)
	Run(t, consumer)
	MustPublish(t, p, "cluster/0", 1)
	eventually.True(t, "the open windows are read again", func() bool {
		for _, r := range again.Kept() {
			if string(r.Value) == "cluster/0 0" && r.Offset >= at[r.Partition] {
				return true
			}
		}
		return false
	})
	for _, r := range again.Kept() {
		if _, ok := at[r.Partition]; ok && r.Offset < at[r.Partition] {
			t.Errorf("offset %d of partition %d came, %d was committed", r.Offset, r.Partition,
				at[r.Partition])
		}
	}
}

// testTakeOver: of two consumers of a group none has what the other has, and who stays does what
// the other did.
func testTakeOver(t *testing.T, e stream.Engine) {
	c := Config(t)
	MustTopic(t, e, c)
	p, _ := MustProducer(t, e, c)
	b := NewBoard()
	first, second := NewWorker(b), NewWorker(b)
	one, regOne := MustConsumer(t, e, ConsumerConfig(c), first)
	two, _ := MustConsumer(t, e, ConsumerConfig(c), second)
	published := 0
	publish := func() {
		t.Helper()
		for i := range 8 {
			MustPublish(t, p, fmt.Sprint("c", i), 5)
		}
		published += 40
	}
	stopOne := Run(t, one)
	publish()
	eventually.True(t, "the first one handles all", func() bool { return b.Count() == published })
	stopTwo := Run(t, two)
	publish()
	eventually.True(t, "both handle all", func() bool { return b.Count() == published })
	stopOne()
	publish()
	eventually.True(t, "the second one handles all", func() bool { return b.Count() == published })
	if n := second.Partitions(); n == 0 {
		t.Error("the second one has no partition")
	}
	stopTwo()
	if b.Err() != nil {
		t.Error(b.Err())
	}
	ConsumeLedger(t, regOne)
}

// Ticks that take longer than the time between them must not keep records away.
func testSlowTicks(t *testing.T, e stream.Engine) {
	c := Config(t)
	MustTopic(t, e, c)
	p, _ := MustProducer(t, e, c)
	w := &slowTicker{Worker: NewWorker(NewBoard()), took: 30 * time.Millisecond}
	consumer, reg := MustConsumer(t, e, ConsumerConfig(c), w) // ticks are 20 ms apart
	stop := Run(t, consumer)
	MustPublish(t, p, "prod", 100)
	eventually.True(t, "everything is handled", func() bool { return w.Handled() == 100 })
	stop()
	ConsumeLedger(t, reg)
}

type slowTicker struct {
	*Worker
	took time.Duration
}

func (s *slowTicker) Tick(ctx context.Context, now time.Time) error {
	select {
	case <-ctx.Done():
	case <-time.After(s.took):
	}
	return errors.New("and it fails")
}

func testFatal(t *testing.T, e stream.Engine) {
	c := Config(t)
	MustTopic(t, e, c)
	p, _ := MustProducer(t, e, c)
	MustPublish(t, p, "prod", 1)
	w := NewWorker(NewBoard())
	w.Fail(func() error { return fmt.Errorf("no use: %w", stream.ErrFatal) })
	consumer, reg := MustConsumer(t, e, ConsumerConfig(c), w)
	if err := consumer.Run(t.Context()); !errors.Is(err, stream.ErrFatal) {
		t.Errorf("Run: %v", err)
	}
	for p, at := range Committed(t, e, c, c.Topic) {
		if at != 0 {
			t.Errorf("offset %d of partition %d was committed without effect", at, p)
		}
	}
	ConsumeLedger(t, reg)
}

func testMaxAge(t *testing.T, e stream.Engine) {
	c := Config(t)
	c.Partitions = 1
	MustTopic(t, e, c)
	var list []stream.Message
	for i := range 10 {
		at := time.Now()
		if i < 5 {
			at = at.Add(-time.Hour)
		}
		list = append(list, stream.Message{Key: []byte("acme/prod"), Value: []byte{byte(i)},
			Time: at})
	}
	Foreign(t, e, c, list...)
	w := NewWorker(NewBoard())
	cc := ConsumerConfig(c)
	cc.MaxAge = 15 * time.Minute
	consumer, _ := MustConsumer(t, e, cc, w)
	Run(t, consumer)
	eventually.True(t, "five records are handled", func() bool { return w.Handled() == 5 })
	if first := w.Kept()[0]; first.Offset != 5 {
		t.Errorf("it began at %d", first.Offset)
	}
}

// testFrom: a consumer that is told to walk back begins there although all is committed, commits
// the way forward again, and does not walk again what it has walked.
func testFrom(t *testing.T, e stream.Engine) {
	c := Config(t)
	c.Partitions = 2
	MustTopic(t, e, c)
	start := time.Now().Add(-time.Hour)
	var list []stream.Message
	for i := range 40 {
		list = append(list, stream.Message{Key: fmt.Appendf(nil, "acme/prod%d", i%2),
			Value: []byte{byte(i)}, Partition: int32(i % 2),
			Time: start.Add(time.Duration(i/2) * time.Minute)})
	}
	Foreign(t, e, c, list...)
	first := NewWorker(NewBoard())
	consumer, _ := MustConsumer(t, e, ConsumerConfig(c), first)
	stop := Run(t, consumer)
	eventually.True(t, "all is handled", func() bool { return first.Handled() == 40 })
	stop()
	done := func() {
		t.Helper()
		if at := Committed(t, e, c, c.Topic); at[0] != 20 || at[1] != 20 {
			t.Errorf("committed: %v", at)
		}
	}
	done()

	cc := ConsumerConfig(c)
	cc.From = start.Add(7*time.Minute + time.Second)
	w := &forgetful{Worker: NewWorker(NewBoard()), at: 24}
	consumer, reg := MustConsumer(t, e, cc, w)
	stop = Run(t, consumer)
	eventually.True(t, "what came since is handled again", func() bool { return w.Handled() == 24 })
	for _, r := range w.Kept() {
		if r.Offset < 8 {
			t.Errorf("offset %d came again", r.Offset)
		}
	}
	// The handler then asks for a new session, in which nothing is due.
	eventually.True(t, "the handler has begun anew", func() bool {
		return Metric(t, reg, "ringwatch_stream_tick_errors_total") == 1
	})
	Foreign(t, e, c, stream.Message{Key: []byte("acme/prod0"), Value: []byte{99}},
		stream.Message{Key: []byte("acme/prod1"), Value: []byte{99}, Partition: 1})
	eventually.True(t, "it goes on", func() bool { return w.Reached(21, 21) })
	stop()
	if n := w.Handled(); n != 26 {
		t.Errorf("%d records were handled, 24 and 2 were due", n)
	}
}

// testAgain: a handler that has lost the effect of records it still answers for gets them again,
// from LowWater on.
func testAgain(t *testing.T, e stream.Engine) {
	c := Config(t)
	c.Partitions = 1
	MustTopic(t, e, c)
	p, _ := MustProducer(t, e, c)
	w := &forgetful{Worker: NewWorker(NewBoard()), at: 25}
	consumer, reg := MustConsumer(t, e, ConsumerConfig(c), w)
	stop := Run(t, consumer)
	MustPublish(t, p, "prod", 25)
	eventually.True(t, "the last five come again", func() bool { return w.Handled() == 30 })
	MustPublish(t, p, "prod", 3)
	eventually.True(t, "it goes on", func() bool { return w.Handled() == 33 })
	stop()
	for i, r := range w.Kept() {
		want := int64(i)
		if i >= 25 {
			want -= 5
		}
		if r.Offset != want {
			t.Fatalf("record %d has offset %d, want %d", i, r.Offset, want)
		}
	}
	ConsumeLedger(t, reg)
}

type forgetful struct {
	*Worker
	at   int
	asks atomic.Int32 // commits since then
	done bool
}

// LowWater is asked once a commit and partition, so what was there at the first of many is durable.
func (f *forgetful) LowWater(p int32) (int64, bool) {
	if f.Handled() >= f.at {
		f.asks.Add(1)
	}
	return f.Worker.LowWater(p)
}

func (f *forgetful) Tick(context.Context, time.Time) error {
	if f.done || f.Handled() < f.at {
		return nil
	}
	if f.asks.Load() <= 4 {
		return nil
	}
	f.done = true
	return fmt.Errorf("it is gone: %w", stream.ErrAgain)
}
