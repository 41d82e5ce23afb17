package reading

import (
	"context"
	"slices"
	"sync"

	"github.com/prometheus/prometheus/model/labels"
	"golang.org/x/sync/errgroup"

	"github.com/ringwatch/ringwatch/store/rollups"
	"github.com/ringwatch/ringwatch/store/spans"
	"github.com/ringwatch/ringwatch/window/rollup"
)

// together returns the matchers by which columns are chosen: those of the metric's name alone, if
// the node has few entities of the types.
func (s *finalRunsReader) together(ctx context.Context,
	heads []*rollups.Head) ([]*labels.Matcher, error) {
	m := spans.NewMatches(ctx, s.names)
	for _, h := range heads {
		f := s.reader.runs.Finder(ctx, &h.Place)
		for i := range h.Run.Types {
			d, err := f.Find(h.Run.Types[i].Key, h.Run.Types[i].Hash)
			if f.Err != nil {
				return nil, f.Err
			}
			if err == nil && len(d.Rows) > s.reader.source.FewRows && m.Any(d) {
				return s.reader.matchers, nil
			}
		}
	}
	return s.names, ctx.Err()
}

// read reads what matches of runs, and reports whether all of that could be read.
func (s *finalRunsReader) read(
	ctx context.Context, heads []*rollups.Head,
) (list []*rollup.Rollup, whole bool, err error) {
	byBucket := map[int64][]*rollups.Head{}
	for _, h := range heads {
		byBucket[h.Place.Bucket] = append(byBucket[h.Place.Bucket], h)
	}
	q := spans.Query{Node: s.reader.node, Matchers: s.chosen}
	k := s.spans.As(q.Name())
	whole = true
	var mu sync.Mutex
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(spans.ReadsInFlight)
	for _, some := range byBucket {
		g.Go(func() error {
			take := func(run *rollup.Run, _ bool, bad []error) {
				mu.Lock()
				defer mu.Unlock()
				whole = whole && len(bad) == 0
				list = append(list, run.Rollups()...)
			}
			return s.reader.runs.ReadThose(gctx, k, s.table, some, s.chosen, take)
		})
	}
	return list, whole, g.Wait()
}

// keep keeps columns. If they were chosen by name alone, each name has an entry of its own.
func (s *finalRunsReader) keep(out *finalRuns, columns *rollup.Columns) *finalRuns {
	isOne := len(s.names) == 1 && s.names[0].Type == labels.MatchEqual
	if isOne || len(s.chosen) > len(s.names) {
		out.columns, out.bytes = columns.Pack()
		s.put(s.chosen, out)
		return out
	}
	for name, of := range columns.ByName() {
		one := &finalRuns{runs: out.runs, before: out.before}
		one.asked.Store(out.asked.Load())
		one.columns, one.bytes = of.Pack()
		s.put([]*labels.Matcher{nameIs(name)}, one)
		out.names = append(out.names, name)
	}
	slices.Sort(out.names)
	s.put(s.chosen, out)
	return &finalRuns{runs: out.runs, columns: columns}
}

func (s *finalRunsReader) put(matchers []*labels.Matcher, of *finalRuns) {
	id := s.id(matchers)
	s.reader.source.Cache.Put(id, of, spans.EntryCost+int(of.size())+len(id.In))
}

// size is about what it takes, in bytes.
func (s *finalRuns) size() int64 {
	n := s.bytes + 40*int64(cap(s.runs))
	for _, name := range s.names {
		n += 16 + int64(len(name))
	}
	return n
}
