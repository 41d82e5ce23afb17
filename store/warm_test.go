package store

import (
	"context"
	"maps"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/ringwatch/ringwatch/ring"
	"github.com/ringwatch/ringwatch/store/calendar"
	"github.com/ringwatch/ringwatch/store/late"
	"github.com/ringwatch/ringwatch/stream"
	"github.com/ringwatch/ringwatch/window/rollup"
	"github.com/ringwatch/ringwatch/window/windowtest"
)

// tally counts what is read for somebody, by table.
type tally struct {
	mu    sync.Mutex
	reads map[string]int
}

func (y *tally) admit(_ context.Context, _ ring.Work, _, table string,
	n int) (func(time.Duration, error), error) {
	y.mu.Lock()
	defer y.mu.Unlock()
	y.reads[table] += n
	return func(time.Duration, error) {}, nil
}

// taken returns what was read since it was asked last.
func (y *tally) taken() map[string]int {
	y.mu.Lock()
	defer y.mu.Unlock()
	reads := y.reads
	y.reads = map[string]int{}
	return reads
}

// TestWarmReadingsAskNothing: what was read before is read again without any read of a node; while
// late frames come to some cluster each node's marks are read once a second, however many ask. A
// second is a minute here.
func TestWarmReadingsAskNothing(t *testing.T) {
	c := newClock(rollup.Hour.Start(eve))
	y := &tally{reads: map[string]int{}}
	s := mustStore(t, c, func(c *Config) {
		c.HourSpread, c.Grace, c.Admit, c.KeptBytes = 0, 4*c.Timeout, y.admit, 8<<20
	})
	w := NewWriter(s)
	nodes := []*windowtest.Node{windowtest.NewNode(seeded(t, 11)),
		windowtest.NewNode(seeded(t, 12)), windowtest.NewNode(seeded(t, 13))}
	for range 12 { // none is late
		for _, n := range nodes {
			if err := w.Handle(t.Context(),
				[]stream.Record{{Account: "acme",
					Value: n.Step(c.millis.Load(), false).Bytes}}); err != nil {
				t.Fatal(err)
			}
		}
		c.millis.Add(calendar.WindowMillis)
		if err := w.CloseDue(t.Context(), c.now()); err != nil {
			t.Fatal(err)
		}
	}
	c.millis.Add(10 * 60_000)
	if err := w.CloseDue(t.Context(), c.now()); err != nil {
		t.Fatal(err)
	}
	s.late.Clusters.Age = time.Minute // the machine's clock goes on
	start := rollup.Hour.Start(eve)
	ask := func(what string) {
		t.Helper()
		for _, m := range []*labels.Matcher{labels.MustNewMatcher(labels.MatchEqual, "__name__",
			""),
			labels.MustNewMatcher(labels.MatchRegexp, "__name__", "(node|table)_[01]")} {
			for _, n := range nodes {
				_, report := read(t, s, n.ID, start+600_000, start+rollup.Hour.Millis-1, m)
				if len(report.Instants) == 0 {
					t.Fatal(what, "nothing was read")
				}
			}
		}
	}
	ask("cold")
	if cold := y.taken(); len(cold) == 0 {
		t.Fatal("nothing is counted")
	}
	ask("warm")
	if warm := y.taken(); len(warm) > 0 {
		t.Errorf("what was read is read again: %v", warm)
	}
	delayed := windowtest.NewNode(seeded(t, 14)).Step(start, true)
	if err := NewWriter(s).WriteFrame(t.Context(), "acme", delayed.Bytes); err != nil {
		t.Fatal(err)
	}
	// as after a minute
	s.late.Clusters = late.NewClusters(s.session, s.limits, s.clock)
	s.late.Clusters.Age = time.Minute
	c.millis.Add(61_000)
	y.taken()
	for range 3 {
		ask("late")
	}
	want := map[string]int{late.ClustersTableName: 1, late.TableName: len(nodes)}
	if reads := y.taken(); !maps.Equal(reads, want) {
		t.Errorf("after a late frame of another node %v are read, not %v", reads, want)
	}
}
