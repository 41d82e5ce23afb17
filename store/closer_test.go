package store

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ringwatch/ringwatch/dev/eventually"
	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/store/calendar"
	"github.com/ringwatch/ringwatch/store/closing"
	"github.com/ringwatch/ringwatch/store/cutovers"
	"github.com/ringwatch/ringwatch/store/fresh"
	"github.com/ringwatch/ringwatch/store/nodes"
	"github.com/ringwatch/ringwatch/stream"
	"github.com/ringwatch/ringwatch/window/windowtest"
)

// runs lets a Writer close windows beside the test, and waits for its end.
func runs(t *testing.T, w *Writer) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- w.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

func mustHandle(t *testing.T, w *Writer, records ...stream.Record) {
	t.Helper()
	if err := w.Handle(t.Context(), records); err != nil {
		t.Fatal(err)
	}
}

// TestHandleAgainWritesOnlyWhatIsMissing: else a batch that takes an overloaded Cassandra longer
// than one call may last would never end.
func TestHandleAgainWritesOnlyWhatIsMissing(t *testing.T) {
	c := newClock(base)
	s := mustCassandra(t, c)
	w, n := NewWriter(s), windowtest.NewNode(seeded(t, 1))
	want := windowtest.Samples{}
	var records []stream.Record
	for i := range int64(5) {
		sent := n.Step(base+i*5000, false)
		want.Add(sent.Samples)
		records = append(records, stream.Record{Account: "acme", Offset: i, Value: sent.Bytes})
	}
	// Only the key frame, the first, is written to this table, too.
	if err := s.change(t.Context(), "DROP TABLE "+s.table(nodes.TableName)); err != nil {
		t.Fatal(err)
	}
	m := s.metrics
	for range 2 {
		if err := w.Handle(t.Context(), records); err == nil || Retryable(err) {
			t.Fatalf("got %v", err)
		}
	}
	if a, written, returned := number(m.frames.accepted), number(m.frames.written),
		number(m.frames.returned); a != 6 ||
		written != 4 || returned != 2 {
		t.Errorf("accepted %v, written %v, returned %v", a, written, returned)
	}
	if err := w.Ready(t.Context()); err == nil ||
		!strings.Contains(err.Error(), "run ringwatch schema apply") {
		t.Errorf("readiness: %v", err)
	}
	if low, open := w.LowWater(0); !open || low != 0 {
		t.Errorf("low water %d, %t", low, open)
	}
	if err := s.Apply(t.Context()); err != nil {
		t.Fatal(err)
	}
	mustHandle(t, w, records...)
	if err := w.Ready(t.Context()); err != nil {
		t.Error(err)
	}
	if written := number(m.frames.written); written != 5 {
		t.Errorf("written %v", written)
	}
	checkRead(t, s, n, want)
	// What was revoked is not taken for written: when it comes again it may have expired.
	w.Revoke(0)
	mustHandle(t, w, records...)
	if written := number(m.frames.written); written != 10 {
		t.Errorf("written %v", written)
	}
	// Nor does readiness speak of what waited and is another's now.
	if err := s.change(t.Context(), "DROP TABLE "+s.table(nodes.TableName)); err != nil {
		t.Fatal(err)
	}
	if err := w.Handle(t.Context(),
		[]stream.Record{{Account: "acme", Offset: 9, Value: records[0].Value}}); err == nil ||
		w.Ready(t.Context()) == nil {
		t.Errorf("got %v", err)
	}
	w.Revoke(0)
	if err := w.Ready(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestOneWindowThatCannotBeClosed stays open, is named by readiness and tried again, while Run
// closes the others.
func TestOneWindowThatCannotBeClosed(t *testing.T) {
	c := newClock(base)
	s := mustCassandra(t, c)
	// A generation that this program does not know serves the second of four windows.
	for at, generation := range map[int64]string{base + calendar.WindowMillis: "v99",
		base + 2*calendar.WindowMillis: "v3"} {
		if err := s.exec(t.Context(),
			"INSERT INTO "+s.table(cutovers.TableName)+" (scope, at, generation) VALUES (?, ?, ?)",
			cutovers.Scope, at, generation); err != nil {
			t.Fatal(err)
		}
	}
	w, n := NewWriter(s), windowtest.NewNode(seeded(t, 2))
	want := windowtest.Samples{}
	for i := range int64(16) {
		sent := n.Step(base+i*75_000, false)
		want.Add(sent.Samples)
		mustHandle(t, w, stream.Record{Account: "acme", Offset: i, Value: sent.Bytes})
	}
	c.millis.Store(base + 4*calendar.WindowMillis + 600_000)
	runs(t, w)
	closed := func() float64 { return number(s.metrics.closing.Closed.WithLabelValues("written")) }
	eventually.True(t, "three windows closed, one tried again", func() bool {
		return closed() == 3 && number(s.metrics.retries) >= 2
	})
	if err := w.Ready(t.Context()); err == nil ||
		!strings.Contains(err.Error(), "1 windows wait to be closed") || !asIs(err, ErrGeneration) {
		t.Errorf("readiness: %v", err)
	}
	eventually.True(t, "it holds the offset", func() bool {
		low, open := w.LowWater(0)
		return open && low == 4
	})
	more := n.Step(base+16*75_000, false)
	want.Add(more.Samples)
	// it holds nobody up
	mustHandle(t, w, stream.Record{Account: "acme", Offset: 16, Value: more.Bytes})
	if err := s.exec(t.Context(),
		"INSERT INTO "+s.table(cutovers.TableName)+" (scope, at, generation) VALUES (?, ?, ?)",
		cutovers.Scope, base+calendar.WindowMillis, "v3"); err != nil {
		t.Fatal(err)
	}
	c.millis.Add(cutovers.Refresh.Milliseconds())
	eventually.True(t, "all windows closed", func() bool { _, open := w.LowWater(0); return !open })
	if err := w.Ready(t.Context()); err != nil {
		t.Error(err)
	}
	if report := checkRead(t, s, n, want); report.Fresh != 0 {
		t.Errorf("%+v", report)
	}
}

// TestExpiredFramesAreReadAgain: Cassandra was away for longer than frames live, so a window must
// not be closed from what is left.
func TestExpiredFramesAreReadAgain(t *testing.T) {
	c := newClock(base)
	s := mustStore(t, c)
	w, n := NewWriter(s), windowtest.NewNode(seeded(t, 3))
	want := windowtest.Samples{}
	var records []stream.Record
	for i := range int64(4) {
		sent := n.Step(base+i*60_000, false)
		want.Add(sent.Samples)
		records = append(records, stream.Record{Account: "acme", Offset: 7 + i, Value: sent.Bytes})
	}
	mustHandle(t, w, records...)
	c.millis.Add(s.config.FreshTTL.Milliseconds())
	empty(t, s, fresh.TableName)
	if err := w.CloseDue(t.Context(), c.now()); !asIs(err, ErrExpired) {
		t.Errorf("got %v", err)
	}
	runs(t, w)
	var again error
	eventually.True(t, "it asks for the frames", func() bool {
		again = w.Again()
		return again != nil
	})
	if low, open := w.LowWater(0); !asIs(again, ErrExpired) || !open || low != 7 {
		t.Errorf("%v, low water %d, %t", again, low, open)
	}
	w.Revoke(0)
	mustHandle(t, w, records...)
	c.millis.Add(s.config.Grace.Milliseconds())
	eventually.True(t, "the window is closed", func() bool {
		_, open := w.LowWater(0)
		return !open
	})
	if report := checkRead(t, s, n, want); report.Raw != 1 {
		t.Errorf("%+v", report)
	}
}

// TestHandleWaitsForClosing: frames wait while closing is a whole window behind, for as long as
// their caller allows.
func TestHandleWaitsForClosing(t *testing.T) {
	c := newClock(base)
	s := mustStore(t, c)
	w, n := NewWriter(s), windowtest.NewNode(seeded(t, 4))
	record := stream.Record{Account: "acme", Value: n.Step(base, false).Bytes}
	w.Overdue.Store(c.now().Add(-closing.MostBehind + time.Minute).UnixNano())
	mustHandle(t, w, record)
	w.Overdue.Store(c.now().Add(-closing.MostBehind).UnixNano())
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	record.Offset = 1
	if err := w.Handle(ctx, []stream.Record{record}); !asIs(err, ErrBehind) ||
		number(s.metrics.frames.accepted) != 1 {
		t.Errorf("got %v", err)
	}
	if err := w.Ready(t.Context()); !asIs(err, ErrBehind) {
		t.Errorf("readiness: %v", err)
	}
	var ended atomic.Bool
	done := make(chan error, 1)
	go func() { done <- w.Handle(t.Context(), []stream.Record{record}); ended.Store(true) }()
	if ended.Load() {
		t.Error("it did not wait")
	}
	c.millis.Store(base + 10*calendar.WindowMillis)
	runs(t, w) // closes what there is, and is at nothing then
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if err := w.Ready(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestClosingAge: how long the window that is due longest has waited. It is 0 from the start on
// while none is due, and 0 for who starts again and reads an old window's frames.
func TestClosingAge(t *testing.T) {
	c := newClock(base)
	s := mustStore(t, c)
	age := func(what string, want time.Duration) {
		t.Helper()
		got := number(s.metrics.closingAge.gauge)
		if got < want.Seconds() || got > want.Seconds()+1 {
			t.Errorf("%s: %v s, want %s", what, got, want)
		}
	}
	age("without a writer", 0)
	w, n := NewWriter(s), windowtest.NewNode(seeded(t, 5))
	age("without a window", 0)
	records := []stream.Record{{Account: "acme", Value: n.Step(base, false).Bytes},
		{Account: "acme", Offset: 1, Value: n.Step(base+5000, false).Bytes}}
	mustHandle(t, w, records...)
	age("a window that is not over", 0)
	due := frame.WindowOf(base) + calendar.WindowMillis + s.config.Grace.Milliseconds()
	c.millis.Store(due)
	age("a window that has become due", 0)
	c.millis.Store(due + 250_000)
	age("a window that nobody closes", 250*time.Second)
	w = NewWriter(s)
	mustHandle(t, w, records...)
	age("after a restart", 0)
	c.millis.Add(s.config.Grace.Milliseconds() + 30_000)
	age("which does not close it either", 30*time.Second)
	if err := w.CloseDue(t.Context(), c.now()); err != nil {
		t.Fatal(err)
	}
	age("when it is closed", 0)
}
