package store

import (
	"math"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/store/calendar"
	"github.com/ringwatch/ringwatch/store/dictionaries"
	"github.com/ringwatch/ringwatch/store/fresh"
	"github.com/ringwatch/ringwatch/store/generations"
	"github.com/ringwatch/ringwatch/store/reading"
	"github.com/ringwatch/ringwatch/store/rows"
	"github.com/ringwatch/ringwatch/stream"
	"github.com/ringwatch/ringwatch/window"
	"github.com/ringwatch/ringwatch/window/building"
	"github.com/ringwatch/ringwatch/window/rollup"
	"github.com/ringwatch/ringwatch/window/selecting"
	"github.com/ringwatch/ringwatch/window/windowtest"
)

// TestLateFramesAreSeenAtOnce: what comes after its window was closed is in every answer before the
// window is closed again, whichever generation has the window, whether its other frames are still
// in fresh or have expired, and whether it is a delta frame or the window's missing key frame.
func TestLateFramesAreSeenAtOnce(t *testing.T) {
	for _, generation := range generations.Names() {
		t.Run(generation, func(t *testing.T) {
			for seed, expired := range []bool{false, true} {
				lateFrames(t, generation, uint64(seed), expired)
			}
		})
	}
}

func lateFrames(t *testing.T, generation string, seed uint64, expired bool) {
	// an hour of yesterday
	start := rollup.Day.Start(time.Now().UnixMilli()-calendar.DayMillis) + 70*60_000
	c := newClock(start)
	s := mustStore(t, c, func(c *Config) {
		c.Generation, c.Grace, c.KeptBytes = generation, 2*c.Timeout+10*time.Second, 8<<20
	})
	w, n := NewWriter(s), windowtest.NewNode(seeded(t, seed))
	var frames [][]byte
	offset := int64(0)
	give := func(sent windowtest.Sent) {
		t.Helper()
		frames = append(frames, sent.Bytes)
		mustHandle(t, w, stream.Record{Account: "acme", Offset: offset, Value: sent.Bytes})
		offset++
	}
	// Three windows of 14 frames. Two of the second one come late, its key frame, too, unless it is
	// in columns only; and the newest of all.
	var late []windowtest.Sent
	keys := map[int64]windowtest.Sent{} // by time
	for i := range 42 {
		sent := n.Step(start+int64(i)*21_500, false)
		c.millis.Store(sent.At + 100)
		h := header(t, sent.Bytes)
		if h.IsKey() {
			keys[h.At] = sent
		}
		if i == 20 || i == 25 || i == 41 || h.IsKey() && !expired &&
			h.Window() == start+calendar.WindowMillis {
			late = append(late, sent)
		} else {
			give(sent)
		}
	}
	if marks := marked(t, s, n.ID); len(marks) > 0 {
		t.Fatalf("windows %v are marked before a frame was late", marks)
	}
	c.millis.Store(start + 4*calendar.WindowMillis)
	if err := w.CloseDue(t.Context(), c.now()); err != nil {
		t.Fatal(err)
	}
	for i := range 2 { // what is kept of the windows is not the answer once they have late frames
		if report := checkReadNow(t, s, n, frames); i == 1 && generation == "v3" &&
			(report.Kept < 2 || report.Raw > 0) {
			t.Fatalf("closed windows are read again: %+v", report)
		}
	}
	if expired {
		empty(t, s, fresh.TableName)
		// key frames come once more, as from an agent that had no answer: no late delta frame
		// could be read without
		for _, sent := range late {
			if key, found := keys[header(t, sent.Bytes).KeyAt()]; found {
				give(key)
			}
		}
	}
	for _, sent := range late {
		give(sent)
		report := checkReadNow(t, s, n, frames)
		if report.Fresh == 0 {
			t.Fatalf("late frames are answered from columns alone: %+v", report)
		}
		checkRollups(t, s, n.ID, direct(t, frames), "with late frames")
	}
	newest := late[len(late)-1].At
	some := labels.MustNewMatcher(labels.MatchRegexp, labels.MetricName, ".+_[01]")
	before, _ := read(t, s, n.ID, start, math.MaxInt64, some)
	latest, _, _, err := answers(s).LatestFrames(t.Context(), "acme", n.ID)
	if err != nil {
		t.Fatal(err)
	}
	if built, _, err := building.Window(window.Node{}, latest); err != nil ||
		built.Times[len(built.Times)-1] != newest {
		t.Fatalf("the newest values are not the late frame's: %v", err)
	}
	if seen, err := answers(s).LastSeen(t.Context(), "acme", []uuid.UUID{n.ID}); err != nil ||
		seen[n.ID] != newest {
		t.Fatalf("last seen %v, %v", seen, err)
	}
	// Closed again the answer is the same, and needs no frames any more.
	if _, err := w.Drain(t.Context(), c.now()); err != nil {
		t.Fatal(err)
	}
	after, report := read(t, s, n.ID, start, math.MaxInt64, some)
	if d := windowtest.Diff(after, before); d != "" || report.Fresh > 0 || len(after) == 0 {
		t.Fatalf("%+v\n%s", report, d)
	}
	checkRollups(t, s, n.ID, direct(t, frames), "closed again")
}

