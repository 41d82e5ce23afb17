package rollups

import (
	"cmp"
	"context"
	"sync"

	"github.com/prometheus/prometheus/model/labels"
	"golang.org/x/sync/errgroup"

	"github.com/ringwatch/ringwatch/memory"
	"github.com/ringwatch/ringwatch/store/dictionaries"
	"github.com/ringwatch/ringwatch/store/spans"
	"github.com/ringwatch/ringwatch/window/rollup"
)

// Read returns what is stored of a level's periods that begin at q.From ≤ start ≤ q.To, with the
// metrics that can match. What is not there or cannot be decoded is in damage. late are the windows
// that have late frames, for who lets what is kept answer; known are the periods that it answered.
func (r Runs) Read(ctx context.Context, level rollup.Level, q *spans.Query,
	late map[int64]int64) (found map[int64]*rollup.Rollup, known int, damage []error, err error) {
	t := r.tables.Of(level)
	k := r.tables.cache.Of(t.Rows.Name, q)
	heads, err := r.CachedHeads(ctx, k, t, q, t.RunOf(q.From), t.RunOf(q.To), late)
	if err != nil {
		return nil, 0, nil, err
	}
	found = map[int64]*rollup.Rollup{}
	byBucket := map[int64][]*Head{}
	for _, h := range heads {
		if h.Run == nil {
			damage = append(damage, h.Damage)
			continue
		}
		byBucket[h.Place.Bucket] = append(byBucket[h.Place.Bucket], h)
	}
	var mu sync.Mutex
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(spans.ReadsInFlight)
	for _, list := range byBucket {
		g.Go(func() error {
			return r.ReadThose(gctx, k, t, list, q.Matchers,
				func(run *rollup.Run, isKept bool, bad []error) {
					mu.Lock()
					defer mu.Unlock()
					for _, r := range run.Rollups() {
						if r.Start >= q.From && r.Start <= q.To {
							found[r.Start] = r
							if isKept {
								known++
							}
						}
					}
					damage = append(damage, bad...)
				})
		})
	}
	err = g.Wait()
	return found, known, damage, err
}

// ReadThose reads runs of one partition, and calls take with each of them, with whether all that is
// wanted of it was kept, and with what cannot be read.
func (r Runs) ReadThose(ctx context.Context, k *spans.Cached, t *Table, heads []*Head,
	matchers []*labels.Matcher, take func(run *rollup.Run, isKept bool, damage []error)) error {
	f := r.Finder(ctx, &heads[0].Place)
	m := spans.NewMatches(ctx, matchers)
	list := make([]spans.Planned, len(heads))
	for i, h := range heads {
		list[i] = spans.Planned{Head: h.Head, Types: spans.RunTypes(h.Run), Finder: f,
			Plan: spans.NewPlan(k.Get(h.Start, t.Run))}
	}
	if err := r.task.ReadPlanned(ctx, k, list, m, nil, 1); err != nil {
		return err
	}
	for i, h := range heads {
		c := list[i].Plan
		of, bad, isKept, err := c.Columns(k, h.Start, t.Run, func() (
			spans.Columns, []error, error) {
			run, bad, err := rollup.OpenRun(memory.Until(ctx, r.task.Lease), h.Run, c.Types,
				f.Find, c.Parts)
			return runColumns{run}, bad, cmp.Or(err, f.Err)
		})
		if err != nil {
			return err
		}
		if of == nil { // nothing matches
			of = runColumns{rollup.EmptyRun(h.Run)}
		}
		run := of.(runColumns).Run.Restrict(m.Any) // kept are others, too
		if err := ctx.Err(); err != nil {
			return err
		}
		take(run, isKept, bad)
	}
	return nil
}

// Finder finds the dictionaries of a partition of rollups.
func (r Runs) Finder(ctx context.Context, p *spans.Partition) *dictionaries.Finder {
	return r.tables.series.RollupFinder(ctx, r.task.Work, p.Table, p.Account, p.Node, p.Bucket)
}
