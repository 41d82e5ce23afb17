package stream

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/ringwatch/ringwatch/engines"
)

// board is what all consumers of a test have done. It checks that no partition is with two of them.
type board struct {
	mu    sync.Mutex
	seen  map[string]int // records by "partition/offset"
	owner map[int32]*worker
	err   error
}

func newBoard() *board { return &board{seen: map[string]int{}, owner: map[int32]*worker{}} }

func (b *board) count() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.seen)
}

// worker is a handler that needs the last few records of a partition: its window begins at every tenth offset.
type worker struct {
	board *board
	fail  func() error // nil: never

	mu    sync.Mutex
	next  map[int32]int64
	kept  []Record
	ticks int
}

func newWorker(b *board) *worker { return &worker{board: b, next: map[int32]int64{}} }

func (w *worker) Handle(ctx context.Context, records []Record) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.board.mu.Lock()
	defer w.board.mu.Unlock()
	for _, r := range records {
		if o := w.board.owner[r.Partition]; o != nil && o != w {
			w.board.err = fmt.Errorf("partition %d is with two consumers", r.Partition)
		}
		w.board.owner[r.Partition] = w
	}
	if w.fail != nil {
		if err := w.fail(); err != nil {
			return err
		}
	}
	for _, r := range records {
		if next, ok := w.next[r.Partition]; ok && r.Offset != next {
			w.board.err = fmt.Errorf("partition %d: offset %d where %d is next", r.Partition, r.Offset, next)
		}
		w.next[r.Partition] = r.Offset + 1
		w.board.seen[fmt.Sprintf("%d/%d", r.Partition, r.Offset)]++
		w.kept = append(w.kept, r)
	}
	return nil
}

func (w *worker) Tick(context.Context, time.Time) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ticks++
	return nil
}

func (w *worker) LowWater(p int32) (int64, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	next, ok := w.next[p]
	return next / 10 * 10, ok
}

func (w *worker) Revoke(p int32) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.board.mu.Lock()
	defer w.board.mu.Unlock()
	delete(w.next, p)
	if w.board.owner[p] == w {
		delete(w.board.owner, p)
	}
}

func (w *worker) handled() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.kept)
}

func (w *worker) partitions() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.next)
}

// reached tells whether the partitions from 0 on are here and the given offsets are next.
func (w *worker) reached(next ...int64) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for p, offset := range next {
		if w.next[int32(p)] != offset {
			return false
		}
	}
	return true
}

func testConsumerConfig(c Config) ConsumerConfig {
	cc := DefaultConsumerConfig(c, c.Topic)
	cc.CommitEvery, cc.TickEvery, cc.MaxBackoff = 20*time.Millisecond, 20*time.Millisecond, 200*time.Millisecond
	cc.MaxRecords = 50
	return cc
}

func mustConsumer(t *testing.T, cc ConsumerConfig, h Handler) (*Consumer, *prometheus.Registry) {
	t.Helper()
	reg := prometheus.NewRegistry()
	c, err := NewConsumer(cc, h, reg, quiet)
	if err != nil {
		t.Fatal(err)
	}
	return c, reg
}

// consumeLedger checks a consumer that has ended.
func consumeLedger(t *testing.T, reg *prometheus.Registry) {
	t.Helper()
	get := func(name string) float64 { return metric(t, reg, "ringwatch_stream_"+name) }
	if c, h, d, p := get("consumed_total"), get("handled_total"), get("dropped_total"), get("pending"); c != h+d || p != 0 || c == 0 {
		t.Errorf("ledger: consumed %v, handled %v, dropped %v, pending %v", c, h, d, p)
	}
}

