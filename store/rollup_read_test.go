package store

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/ringwatch/ringwatch/memory"
	"github.com/ringwatch/ringwatch/store/calendar"
	"github.com/ringwatch/ringwatch/store/columns"
	"github.com/ringwatch/ringwatch/store/fresh"
	"github.com/ringwatch/ringwatch/store/reading"
	"github.com/ringwatch/ringwatch/store/spans"
	"github.com/ringwatch/ringwatch/stream"
	"github.com/ringwatch/ringwatch/window"
	"github.com/ringwatch/ringwatch/window/rollup"
	"github.com/ringwatch/ringwatch/window/rollup/rolluptest"
	"github.com/ringwatch/ringwatch/window/windowtest"
)

// TestReadRollupPart: a range and a selector, with increases from the sample before the range.
func TestReadRollupPart(t *testing.T) {
	c := newClock(eve)
	s := mustStore(t, c, func(c *Config) { c.HourSpread = 0 })
	n := windowtest.NewNode(seeded(t, 8))
	w := NewWriter(s)
	var frames [][]byte
	for at := eve; at < eve+100*60_000; at += 60_000 {
		sent := n.Step(at, false)
		frames = append(frames, sent.Bytes)
		c.millis.Store(at + 100)
		if err := w.Handle(t.Context(),
			[]stream.Record{{Account: "acme", Value: sent.Bytes,
				Offset: int64(len(frames))}}); err != nil {
			t.Fatal(err)
		}
		if err := w.CloseDue(t.Context(), c.now()); err != nil {
			t.Fatal(err)
		}
	}
	hours, days := number(s.metrics.hours.Hours.WithLabelValues("written")),
		number(s.metrics.hours.Days.WithLabelValues("written"))
	if hours != 2 || days != 1 {
		t.Errorf("%v hours and %v days were written for a node that never pauses, want the two "+
			"and the one that are over", hours, days)
	}
	m := labels.MustNewMatcher(labels.MatchRegexp, "__name__", "(node|table)_[01]")
	from, to := eve+20*60_000, eve+80*60_000
	samples := slices.DeleteFunc(direct(t, frames), func(s window.Series) bool {
		return !m.Matches(s.Labels.Get("__name__"))
	})
	for _, level := range rollup.Levels {
		series, _, err := answers(s).ReadRollup(t.Context(), "acme", n.ID, level, from, to, nil, m)
		if err != nil {
			t.Fatal(err)
		}
		got, err := rolluptest.Of(series)
		if err != nil {
			t.Fatal(err)
		}
		want := rolluptest.Direct(samples, level)
		for series, points := range want {
			for start := range points {
				if start < level.Start(from) || start > to {
					delete(points, start)
				}
			}
			if len(points) == 0 {
				delete(want, series)
			}
		}
		if d := rolluptest.Diff(got, want); d != "" || len(want) == 0 {
			t.Fatalf("level %s:\n%s", level.Name, d)
		}
	}
	if other, _, err := answers(s).ReadRollup(t.Context(), "other", n.ID, rollup.Hour, 0,
		math.MaxInt64, nil); err != nil || len(other) > 0 {
		t.Fatal("another account sees it", err)
	}
}

// rolledHour returns a store with an hour of closed windows and its rollups, and what they should
// say.
func rolledHour(t *testing.T, seed uint64) (*Store, *clock, *windowtest.Node, []window.Series) {
	c := newClock(eve)
	s := mustCassandra(t, c)
	n := windowtest.NewNode(seeded(t, seed))
	w := NewWriter(s)
	start := rollup.Hour.Start(eve)
	var frames [][]byte
	var records []stream.Record
	for at := start; at < start+rollup.Hour.Millis; at += 100_000 {
		frames = append(frames, n.Step(at, false).Bytes)
		records = append(records, stream.Record{Account: "acme", Value: frames[len(frames)-1]})
	}
	c.millis.Store(start + rollup.Hour.Millis)
	if err := w.Handle(t.Context(), records); err != nil {
		t.Fatal(err)
	}
	rollUp(t, w, c)
	return s, c, n, direct(t, frames)
}

