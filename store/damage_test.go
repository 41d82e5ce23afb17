package store

import (
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/memory"
	"github.com/ringwatch/ringwatch/store/calendar"
	"github.com/ringwatch/ringwatch/store/columns"
)

// TestDamagedBlobsArePartial: what does not decode is left out, counted and named; all else is
// answered. In a window, and in the hour that is made of it.
func TestDamagedBlobsArePartial(t *testing.T) {
	for _, made := range []bool{false, true} {
		s, _, n, sent := closedWindow(t, mustCassandra, 300)
		want := write(t, s, sent...)
		closeIt(t, s, n)
		table, find, where := columns.WindowsTable,
			"SELECT part, at FROM "+s.table(columns.WindowsTable)+
				" WHERE part > 0 LIMIT 1 ALLOW FILTERING", " AND hour = ? AND part = ? AND at = ?"
		var number int
		var at int64
		var typ, part string
		into, args := []any{&number, &at}, func() []any {
			return []any{n.ID.String(), calendar.Hour(base), number, at}
		}
		if made {
			if err := writing(s).MakeHour(t.Context(), memory.Unbounded(), "acme", n.ID,
				calendar.Hour(base)); err != nil {
				t.Fatal(err)
			}
			var bucket int64
			table, find, where = columns.HoursTable, "SELECT bucket, entity_type, part, at FROM "+
				s.table(columns.HoursTable)+" WHERE entity_type > '' LIMIT 1 ALLOW FILTERING",
				" AND bucket = ? AND entity_type = ? AND part = ? AND at = ?"
			into, args = []any{&bucket, &typ, &part, &at}, func() []any {
				return []any{n.ID.String(), bucket, typ, part, at}
			}
		}
		err := s.each(t.Context(), func(scan func(...any) bool) bool { return scan(into...) }, find)
		if err != nil || at == 0 {
			t.Fatal(at, err)
		}
		for what, statement := range map[string]string{
			"garbage":       "UPDATE " + s.table(table) + " SET blob = 0x01020304",
			"newer version": "UPDATE " + s.table(table) + " SET blob = 0xfe0000000000000000",
			"gone":          "DELETE FROM " + s.table(table),
		} {
			if err := s.exec(t.Context(), statement+" WHERE account = 'acme' AND node = ?"+where,
				args()...); err != nil {
				t.Fatal(err)
			}
			got, report := read(t, s, n.ID, 0, 1<<50)
			if !report.Partial() || report.Damaged != 1 && what == "gone" {
				t.Errorf("%s: report %+v", what, report)
			}
			t.Log(what, report.Damage)
			if len(report.Instants) != len(sent) { // what is damaged was sent all the same
				t.Errorf("%s: %d instants of %d frames", what, len(report.Instants), len(sent))
			}
			for series, values := range want {
				if made && len(got[series]) != len(values) &&
					!strings.HasPrefix(nameOf(series), typ+"_") {
					t.Errorf("%s: %s is not whole", what, series)
				}
			}
		}
		if !made {
			continue
		}
		// Other metrics do not touch it.
		m := labels.MustNewMatcher(labels.MatchNotRegexp, "__name__", typ+"_.*")
		if _, report := read(t, s, n.ID, 0, 1<<50, m); report.Partial() {
			t.Errorf("other metrics: %+v", report)
		}
	}
}

// nameOf returns the metric name in a series key of windowtest.
func nameOf(series string) string {
	const before = `__name__="`
	series = series[len("{")+len(before):]
	for i := range series {
		if series[i] == '"' {
			return series[:i]
		}
	}
	return series
}

// TestLatestWithoutItsKeyFrame: the newest frame cannot be read, the one before it can.
func TestLatestWithoutItsKeyFrame(t *testing.T) {
	s, c, n, sent := closedWindow(t, mustCassandra, 400)
	c.millis.Store(base + 250_000)
	write(t, s, sent[:7]...)
	write(t, s, sent[8:10]...) // not 7, their key frame
	frames, _, newer, err := answers(s).LatestFrames(t.Context(), "acme", n.ID)
	if err != nil || len(frames) != 2 || !newer {
		t.Fatal(len(frames), newer, err)
	}
	h, _, _ := frame.Parse(frames[1])
	if h.At != sent[6].At {
		t.Errorf("got the frame at %d, want %d", h.At, sent[6].At)
	}
	c.millis.Add((30 * time.Minute).Milliseconds())
	if frames, _, _, err = answers(s).LatestFrames(t.Context(), "acme", n.ID); err != nil ||
		len(frames) != 0 {
		t.Errorf("half an hour later: %d frames, %v", len(frames), err)
	}
	if seen, err := answers(s).LastSeen(t.Context(), "acme", []uuid.UUID{n.ID}); err != nil ||
		seen[n.ID] != sent[0].At {
		t.Errorf("half an hour later it was last seen at %d, %v, want the key frame's %d", seen,
			err, sent[0].At)
	}
}