func TestConsume(t *testing.T) {
	c := testConfig(t, engines.SharedKafka(t))
	mustTopic(t, c)
	p, _ := mustProducer(t, c)
	random := newRandom(t)
	b := newBoard()
	w := newWorker(b)
	w.fail = func() error {
		if random.IntN(3) == 0 {
			return errors.New("now and then")
		}
		return nil
	}
	consumer, reg := mustConsumer(t, testConsumerConfig(c), w)
	stop := run(t, consumer)
	before := time.Now().Add(-time.Second)
	for i := range 5 {
		mustPublish(t, p, fmt.Sprint("cluster/", i), 41)
	}
	foreign := mustClient(t, c)
	if err := foreign.ProduceSync(t.Context(), &kgo.Record{Key: []byte("no slash"), Value: []byte("x")}).FirstErr(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "everything is handled", func() bool { return b.count() == 5*41 && metric(t, reg, "ringwatch_stream_dropped_total") == 1 })
	eventually(t, "ticks", func() bool { w.mu.Lock(); defer w.mu.Unlock(); return w.ticks > 3 })
	eventually(t, "LowWater is committed", func() bool {
		at := committed(t, c, c.Topic)
		for partition := range c.Partitions {
			if low, ok := w.LowWater(partition); ok && at[partition] != low {
				return false
			}
		}
		return len(at) > 0
	})
	stop()
	if b.err != nil {
		t.Error(b.err)
	}
	order := map[string]int{}
	for _, r := range w.kept { // values are still what they were
		if want := fmt.Sprintf("%s %d", r.Cluster, order[r.Cluster]); string(r.Value) != want || r.Account != "acme" || r.Received.Before(before) || time.Until(r.Received) > time.Second {
			t.Fatalf("got %+v, want %q", r, want)
		}
		order[r.Cluster]++
	}
	if metric(t, reg, "ringwatch_stream_lag_records") != 0 {
		t.Error("lag remains")
	}
	consumeLedger(t, reg)

	// Another one goes on at LowWater, not behind the last record.
	again := newWorker(newBoard())
	consumer, reg = mustConsumer(t, testConsumerConfig(c), again)
	at := committed(t, c, c.Topic)
	run(t, consumer)
	mustPublish(t, p, "cluster/0", 1)
	eventually(t, "the open windows are read again", func() bool {
		again.mu.Lock()
		defer again.mu.Unlock()
		for _, r := range again.kept {
			if string(r.Value) == "cluster/0 0" && r.Offset >= at[r.Partition] {
				return true
			}
		}
		return false
	})
	for _, r := range again.kept {
		if _, ok := at[r.Partition]; ok && r.Offset < at[r.Partition] {
			t.Errorf("offset %d of partition %d came, %d was committed", r.Offset, r.Partition, at[r.Partition])
		}
	}
}

func TestRebalance(t *testing.T) {
	c := testConfig(t, engines.SharedKafka(t))
	mustTopic(t, c)
	p, _ := mustProducer(t, c)
	b := newBoard()
	first, second := newWorker(b), newWorker(b)
	one, regOne := mustConsumer(t, testConsumerConfig(c), first)
	two, regTwo := mustConsumer(t, testConsumerConfig(c), second)
	published := 0
	publish := func(n int) {
		t.Helper()
		for i := range 8 {
			mustPublish(t, p, fmt.Sprint("c", i), n)
		}
		published += 8 * n
	}
	stopOne := run(t, one)
	publish(30)
	eventually(t, "the first consumer handles", func() bool { return first.handled() > 0 })
	stopTwo := run(t, two)
	eventually(t, "both have partitions", func() bool {
		publish(5)
		return first.partitions() > 0 && second.partitions() > 0 && first.partitions()+second.partitions() == int(c.Partitions)
	})
	// The first one cannot do its work for a while: it keeps its records, and its partitions until it leaves.
	var broken sync.Mutex
	failing := true
	first.mu.Lock()
	first.fail = func() error {
		broken.Lock()
		defer broken.Unlock()
		if failing {
			return errors.New("the store is away")
		}
		return nil
	}
	first.mu.Unlock()
	publish(10)
	eventually(t, "the first consumer tries again", func() bool { return metric(t, regOne, "ringwatch_stream_handle_retries_total") > 2 })
	if metric(t, regOne, "ringwatch_stream_pending_age_seconds") <= 0 {
		t.Error("pending records have no age")
	}
	third := newWorker(b)
	three, regThree := mustConsumer(t, testConsumerConfig(c), third)
	stopThree := run(t, three)
	eventually(t, "a third consumer gets a partition although the first is stuck", func() bool { publish(1); return third.partitions() > 0 })
	broken.Lock()
	failing = false
	broken.Unlock()
	publish(10)
	eventually(t, "everything is handled", func() bool { return b.count() == published })
	stopOne()
	publish(10)
	eventually(t, "two do what three did", func() bool { return b.count() == published })
	stopTwo()
	stopThree()
	if b.err != nil {
		t.Error(b.err)
	}
	for _, reg := range []*prometheus.Registry{regOne, regTwo, regThree} {
		consumeLedger(t, reg)
	}
}

// Ticks that take longer than the time between them must not keep records away.
func TestSlowTicks(t *testing.T) {
	c := testConfig(t, engines.SharedKafka(t))
	mustTopic(t, c)
	p, _ := mustProducer(t, c)
	w := &slowTicker{worker: newWorker(newBoard()), took: 30 * time.Millisecond}
	consumer, reg := mustConsumer(t, testConsumerConfig(c), w) // ticks are 20 ms apart
	stop := run(t, consumer)
	mustPublish(t, p, "prod", 100)
	eventually(t, "everything is handled", func() bool { return w.handled() == 100 })
	stop()
	consumeLedger(t, reg)
}

type slowTicker struct {
	*worker
	took time.Duration
}

func (s *slowTicker) Tick(ctx context.Context, now time.Time) error {
	wait(ctx, s.took)
	return errors.New("and it fails")
}