// rollUp closes the windows of the hour that ends, has the hour and its day made, and lets days
// pass.
func rollUp(t *testing.T, w *Writer, c *clock) {
	t.Helper()
	day := rollup.Day.Start(c.millis.Load() - 1)
	c.millis.Add(10 * 60_000)
	if err := w.CloseDue(t.Context(), c.now()); err != nil {
		t.Fatal(err)
	}
	c.millis.Store(day + rollup.Day.Millis + 10*60_000)
	if open, err := w.Drain(t.Context(), c.now()); err != nil || open > 0 {
		t.Fatal(open, err)
	}
	c.millis.Add(3 * calendar.DayMillis)
}

// TestRollupsAreKept: what was read of rollups answers again, also other selectors of the same
// metrics, and no more once a frame is late.
func TestRollupsAreKept(t *testing.T) {
	for _, level := range rollup.Levels {
		c := newClock(rollup.Hour.Start(eve))
		s := mustStore(t, c, func(c *Config) { c.HourSpread, c.Grace = 0, 4*c.Timeout })
		n := windowtest.NewNode(seeded(t, 8))
		w := NewWriter(s)
		for range 36 { // none is late
			if err := w.Handle(t.Context(),
				[]stream.Record{{Account: "acme",
					Value: n.Step(c.millis.Load(), false).Bytes}}); err != nil {
				t.Fatal(err)
			}
			c.millis.Add(100_000)
			if err := w.CloseDue(t.Context(), c.now()); err != nil {
				t.Fatal(err)
			}
		}
		rollUp(t, w, c)
		*s.cache = *spans.NewCache(8<<20, s.limits, s.clock)
		start := rollup.Hour.Start(eve)
		end := start + rollup.Hour.Millis - 1
		read := func(level rollup.Level, m ...*labels.Matcher) ([]rollup.Series, reading.Report) {
			series, report, err := answers(s).ReadRollup(t.Context(), "acme", n.ID, level, start,
				end, nil, m...)
			if err != nil || report.Partial() {
				t.Fatal(err, report.Missing())
			}
			return series, report
		}
		some := labels.MustNewMatcher(labels.MatchRegexp, "__name__", "(node|table)_[01]")
		cold, report := read(level, some)
		if report.Raw == 0 || report.Kept > 0 {
			t.Fatalf("%s, cold: %d periods were read, %d were kept", level.Name, report.Raw,
				report.Kept)
		}
		warm, report := read(level, some)
		if report.Raw > 0 || report.Kept == 0 {
			t.Fatalf("%s, warm: %d periods were read, %d were kept", level.Name, report.Raw,
				report.Kept)
		}
		if d := rolluptest.Diff(of(t, warm), of(t, cold)); d != "" || len(cold) == 0 {
			t.Fatalf("%s, warm:\n%s", level.Name, d)
		}
		part, report := read(level, labels.MustNewMatcher(labels.MatchEqual, "__name__",
			cold[0].Metric.Name))
		if report.Raw > 0 || len(part) == 0 {
			t.Fatalf("%s: %d periods were read of a metric that is kept, with %d series",
				level.Name, report.Raw, len(part))
		}
		all, _ := read(level)
		*s.cache = *spans.NewCache(8<<20, s.limits, s.clock)
		again, _ := read(level)
		if d := rolluptest.Diff(of(t, all), of(t, again)); d != "" {
			t.Fatalf("%s, what is kept and more:\n%s", level.Name, d)
		}

		s.late.Clusters.Age = 0
		late := n.Step(end, false)
		if err := NewWriter(s).Handle(t.Context(),
			[]stream.Record{{Account: "acme", Value: late.Bytes}}); err != nil {
			t.Fatal(err)
		}
		changed, report := read(level)
		if report.Kept > 0 {
			t.Fatalf("%s: %d periods were kept although a frame is late", level.Name, report.Kept)
		}
		if d := rolluptest.Diff(of(t, changed), of(t, all)); d == "" {
			t.Fatalf("%s: the late frame is not in the answer", level.Name)
		}
	}
}

func of(t *testing.T, series []rollup.Series) rolluptest.Points {
	t.Helper()
	points, err := rolluptest.Of(series)
	if err != nil {
		t.Fatal(err)
	}
	return points
}

