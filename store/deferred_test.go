package store

import (
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/ringwatch/ringwatch/dev/eventually"
	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/frame/frametest"
	"github.com/ringwatch/ringwatch/memory"
	"github.com/ringwatch/ringwatch/store/calendar"
	"github.com/ringwatch/ringwatch/stream"
	"github.com/ringwatch/ringwatch/window/windowtest"
)

// TestWindowThatTakesTooMuchIsSetAside: it is named and tried again, and given up when its frames
// expire, while windows of other accounts are closed as ever.
func TestWindowThatTakesTooMuchIsSetAside(t *testing.T) {
	c := newClock(base)
	budget, err := memory.NewBudget(t.Name(), 16<<20, nil)
	if err != nil {
		t.Fatal(err)
	}
	s := mustStore(t, c, func(config *Config) { config.Memory = budget })
	w, n, hostile := NewWriter(s), windowtest.NewNode(seeded(t, 5)), uuid.New()
	want := windowtest.Samples{}
	offset := int64(0)
	handle := func(account string, b []byte) {
		t.Helper()
		mustHandle(t, w, stream.Record{Account: account, Offset: offset, Value: b})
		offset++
	}
	const frames = 6
	for i := range int64(frames) { // some 6 MB decoded each, and each adds 2 to the window
		handle("evil", frametest.HistogramFrame(hostile, "prod", base+i*5000, 250, 300, 10, true))
	}
	for i := range int64(10) {
		sent := n.Step(base+i*5000, false)
		want.Add(sent.Samples)
		handle("acme", sent.Bytes)
	}
	aside := func() bool { return number(s.metrics.closing.Deferred) == 1 }
	closed := func() float64 { return number(s.metrics.closing.Closed.WithLabelValues("written")) }
	c.millis.Store(base + calendar.WindowMillis + s.config.Grace.Milliseconds() + 1000)
	runs(t, w)
	eventually.True(t, "one window closed, one set aside", func() bool {
		return closed() == 1 && aside()
	})
	if report := checkRead(t, s, n, want); report.Fresh != 0 {
		t.Errorf("%+v", report)
	}
	if text := w.Deferred(); !strings.Contains(text, hostile.String()) ||
		!strings.Contains(text, "evil") || strings.Contains(text, "acme") ||
		!strings.Contains(text, "1 windows") {
		t.Errorf("it is said that %q", text)
	}
	if err := w.Ready(t.Context()); err != nil {
		t.Errorf("one account's window makes the role unready: %v", err)
	}
	if low, open := w.LowWater(0); !open || low != 0 {
		t.Errorf("low water %d, %t", low, open)
	}
	// What was counted as closed may give its memory back a moment later.
	eventually.True(t, "all memory to be given back", func() bool { return budget.Used() == 0 })

	// Its memory is there after all: it is closed by itself.
	larger, err := memory.NewBudget(t.Name(), 4<<30, nil)
	if err != nil {
		t.Fatal(err)
	}
	again := another(s, func() Config {
		config := s.config
		config.Memory = larger
		return config
	}())
	wide := NewWriter(again)
	for i := range int64(frames) {
		mustHandle(t, wide, stream.Record{Account: "evil", Offset: i,
			Value: frametest.HistogramFrame(hostile, "prod", base+i*5000, 250, 300, 10, true)})
	}
	if _, err := wide.Drain(t.Context(), c.now()); err != nil || wide.Deferred() != "" ||
		number(again.metrics.closing.Closed.WithLabelValues("written")) != 1 {
		t.Errorf("with enough memory: %v, %q", err, wide.Deferred())
	}

	// What Drain closes is set aside as well, and is no error of its.
	other := NewWriter(s)
	mustHandle(t, other,
		stream.Record{Account: "evil", Value: frametest.HistogramFrame(uuid.New(), "prod", base+5,
			500, 600, 10, true)})
	if _, err := other.Drain(t.Context(), c.now()); err != nil ||
		!strings.Contains(other.Deferred(), "evil") {
		t.Errorf("%v, %q", err, other.Deferred())
	}

	// When its frames expire it is given up, and does not come from the stream again and again.
	c.millis.Add(s.config.FreshTTL.Milliseconds())
	w.windows.TryAgain()
	eventually.True(t, "its frames to be given up", func() bool {
		_, open := w.LowWater(0)
		// other's
		return !open && number(s.metrics.closing.LostFrames.WithLabelValues("memory")) == frames &&
			number(s.metrics.closing.Deferred) == 1
	})
	if err := w.Again(); err != nil {
		t.Errorf("its frames are asked for again: %v", err)
	}
	_ = frame.WindowMillis
}
