package reading

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/google/uuid"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/store/rollups"
	"github.com/ringwatch/ringwatch/store/spans"
	"github.com/ringwatch/ringwatch/window/blobs"
	"github.com/ringwatch/ringwatch/window/rollup"
)

// finalMillis is how long after its end a period may still change without a mark: frames are
// expected up to 15 minutes late, and a window is closed again a grace later.
const finalMillis = 20 * 60_000

// ReadRollup returns the rollups of a node's series that match, for periods that hold instants from
// ≤ at ≤ to (milliseconds since the Unix epoch), sorted by labels. Periods that are not over, or so
// lately that late frames may come, or that have some, are computed from the finer level, five
// minutes that are not closed from their frames: so the answer has what Read's has. facets are as
// rollup.SelectContext has them. What cannot be decoded is left out and reported; the error is
// Cassandra's.
func (r Reader) ReadRollup(
	ctx context.Context, account string, node uuid.UUID, level rollup.Level, from, to int64,
	facets []blobs.Facet, matchers ...*labels.Matcher,
) ([]rollup.Series, Report, error) {
	s := r.source
	var report Report
	now := s.Clock.Millis()
	ttl := s.Rollups.Of(level).TTL.Milliseconds()
	from = level.Start(max(from, now-ttl))
	to = min(to, now+frame.WindowMillis)
	if from > to {
		return nil, report, nil
	}
	of := rollupReader{source: s, task: r.task, runs: s.Rollups.At(r.task), account: account,
		node: node, now: now, matchers: matchers,
		report: &report}
	var err error
	t := s.Rollups.Of(level)
	// The period before, too: increases are from the last sample in it.
	first, last := from-level.Millis, level.Start(to)
	if of.late, err = s.Late.Marks(ctx, r.task.Work, account, node, t.RunOf(first),
		t.RunOf(last)+t.Run); err != nil {
		return nil, report, err
	}
	columns, next, err := of.finalColumns(ctx, level, first, last, facets)
	if err == nil && next <= last {
		var found map[int64]*rollup.Rollup
		if found, err = of.level(ctx, level, next, last); err == nil {
			columns, err = columns.Extend(ctx, r.task.Lease, slices.Collect(maps.Values(found)),
				matchers...)
		}
	}
	if err != nil {
		return nil, report, fmt.Errorf("store: read rollups: %w", err)
	}
	s.Metrics.Damaged.Add(float64(report.Damaged))
	selected, err := columns.Select(ctx, r.task.Lease, first, from, to, matchers...)
	if err != nil {
		return nil, report, fmt.Errorf("store: read rollups: %w", err)
	}
	return selected, report, nil
}

// rollupReader is one ReadRollup.
type rollupReader struct {
	source   *Source
	task     spans.Task
	runs     rollups.Runs
	account  string
	node     uuid.UUID
	now      int64
	matchers []*labels.Matcher
	late     map[int64]int64 // windows with late frames, and when they were marked, ms
	report   *Report
}

// level returns the rollups of the periods that begin at from ≤ start ≤ to.
func (r *rollupReader) level(ctx context.Context, level rollup.Level,
	from, to int64) (map[int64]*rollup.Rollup, error) {
	found, known, damage, err := r.runs.Read(ctx, level, &spans.Query{Account: r.account,
		Node: r.node,
		From: from, To: to, Matchers: r.matchers, Keep: true}, r.late)
	if err != nil {
		return nil, err
	}
	r.report.damage(damage...)
	r.report.Raw += len(found) - known
	r.report.Kept += known
	finer, coarse := level.Finer()
	if !coarse {
		return found, r.open(ctx, found, from, to)
	}
	// One reading of the finer level for neighbours that need it: mostly the newest periods.
	type run struct{ first, last int64 }
	var runs []run
	for start := from; start <= to; start += level.Millis {
		if !r.pending(level, start, found) {
			continue
		}
		if n := len(runs); n > 0 && runs[n-1].last == start-level.Millis {
			runs[n-1].last = start
		} else {
			runs = append(runs, run{start, start})
		}
	}
	for _, n := range runs {
		parts, err := r.level(ctx, finer, n.first, n.last+level.Millis-finer.Millis)
		if err != nil {
			return nil, err
		}
		for start := n.first; start <= n.last; start += level.Millis {
			var of []*rollup.Rollup
			for at := start; at < start+level.Millis; at += finer.Millis {
				if p := parts[at]; p != nil {
					of = append(of, p)
				}
			}
			if len(of) > 0 {
				found[start] = rollup.Merge(level, start, of)
			}
		}
	}
	return found, nil
}

// pending reports whether a period's stored rollup may not be what its finer ones give.
func (r *rollupReader) pending(level rollup.Level, start int64,
	found map[int64]*rollup.Rollup) bool {
	if start+level.Millis > r.now-finalMillis ||
		found[start] == nil && start >= level.Start(r.now-rollups.PendingMillis) {
		return true
	}
	return spans.IsLate(r.late, start, level.Millis)
}