// TestDamagedRollupsArePartial: what does not decode is left out, counted and named; all else is
// answered.
func TestDamagedRollupsArePartial(t *testing.T) {
	s, _, n, samples := rolledHour(t, 21)
	checkRollups(t, s, n.ID, samples, "whole")
	table := s.rollups.Of(rollup.Hour)
	bucket := table.BucketOf(rollup.Hour.Start(eve))
	var typ, part string
	var at int64
	if err := s.each(t.Context(), func(scan func(...any) bool) bool {
		return scan(&typ, &part, &at)
	},
		"SELECT entity_type, part, at FROM "+s.table(table.Rows.Name)+
			" WHERE account = 'acme' AND node = ? AND bucket = ? AND entity_type > '' LIMIT 1",
		n.ID.String(), bucket); err != nil || typ == "" {
		t.Fatal(typ, err)
	}
	want := rolluptest.Direct(samples, rollup.Hour)
	for what, statement := range map[string]string{
		"garbage":       "UPDATE " + s.table(table.Rows.Name) + " SET blob = 0x01020304",
		"newer version": "UPDATE " + s.table(table.Rows.Name) + " SET blob = 0xfe0000000000000000",
		"gone":          "DELETE FROM " + s.table(table.Rows.Name),
	} {
		if err := s.exec(t.Context(),
			statement+" WHERE account = 'acme' AND node = ? AND bucket = ? AND entity_type = ? "+
				"AND part = ? AND at = ?",
			n.ID.String(), bucket, typ, part, at); err != nil {
			t.Fatal(err)
		}
		series, report, err := answers(s).ReadRollup(t.Context(), "acme", n.ID, rollup.Hour, 0,
			math.MaxInt64, nil)
		if err != nil {
			t.Fatal(err)
		}
		if !report.Partial() || len(report.Damage) == 0 {
			t.Errorf("%s: report %+v", what, report)
		}
		t.Log(what, report.Damage)
		got, err := rolluptest.Of(series)
		if err != nil {
			t.Fatal(err)
		}
		for series, points := range want {
			if !strings.HasPrefix(nameOf(series), typ+"_") && len(got[series]) != len(points) {
				t.Errorf("%s: %s is not whole", what, series)
			}
		}
		m := labels.MustNewMatcher(labels.MatchNotRegexp, "__name__", typ+"_.*")
		if _, report, err := answers(s).ReadRollup(t.Context(), "acme", n.ID, rollup.Hour, 0,
			math.MaxInt64, nil, m); err != nil || report.Partial() {
			t.Errorf("%s: other metrics: %+v %v", what, report, err)
		}
	}
}

// TestFrameAfterRawExpired: a frame that comes when the rest of its window has expired does not
// replace what its rollup knows.
func TestFrameAfterRawExpired(t *testing.T) {
	s, c, n, samples := rolledHour(t, 22)
	for _, table := range []string{fresh.TableName, columns.WindowsTable, columns.HoursTable} {
		empty(t, s, table)
	}
	c.millis.Add(s.config.RawTTL.Milliseconds())
	start := rollup.Hour.Start(eve)
	if err := writing(s).WriteFrame(t.Context(), "acme",
		n.Step(start+1000, true).Bytes); err != nil {
		t.Fatal(err)
	}
	if err := writing(s).CloseWindow(t.Context(), memory.Unbounded(), "acme", n.ID,
		start); err != nil {
		t.Fatal(err)
	}
	if err := writing(s).MakeHour(t.Context(), memory.Unbounded(), "acme", n.ID,
		start); err != nil {
		t.Fatal(err)
	}
	if err := writing(s).MakeDay(t.Context(), memory.Unbounded(), "acme", n.ID,
		rollup.Day.Start(start)); err != nil {
		t.Fatal(err)
	}
	checkRollups(t, s, n.ID, samples, "afterwards")
}

// TestRollupsOfOpenWindows: windows that nobody has closed are in the answer, however many there
// are and whatever windows between them have no frames.
func TestRollupsOfOpenWindows(t *testing.T) {
	start := rollup.Hour.Start(time.Now().UnixMilli())
	c := newClock(start)
	// With a shorter grace all frames count as late.
	s := mustStore(t, c, func(c *Config) { c.Grace = 2*c.Timeout + 10*time.Second })
	n := windowtest.NewNode(seeded(t, 1))
	var frames [][]byte
	for i := range 30 {
		at := start + int64(i)*60_000
		if i >= 10 && i < 20 {
			continue
		}
		sent := n.Step(at, false)
		c.millis.Store(sent.At + 100)
		if err := writing(s).WriteFrame(t.Context(), "acme", sent.Bytes); err != nil {
			t.Fatal(err)
		}
		frames = append(frames, sent.Bytes)
	}
	c.millis.Store(start + 45*60_000)
	checkRollups(t, s, n.ID, direct(t, frames), "of open windows")
}