func TestFatal(t *testing.T) {
	c := testConfig(t, engines.SharedKafka(t))
	mustTopic(t, c)
	p, _ := mustProducer(t, c)
	mustPublish(t, p, "prod", 1)
	w := newWorker(newBoard())
	w.fail = func() error { return fmt.Errorf("no use: %w", ErrFatal) }
	consumer, reg := mustConsumer(t, testConsumerConfig(c), w)
	if err := consumer.Run(t.Context()); !errors.Is(err, ErrFatal) {
		t.Errorf("Run: %v", err)
	}
	if len(committed(t, c, c.Topic)) != 0 {
		t.Error("an offset was committed without effect")
	}
	consumeLedger(t, reg)
}

func TestMaxAge(t *testing.T) {
	c := testConfig(t, engines.SharedKafka(t))
	c.Partitions = 1
	mustTopic(t, c)
	client := mustClient(t, c)
	for i := range 10 {
		at := time.Now()
		if i < 5 {
			at = at.Add(-time.Hour)
		}
		if err := client.ProduceSync(t.Context(), &kgo.Record{Key: []byte("acme/prod"), Value: []byte{byte(i)}, Timestamp: at}).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	w := newWorker(newBoard())
	cc := testConsumerConfig(c)
	cc.MaxAge = 15 * time.Minute
	consumer, _ := mustConsumer(t, cc, w)
	run(t, consumer)
	eventually(t, "five records are handled", func() bool { return w.handled() == 5 })
	if first := w.kept[0]; first.Offset != 5 {
		t.Errorf("it began at %d", first.Offset)
	}
}

// TestFrom: a consumer that is told to walk back begins there although all is committed, commits the way forward again, and a rebalance does not begin the walk anew.
func TestFrom(t *testing.T) {
	c := testConfig(t, engines.SharedKafka(t))
	c.Partitions = 2
	mustTopic(t, c)
	client := mustClient(t, c)
	start := time.Now().Add(-time.Hour)
	for i := range 40 {
		r := &kgo.Record{Key: []byte("acme/prod"), Value: []byte{byte(i)}, Partition: int32(i % 2), Timestamp: start.Add(time.Duration(i/2) * time.Minute)}
		if err := client.ProduceSync(t.Context(), r).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	done := func() bool {
		m := committed(t, c, c.Topic)
		return m[0] == 20 && m[1] == 20
	}
	first := newWorker(newBoard())
	consumer, _ := mustConsumer(t, testConsumerConfig(c), first)
	stop := run(t, consumer)
	eventually(t, "all is committed", func() bool { return first.handled() == 40 && done() })
	stop()

	cc := testConsumerConfig(c)
	cc.From = start.Add(7*time.Minute + time.Second)
	w := newWorker(newBoard())
	consumer, _ = mustConsumer(t, cc, w)
	run(t, consumer)
	eventually(t, "what came since is handled again", func() bool { return w.handled() == 24 })
	for _, r := range w.kept {
		if r.Offset < 8 {
			t.Errorf("offset %d came again", r.Offset)
		}
	}
	eventually(t, "all is committed again", done)
	// Another joins and takes a partition, then leaves.
	other := newWorker(newBoard())
	joins, _ := mustConsumer(t, testConsumerConfig(c), other)
	leave := run(t, joins)
	eventually(t, "the first one has one partition", func() bool { return w.partitions() == 1 })
	leave()
	for p := range int32(2) {
		r := &kgo.Record{Key: []byte("acme/prod"), Value: []byte{99}, Partition: p}
		if err := client.ProduceSync(t.Context(), r).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "the first one has both again", func() bool { return w.reached(21, 21) })
	if n := w.handled(); n != 26 {
		t.Errorf("%d records were handled, 24 and 2 were due", n)
	}
}

// TestAgain: a handler that has lost the effect of records it still answers for gets them again, from LowWater on.
func TestAgain(t *testing.T) {
	c := testConfig(t, engines.SharedKafka(t))
	c.Partitions = 1
	mustTopic(t, c)
	p, _ := mustProducer(t, c)
	w := &forgetful{worker: newWorker(newBoard()), at: 25}
	consumer, reg := mustConsumer(t, testConsumerConfig(c), w)
	stop := run(t, consumer)
	mustPublish(t, p, "prod", 25)
	eventually(t, "the last five come again", func() bool { return w.handled() == 30 })
	mustPublish(t, p, "prod", 3)
	eventually(t, "it goes on", func() bool { return w.handled() == 33 })
	stop()
	for i, r := range w.kept {
		want := int64(i)
		if i >= 25 {
			want -= 5
		}
		if r.Offset != want {
			t.Fatalf("record %d has offset %d, want %d", i, r.Offset, want)
		}
	}
	consumeLedger(t, reg)
}

type forgetful struct {
	*worker
	at   int
	done bool
}

func (f *forgetful) Tick(context.Context, time.Time) error {
	if f.done || f.handled() < f.at {
		return nil
	}
	f.done = true
	return fmt.Errorf("it is gone: %w", ErrAgain)
}