// TestAfterAnOutage: windows whose frames came late are answered from their columns once these were
// made well after the frames came, and what comes later still is seen at once.
func TestAfterAnOutage(t *testing.T) {
	start := rollup.Day.Start(time.Now().UnixMilli()-calendar.DayMillis) + 70*60_000
	c := newClock(start)
	// the grace as by default
	s := mustStore(t, c, func(c *Config) { c.KeptBytes, c.Grace = 8<<20, 4*c.Timeout })
	w, n := NewWriter(s), windowtest.NewNode(seeded(t, 7))
	var frames [][]byte
	give := func(sent windowtest.Sent) {
		t.Helper()
		mustHandle(t, w, stream.Record{Account: "acme", Offset: int64(len(frames)),
			Value: sent.Bytes})
		frames = append(frames, sent.Bytes)
	}
	var later []windowtest.Sent
	c.millis.Store(start + 4*calendar.WindowMillis) // all are late
	for i := range 28 {
		if sent := n.Step(start+int64(i)*21_500, false); i == 9 || i == 10 {
			later = append(later, sent)
		} else {
			give(sent)
		}
	}
	closeAfter := func(wait time.Duration) {
		t.Helper()
		c.millis.Add(wait.Milliseconds())
		if _, err := w.Drain(t.Context(), c.now()); err != nil {
			t.Fatal(err)
		}
	}
	settled := s.limits.MarkAgain() + 2*s.config.Timeout
	closeAfter(settled) // a frame might have been under way still
	checkReadNow(t, s, n, frames)
	if report := checkReadNow(t, s, n, frames); report.Kept > 0 {
		t.Fatalf("columns that may lack a frame are kept: %+v", report)
	}
	give(later[0])
	if report := checkReadNow(t, s, n, frames); report.Fresh == 0 {
		t.Fatalf("a late frame is not looked for: %+v", report)
	}
	closeAfter(settled + time.Millisecond)
	checkReadNow(t, s, n, frames)
	if report := checkReadNow(t, s, n, frames); report.Kept != 1 || report.Fresh > 0 {
		t.Fatalf("the window that was closed again is not answered from its columns: %+v", report)
	}
	give(later[1])
	if report := checkReadNow(t, s, n, frames); report.Fresh == 0 || report.Kept > 0 {
		t.Fatalf("a frame that came later still is not looked for: %+v", report)
	}
	closeAfter(s.config.Grace)
	checkReadNow(t, s, n, frames)
	if report := checkReadNow(t, s, n, frames); report.Kept != 1 {
		t.Fatalf("a window that is closed again after the grace is not settled: %+v", report)
	}
}

func header(t *testing.T, b []byte) *frame.Header {
	t.Helper()
	h, _, err := frame.Parse(b)
	if err != nil {
		t.Fatal(err)
	}
	return &h
}

// checkReadNow compares Read with what the frames say.
func checkReadNow(t *testing.T, s *Store, n *windowtest.Node, frames [][]byte) reading.Report {
	t.Helper()
	want, err := windowtest.Of(direct(t, frames))
	if err != nil {
		t.Fatal(err)
	}
	got, report := read(t, s, n.ID, 0, math.MaxInt64)
	readable := readableAt(t, frames)
	all := map[int64]bool{} // key frames may be among them twice
	for _, b := range frames {
		all[header(t, b).At] = true
	}
	keyless := len(all) - len(readable)
	if d := windowtest.Diff(got, want); d != "" || report.Keyless != keyless ||
		report.Partial() != (keyless > 0) {
		t.Fatalf("%d frames have no key frame: %+v\n%s", keyless, report, d)
	}
	checkInstants(t, report, readable, 0, math.MaxInt64)
	return report
}

// marked returns the windows that are marked as having late frames.
func marked(t *testing.T, s *Store, node uuid.UUID) map[int64]int64 {
	t.Helper()
	list, err := s.late.Marks(t.Context(), rows.Work{}, "acme", node, 0, 1<<50)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// TestNewSeriesAreFoundBeforeTheirWindowIsClosed: the dictionaries of a new node are there with its
// key frame, and those of a new entity with the delta frame that brings it.
func TestNewSeriesAreFoundBeforeTheirWindowIsClosed(t *testing.T) {
	c := newClock(base)
	s := mustStore(t, c)
	w := NewWriter(s)
	n := windowtest.NewNode(seeded(t, 11))
	extended := 0
	var key []byte
	for i := range int64(40) {
		at := base + i*7_000
		sent := n.Step(at, false)
		// so that each delta frame is looked into
		c.millis.Store(at + dictionaries.AnnounceAgain.Milliseconds()*i)
		mustHandle(t, w, stream.Record{Account: "acme", Offset: i, Value: sent.Bytes})
		if h := header(t, sent.Bytes); h.IsKey() {
			key = sent.Bytes
		} else {
			if more, err := frame.Extends(sent.Bytes); err != nil || !more {
				continue
			}
			extended++
		}
		ids, err := answers(s).DictionariesWritten(t.Context(), "acme", 0)
		if err != nil {
			t.Fatal(err)
		}
		known := map[string]bool{}
		if err := answers(s).ReadDictionaries(t.Context(), "acme", n.ID, ids,
			func(_ window.Hash, d *window.Dictionary) {
				for _, row := range d.Rows {
					of := map[string]string{}
					for j, label := range d.Labels {
						if row[j] != "" { // a series does not have it
							of[label] = row[j]
						}
					}
					for j := range d.Metrics {
						known[d.Metrics[j].Name+labels.FromMap(of).String()] = true
					}
				}
			}); err != nil {
			t.Fatal(err)
		}
		built, _, err := building.Window(window.Node{}, [][]byte{key, sent.Bytes})
		if err != nil {
			t.Fatal(err)
		}
		for _, series := range selecting.Latest(built) {
			of := labels.NewBuilder(series.Labels).Del(labels.MetricName, "cluster", "datacenter",
				"rack", "node").Labels()
			if !known[series.Metric.Name+of.String()] {
				t.Fatalf("frame %d brought %s, and no dictionary has it", i, series.Labels)
			}
		}
	}
	if extended < 3 || number(s.metrics.closing.Closed.WithLabelValues("written")) > 0 {
		t.Errorf("%d delta frames brought entities, want some, and no window was to be closed",
			extended)
	}
}
