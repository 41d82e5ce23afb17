package query_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/ringwatch/ringwatch/query/read"
	"github.com/ringwatch/ringwatch/window"
)

// selectors are what a range is read with: everything, nothing that there is, and two that overlap.
func selectors() map[string][][]*labels.Matcher {
	name := func(expression string) []*labels.Matcher {
		m := labels.MustNewMatcher(labels.MatchRegexp, labels.MetricName, expression)
		return []*labels.Matcher{m}
	}
	return map[string][][]*labels.Matcher{
		"everything": nil,
		"nothing":    {name("there_is_none")},
		"two":        {name("node_.*"), name("node_load1|cassandra_compaction_.*")},
		"instants":   {{labels.MustNewMatcher(labels.MatchEqual, labels.MetricName, "")}},
	}
}

// TestRange: whichever source a range comes from, its values are those of the frames, and its
// instants those at which the node sent, whatever is selected. A request for the span that Redis
// keeps is read a moment after it came, and is Redis's all the same.
func TestRange(t *testing.T) {
	f := newFixture(t)
	sources := f.withRecent(f.store.Sources())
	r := f.reader(sources)
	now, minute := f.now.Load(), int64(60_000)
	// Silent for half a minute in Redis's part, and for one in the store's.
	f.fill(22*time.Minute, func(at int64) bool {
		ago := now - at
		return ago > 4*minute && ago < 4*minute+30_000 || ago > 17*minute && ago < 18*minute
	})
	n := &window.Node{ID: f.node.ID, Cluster: f.node.Cluster}
	span := f.config.RecentSpan.Milliseconds()
	for _, c := range []struct {
		from, to int64
		source   string
	}{
		{now - span, now, "recent"},
		{now - span - 5_000, now, "recent"},
		{now - 7*minute + 1, now - 3*minute - 1, "recent"}, // key frames before it are needed
		{now - span - minute, now, "both"},
		{now - 30*minute, now + minute, "both"},
		{now - 19*minute, now - 16*minute, "store"},
		{now - 40*minute, now - 30*minute, "store"}, // before the first frame
	} {
		for which, selectors := range selectors() {
			what := fmt.Sprintf("%s of %d to %d", which, c.from-now, c.to-now)
			reads := f.count("ringwatch_api_reads_total", "range", c.source)
			ctx, end := r.Shared.Scope(t.Context(), f.account())
			got, err := r.Range(ctx, f.account(), n, c.from, c.to, selectors)
			if err != nil {
				t.Fatal(what, err)
			}
			f.check(what, got, c.from, c.to, selectors)
			end()
			if f.count("ringwatch_api_reads_total", "range", c.source) != reads+1 {
				t.Errorf("%s is not from %s", what, c.source)
			}
		}
	}
	alone := f.reader(f.store.Sources())
	ctx, end := alone.Shared.Scope(t.Context(), f.account())
	defer end()
	got, err := alone.Range(ctx, f.account(), n, now-span, now, nil)
	if err != nil || f.count("ringwatch_api_reads_total", "range", "store") != 1 {
		t.Fatal(err)
	}
	f.check("without Redis", got, now-span, now, nil)
}

// TestBadReader: what NewReader refuses.
func TestBadReader(t *testing.T) {
	if _, err := read.New(read.Config{}, read.Sources{}); err == nil {
		t.Error("a reader of nothing")
	}
	f := newFixture(t)
	f.reader(f.store.Sources())
	sources := f.store.Sources()
	sources.Metrics = f.metrics
	if _, err := read.New(f.config, sources); err == nil {
		t.Error("two readers count into the same registry")
	}
}
