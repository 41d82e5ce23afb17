package store

import (
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/ringwatch/ringwatch/frame"
)

// TestDamagedBlobsArePartial: what does not decode is left out, counted and named; all else is answered.
func TestDamagedBlobsArePartial(t *testing.T) {
	s, _, n, sent := closedWindow(t, 300)
	want := write(t, s, sent...)
	closeIt(t, s, n)
	var typ, metric string
	err := s.each(t.Context(), func(scan func(...any) bool) bool { return scan(&typ, &metric) },
		"SELECT entity_type, metric FROM "+s.table(rawTable)+" WHERE entity_type > '' LIMIT 1 ALLOW FILTERING")
	if err != nil || metric == "" {
		t.Fatal(metric, err)
	}
	for what, statement := range map[string]string{
		"garbage":       "UPDATE " + s.table(rawTable) + " SET blob = 0x01020304",
		"newer version": "UPDATE " + s.table(rawTable) + " SET blob = 0xfe0000000000000000",
		"gone":          "DELETE FROM " + s.table(rawTable),
	} {
		if err := s.exec(t.Context(), statement+" WHERE account = 'acme' AND node = ? AND bucket = ? AND entity_type = ? AND metric = ? AND window = ?",
			n.ID.String(), bucketAt(base, newNodeBucket).start, typ, metric, base); err != nil {
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
			if len(got[series]) != len(values) && !slices.Contains([]string{metric}, nameOf(series)) {
				t.Errorf("%s: %s is not whole", what, series)
			}
		}
	}
	// Other metrics do not touch it.
	m := labels.MustNewMatcher(labels.MatchNotEqual, "__name__", metric)
	if _, report := read(t, s, n.ID, 0, 1<<50, m); report.Partial() {
		t.Errorf("other metrics: %+v", report)
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
	s, c, n, sent := closedWindow(t, 400)
	c.millis.Store(base + 250_000)
	write(t, s, sent[:7]...)
	write(t, s, sent[8:10]...) // not 7, their key frame
	frames, _, err := s.LatestFrames(t.Context(), "acme", n.ID)
	if err != nil || len(frames) != 2 {
		t.Fatal(len(frames), err)
	}
	h, _, _ := frame.Parse(frames[1])
	if h.At != sent[6].At {
		t.Errorf("got the frame at %d, want %d", h.At, sent[6].At)
	}
	c.millis.Add((30 * time.Minute).Milliseconds())
	if frames, _, err = s.LatestFrames(t.Context(), "acme", n.ID); err != nil || len(frames) != 0 {
		t.Errorf("half an hour later: %d frames, %v", len(frames), err)
	}
	if seen, err := s.LastSeen(t.Context(), "acme", []uuid.UUID{n.ID}); err != nil || seen[n.ID] != sent[0].At {
		t.Errorf("half an hour later it was last seen at %d, %v, want the key frame's %d", seen, err, sent[0].At)
	}
}
