package store

import (
	"testing"

	"github.com/ringwatch/ringwatch/memory"
	"github.com/ringwatch/ringwatch/store/calendar"
	"github.com/ringwatch/ringwatch/store/columns"
	"github.com/ringwatch/ringwatch/window"
	"github.com/ringwatch/ringwatch/window/windowtest"
)

// TestBucketsWithinBuckets: while a bucket is divided processes write to both; who reads finds each
// hour once, in its newest form.
func TestBucketsWithinBuckets(t *testing.T) {
	c := newClock(base)
	s := mustCassandra(t, c)
	n := windowtest.NewNode(seeded(t, 600))
	const perBucket = 8 // hours, of a new node
	first := calendar.Floor(base, perBucket*window.HourMillis) - perBucket*window.HourMillis
	c.millis.Store(first + 24*60*60_000)
	var late [][]byte
	want := windowtest.Samples{}
	for h := range int64(perBucket) {
		for i := range int64(5) {
			sent := n.Step(first+h*window.HourMillis+i*50_000, i == 0)
			want.Add(sent.Samples)
			if i == 2 {
				late = append(late, sent.Bytes)
			} else {
				write(t, s, sent)
			}
		}
	}
	makeAll := func(from, to int64) {
		t.Helper()
		for h := from; h < to; h++ {
			if err := writing(s).CloseWindow(t.Context(), memory.Unbounded(), "acme", n.ID,
				first+h*window.HourMillis); err != nil {
				t.Fatal(err)
			}
			if err := writing(s).MakeHour(t.Context(), memory.Unbounded(), "acme", n.ID,
				first+h*window.HourMillis); err != nil {
				t.Fatal(err)
			}
		}
	}
	makeAll(0, 6)
	// Another process divides the bucket, then late frames come for hours on both sides, and hours
	// that were never made.
	shorter := first + 4*window.HourMillis // of four hours
	if err := s.exec(t.Context(),
		"INSERT INTO "+s.table(columns.BucketsTable)+
			" (account, node, start, length) VALUES ('acme', ?, ?, ?)", n.ID.String(),
		shorter, 4*window.HourMillis); err != nil {
		t.Fatal(err)
	}
	for _, b := range late {
		if err := writing(s).WriteFrame(t.Context(), "acme", b); err != nil {
			t.Fatal(err)
		}
	}
	makeAll(2, perBucket)
	got, report := read(t, s, n.ID, 0, 1<<50)
	// Hours 0 and 1 have not been made again: their late frames are read from fresh.
	if d := windowtest.Diff(got, want); d != "" || report.Fresh != 2 || report.Damaged > 0 {
		t.Fatalf("%+v\n%s", report, d)
	}
	rows := map[int64]int{}
	if err := s.each(t.Context(), func(scan func(...any) bool) bool {
		var bucket int64
		var typ string
		more := scan(&bucket, &typ)
		if more && typ == "" {
			rows[bucket]++
		}
		return more
	}, "SELECT bucket, entity_type FROM "+s.table(columns.HoursTable)+
		" WHERE account = 'acme' AND node = ? ALLOW FILTERING", n.ID.String()); err != nil {
		t.Fatal(err)
	}
	if rows[first] != 6 || rows[shorter] != 4 {
		t.Errorf("hours by partition: %v", rows)
	}
}
