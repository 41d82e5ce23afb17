package store

import (
	"testing"
	"time"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/store/calendar"
	"github.com/ringwatch/ringwatch/store/columns"
	"github.com/ringwatch/ringwatch/store/fresh"
	"github.com/ringwatch/ringwatch/store/late"
	"github.com/ringwatch/ringwatch/stream"
	"github.com/ringwatch/ringwatch/window"
	"github.com/ringwatch/ringwatch/window/rollup"
	"github.com/ringwatch/ringwatch/window/windowtest"
)

// TestLateFramesReachTheHour: a frame that is late by a minute, an hour or ten days is seen at
// once, and is in the hour when that is made again; what was there stays.
func TestLateFramesReachTheHour(t *testing.T) {
	start := calendar.Hour(eve)
	c := newClock(start)
	s := mustStore(t, c, func(c *Config) { c.HourSpread = time.Minute })
	n := windowtest.NewNode(seeded(t, 70))
	w := NewWriter(s)
	want := windowtest.Samples{}
	offset := int64(0)
	send := func(frames ...windowtest.Sent) {
		t.Helper()
		var records []stream.Record
		for _, f := range frames {
			records = append(records, stream.Record{Account: "acme", Offset: offset,
				Value: f.Bytes})
			want.Add(f.Samples)
			offset++
		}
		if err := w.Handle(t.Context(), records); err != nil {
			t.Fatal(err)
		}
	}
	check := func(when string) {
		t.Helper()
		got, report := read(t, s, n.ID, 0, 1<<50)
		if d := windowtest.Diff(got, want); d != "" || report.Partial() || report.Lost > 0 {
			t.Fatalf("%s: %+v\n%s", when, report, d)
		}
	}
	settle := func(when string) {
		t.Helper()
		for range 10 {
			c.millis.Add(60_000)
			if err := w.CloseDue(t.Context(), c.now()); err != nil {
				t.Fatal(when, err)
			}
		}
		check(when)
	}
	var delayed []windowtest.Sent
	for at := start; at < start+window.HourMillis; at += 25_000 {
		sent := n.Step(at, true) // key frames, which need no others
		if at%(5*25_000) == 0 {
			delayed = append(delayed, sent)
			continue
		}
		c.millis.Store(at + 200)
		send(sent)
		if err := w.CloseDue(t.Context(), c.now()); err != nil {
			t.Fatal(err)
		}
	}
	c.millis.Store(start + window.HourMillis)
	send(delayed[0], delayed[len(delayed)-1])
	check("a minute late")
	settle("a minute late, closed")
	if made := number(s.metrics.hours.Hours.WithLabelValues("written")); made != 1 {
		t.Fatalf("%v hours were made", made)
	}
	for i, by := range []time.Duration{time.Hour, 10 * 24 * time.Hour} {
		c.millis.Store(start + window.HourMillis + by.Milliseconds())
		// what was there has expired
		for _, table := range []string{fresh.TableName, late.TableName} {
			empty(t, s, table)
		}
		send(delayed[1+i], delayed[3+i])
		check("late by " + by.String())
		settle("late by " + by.String() + ", closed")
		// the hour alone
		for _, table := range []string{fresh.TableName, late.TableName, columns.WindowsTable} {
			empty(t, s, table)
		}
		check("late by " + by.String() + ", from the hour")
	}
	// The rollups are those of all samples.
	series, _, err := answers(s).Read(t.Context(), "acme", n.ID, 0, 1<<50)
	if err != nil {
		t.Fatal(err)
	}
	checkRollups(t, another(s, s.config), n.ID, series, "at the end")
}

// TestHourIsMadeByWhoHasThePartition: a process that dies before it makes an hour leaves it to the
// next one, which is told by the table alone.
func TestHourIsMadeByWhoHasThePartition(t *testing.T) {
	start := calendar.Hour(eve)
	c := newClock(start)
	s := mustStore(t, c, func(c *Config) { c.HourSpread = time.Minute })
	n := windowtest.NewNode(seeded(t, 71))
	w := NewWriter(s)
	for i := range int64(3) {
		sent := n.Step(start+i*frame.WindowMillis, true)
		c.millis.Store(sent.At + 200)
		if err := w.Handle(t.Context(),
			[]stream.Record{{Account: "acme", Partition: 4, Offset: 100 + i,
				Value: sent.Bytes}}); err != nil {
			t.Fatal(err)
		}
	}
	c.millis.Store(start + 30*60_000)
	if err := w.CloseDue(t.Context(), c.now()); err != nil {
		t.Fatal(err)
	}
	if _, open := w.LowWater(4); open {
		t.Fatal("the stream waits for the hour")
	}
	c.millis.Store(start + window.HourMillis + 5*60_000)
	next := another(s, s.config)
	v := NewWriter(next)
	v.Assign(3)
	if err := v.CloseDue(t.Context(), c.now()); err != nil {
		t.Fatal(err)
	}
	if made := number(next.metrics.hours.Hours.WithLabelValues("written")); made != 0 {
		t.Fatalf("%v hours were made of another's partition", made)
	}
	v.Assign(4)
	for range 3 { // it is found, and due a minute later
		if err := v.CloseDue(t.Context(), c.now()); err != nil {
			t.Fatal(err)
		}
		c.millis.Add(60_000)
	}
	if made := number(next.metrics.hours.Hours.WithLabelValues("written")); made != 1 {
		t.Fatalf("%v hours were made", made)
	}
	// Its rows of windows have expired when it could not be made for long: the frames are wanted
	// again, once, from where they begin.
	other := n.Step(start+2*window.HourMillis, true)
	c.millis.Store(other.At + 200)
	if err := v.Handle(t.Context(),
		[]stream.Record{{Account: "acme", Partition: 4, Offset: 200, Value: other.Bytes}}); err !=
		nil {
		t.Fatal(err)
	}
	c.millis.Add(10 * 60_000)
	if err := v.CloseDue(t.Context(), c.now()); err != nil {
		t.Fatal(err)
	}
	c.millis.Add(4 * rollup.Hour.Millis)
	if err := v.CloseDue(t.Context(), c.now()); !asIs(err, ErrExpired) ||
		!asIs(v.Again(), ErrExpired) {
		t.Fatalf("an hour whose windows have expired: %v", err)
	}
	if low, ok := v.LowWater(4); !ok || low != 200 {
		t.Fatalf("low water %d, %v, want the hour's first record", low, ok)
	}
	v.Revoke(4)
	if _, ok := v.LowWater(4); ok {
		t.Fatal("a revoked partition holds the stream")
	}
	v.Assign(4)
	if err := v.CloseDue(t.Context(), c.now()); err != nil || v.Again() != nil {
		t.Fatalf("they are wanted twice: %v", err)
	}
}
