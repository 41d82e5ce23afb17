package query_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/query/read"
	"github.com/ringwatch/ringwatch/window"
)

// askedRecent notes from when on the recent source is asked for frames.
type askedRecent struct {
	read.Recent
	from int64
}

func (a *askedRecent) Frames(ctx context.Context, account string, node uuid.UUID, from, to int64) (
	[][]byte, bool, error) {
	a.from = from
	return a.Recent.Frames(ctx, account, node, from, to)
}

// TestRangeLeavesClosedWindowsToTheStore: of a range that the store has a part of anyway, the
// recent source is asked only for windows that may be open, unless frames are on their way to the
// store; and the answer is the same.
func TestRangeLeavesClosedWindowsToTheStore(t *testing.T) {
	f := newFixture(t)
	sources := f.withRecent(f.store.Sources())
	asked := &askedRecent{Recent: sources.Recent}
	behind := false
	sources.Recent = asked
	sources.Behind = func(context.Context, string, string) (int64, bool) { return 0, behind }
	r := f.reader(sources)
	now, minute := f.now.Load(), int64(60_000)
	f.fill(22*time.Minute, func(int64) bool { return false })
	n := &window.Node{ID: f.node.ID, Cluster: f.node.Cluster}
	span := f.config.RecentSpan.Milliseconds()
	for _, c := range []struct {
		behind     bool
		from, want int64
	}{
		{false, now - 30*minute, frame.WindowOf(now - minute)},
		{true, now - 30*minute, now - span},
		{false, now - span, now - span}, // the store need not be asked at all
	} {
		behind = c.behind
		for which, selectors := range selectors() {
			ctx, end := r.Shared.Scope(t.Context(), f.account())
			got, err := r.Range(ctx, f.account(), n, c.from, now, selectors)
			if err != nil {
				t.Fatal(which, err)
			}
			got.Missing = nil // that frames are on their way
			f.check(which, got, c.from, now, selectors)
			end()
			if asked.from != c.want {
				t.Errorf("behind %v: the recent source is asked from %d ms ago, not from %d ms",
					c.behind, now-asked.from, now-c.want)
			}
		}
	}
}
