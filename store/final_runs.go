package store

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/prometheus/prometheus/model/labels"
	"golang.org/x/sync/errgroup"

	"github.com/ringwatch/ringwatch/store/spans"
	"github.com/ringwatch/ringwatch/window/blobs"
	"github.com/ringwatch/ringwatch/window/rollup"
)

// A run is final when all that there will be of its periods is stored in it. Final runs are kept as
// columns: by node, level, metric and facet, over successive runs, in the form in which questions
// show them. So a question about a day finds one entry and not 24, and what is kept is numbers
// without the rows that they were read from.
//
// An entry also says which runs it was made of. If one of them was written again or has a late
// frame, the entry is made anew. Newer runs that have become final are added to it.

// finalRuns are columns of successive runs. They are immutable but for asked.
type finalRuns struct {
	runs    []finalRun
	columns *rollup.Columns // nil: those of the names
	names   []string
	bytes   int64
	asked   atomic.Int64 // how many runs questions have asked for at most, counted from the end
	before  int64        // the same, before the newest run was added
}

// finalRun says what of a run is in columns.
type finalRun struct {
	start          int64
	stamp, edition int64 // of the head that was read; 0: nothing was stored
	until          int64 // ms; then the head is looked for again
	periods        int
}

// same reports whether two say that the same was stored.
func (r *finalRun) same(o *finalRun) bool {
	return r.start == o.start && r.stamp == o.stamp && r.edition == o.edition
}

func sameRuns(a, b []finalRun) bool {
	return slices.EqualFunc(a, b, func(a, b finalRun) bool { return a.same(&b) })
}

// end returns where the runs of a length end.
func (s *finalRuns) end(length int64) int64 { return s.runs[len(s.runs)-1].start + length }

// columnsOf begins spans.ID.In of columns; no table's name does.
const columnsOf = "columns/"

// fewRows is how many entities a type may have for all of them to be kept, whichever are asked
// for.
const fewRows = 200

// finalRunsReader finds and makes what is kept of final runs for one reading.
type finalRunsReader struct {
	*rollupReader
	table  rollupTable
	facets []blobs.Facet
	names  []*labels.Matcher // those of the matchers that are of the metric's name
	chosen []*labels.Matcher // these or all: by which columns are chosen
	spans  *spans.Cached     // of the runs
	first  int64             // the run that is needed first
	last   int64
}

// finalColumns returns columns of final runs, from the run that holds from on, and where they end,
// in ms. What comes after that is to be read.
func (r *rollupReader) finalColumns(
	ctx context.Context, level rollup.Level, from, to int64, facets []blobs.Facet,
) (*rollup.Columns, int64, error) {
	if len(facets) > 0 && !slices.Contains(facets, blobs.Buckets) {
		facets = []blobs.Facet{blobs.Values}
	} else {
		facets = nil
	}
	s := finalRunsReader{rollupReader: r, table: r.config.rollupTable(level), facets: facets}
	s.first, s.last = s.table.runOf(from), s.table.runOf(to)
	for _, m := range r.matchers {
		if m.Name == labels.MetricName {
			s.names = append(s.names, m)
		}
	}
	q := spans.Query{Account: r.account, Node: r.node, Matchers: r.matchers, Keep: true}
	if s.spans = r.cache.Of(s.table.name, &q); s.spans == nil {
		return rollup.NewColumns(facets), from, nil
	}
	s.spans.HeadsOnly = true
	found, err := s.find(ctx)
	if err != nil || found == nil {
		return rollup.NewColumns(facets), from, err
	}
	columns := found.columns
	if columns == nil {
		if columns = s.named(found); columns == nil { // others have dropped some meanwhile
			return rollup.NewColumns(facets), from, nil
		}
	}
	return columns, found.end(s.table.run), nil
}

// id names what is kept for some matchers.
func (s *finalRunsReader) id(matchers []*labels.Matcher) spans.ID {
	q := spans.Query{Node: s.node, Matchers: matchers, Facets: s.facets}
	return spans.ID{Account: s.account, Node: s.node, Length: s.table.run,
		In: columnsOf + s.table.name + q.Name()}
}

// get returns what is kept for some matchers from the first run on; nil if nothing is.
func (s *finalRunsReader) get(matchers []*labels.Matcher) *finalRuns {
	of, _ := s.cache.Get(s.id(matchers)).(*finalRuns)
	if of == nil || of.runs[0].start > s.first || of.end(s.table.run) <= s.first {
		return nil
	}
	return of
}

// named joins the columns of names; nil if not all are kept.
func (s *finalRunsReader) named(of *finalRuns) *rollup.Columns {
	list := make([]*rollup.Columns, 0, len(of.names))
	for _, name := range of.names {
		one := s.get([]*labels.Matcher{nameIs(name)})
		if one == nil || !sameRuns(one.runs, of.runs) {
			return nil
		}
		list = append(list, one.columns)
	}
	return rollup.NewColumns(s.facets).Join(list...)
}

func nameIs(name string) *labels.Matcher {
	return labels.MustNewMatcher(labels.MatchEqual, labels.MetricName, name)
}

// find returns what is kept, after it has added the runs that are final by now; nil if nothing is.
func (s *finalRunsReader) find(ctx context.Context) (*finalRuns, error) {
	s.chosen = s.names
	known := s.get(s.names)
	if known == nil {
		s.chosen = s.matchers
		known = s.get(s.matchers)
	}
	if known != nil && known.columns == nil && s.named(known) == nil {
		known = nil
	}
	from := s.first
	if known != nil {
		until, isOld := s.valid(known)
		switch {
		case isOld:
			var err error
			if known, err = s.look(ctx, known); err != nil {
				return nil, err
			}
			if known != nil {
				from = known.end(s.table.run)
			}
		case until < min(known.end(s.table.run), s.last+s.table.run):
			known = nil
		default:
			from = known.end(s.table.run)
		}
	}
	if known != nil {
		s.report.Kept += known.periods(s.first, s.last)
		reach := (known.end(s.table.run) - s.first) / s.table.run
		for had := known.asked.Load(); had < reach && !known.asked.CompareAndSwap(had, reach); {
			had = known.asked.Load()
		}
	}
	if from > s.last {
		return known, nil
	}
	return s.grow(ctx, known, from)
}

func (s *finalRuns) periods(first, last int64) (n int) {
	for i := range s.runs {
		if s.runs[i].start >= first && s.runs[i].start <= last {
			n += s.runs[i].periods
		}
	}
	return n
}

// valid returns up to where the runs that the reading needs are still what is stored, in ms. isOld
// says that nobody has looked for long.
func (s *finalRunsReader) valid(of *finalRuns) (until int64, isOld bool) {
	for i := range of.runs {
		run := &of.runs[i]
		switch {
		case run.start < s.first:
		case run.start > s.last:
			return run.start, isOld
		case spans.IsLate(s.late, run.start, s.table.run):
			return run.start, false
		case s.spans.Began >= run.until:
			isOld = true
		}
	}
	return of.end(s.table.run), isOld
}

// look reads the heads again and returns the runs if they are still what is stored; else nil.
func (s *finalRunsReader) look(ctx context.Context, of *finalRuns) (*finalRuns, error) {
	last := min(s.last, of.end(s.table.run)-s.table.run)
	now, _, err := s.finalFrom(ctx, s.first, last)
	if err != nil || len(now) != int((last-s.first)/s.table.run)+1 {
		return nil, err
	}
	runs := slices.Clone(of.runs)
	at := int((s.first - runs[0].start) / s.table.run)
	if !sameRuns(runs[at:at+len(now)], now) {
		return nil, nil
	}
	copy(runs[at:], now)
	again := &finalRuns{runs: runs, columns: of.columns, names: of.names, bytes: of.bytes,
		before: of.before}
	again.asked.Store(of.asked.Load())
	s.put(s.chosen, again)
	return again, nil
}

// finalFrom returns the runs from … last up to the first that is not final, and the heads of those
// that are stored.
func (s *finalRunsReader) finalFrom(
	ctx context.Context, from, last int64,
) ([]finalRun, []*runHead, error) {
	q := spans.Query{Account: s.account, Node: s.node}
	heads, err := s.keptRunHeads(ctx, s.spans, &s.table, &q, from, last, s.late)
	if err != nil {
		return nil, nil, err
	}
	var runs []finalRun
	var list []*runHead
	for at := from; at <= last; at += s.table.run {
		h, span := heads[at], s.spans.Get(at, s.table.run)
		if span == nil || spans.IsLate(s.late, at, s.table.run) || !s.isFinal(at, h) {
			break
		}
		run := finalRun{start: at, until: span.Until}
		if h != nil {
			run.stamp, run.edition, run.periods = h.Stamp, h.Row.Edition, len(h.run.Periods)
			list = append(list, h)
		}
		runs = append(runs, run)
	}
	return runs, list, nil
}

// isFinal reports whether a run without late frames is all that there will be of its periods.
func (s *finalRunsReader) isFinal(start int64, h *runHead) bool {
	there := map[int64]bool{}
	if h != nil {
		for i := range h.run.Periods {
			there[h.run.Periods[i].Start] = true
		}
	}
	_, coarse := s.table.Finer()
	for at := start; at < start+s.table.run; at += s.table.Millis {
		switch {
		case coarse && at+s.table.Millis > s.now-finalMillis:
			return false
		case there[at]:
		case coarse && at >= s.table.Start(s.now-pendingMillis), !coarse && at >= s.soonest():
			return false
		}
	}
	return true
}

// grow adds the final runs from an instant on to what is kept, which may be nothing.
func (s *finalRunsReader) grow(ctx context.Context, known *finalRuns,
	from int64) (*finalRuns, error) {
	more, heads, err := s.finalFrom(ctx, from, s.last)
	if err != nil || len(more) == 0 {
		return known, err
	}
	chosen, err := s.together(ctx, heads)
	if err != nil {
		return nil, err
	}
	if known != nil && len(chosen) != len(s.chosen) { // what is kept is of other entities
		return s.grow(ctx, nil, s.first)
	}
	s.chosen = chosen
	rollups, whole, err := s.read(ctx, heads)
	if err != nil || !whole {
		return known, err // who reads it again says what is damaged
	}
	out := &finalRuns{runs: more}
	columns := rollup.NewColumns(s.facets)
	if known != nil {
		reach := max(known.asked.Load(), known.before)
		had := known.runs[max(0, len(known.runs)-int(reach)):]
		out.runs = slices.Concat(had, more)
		out.before = known.asked.Load() + int64(len(more))
		if columns = known.columns; columns == nil {
			if columns = s.named(known); columns == nil {
				return nil, nil
			}
		}
		columns = columns.From(had[0].start)
	}
	out.asked.Store(int64(len(out.runs)) - (s.first-out.runs[0].start)/s.table.run)
	if columns, err = columns.Extend(ctx, s.lease, rollups, s.chosen...); err != nil {
		return nil, err
	}
	for i := range more {
		s.report.Raw += more[i].periods
	}
	return s.keep(out, columns), nil
}

// together returns the matchers by which columns are chosen: those of the metric's name alone, if
// the node has few entities of the types.
func (s *finalRunsReader) together(ctx context.Context,
	heads []*runHead) ([]*labels.Matcher, error) {
	m := spans.NewMatches(ctx, s.names)
	for _, h := range heads {
		f := s.finderOfRollups(ctx, &h.Place)
		for i := range h.run.Types {
			d, err := f.Find(h.run.Types[i].Key, h.run.Types[i].Hash)
			if f.Err != nil {
				return nil, f.Err
			}
			if err == nil && len(d.Rows) > s.fewRows && m.Any(d) {
				return s.matchers, nil
			}
		}
	}
	return s.names, ctx.Err()
}

// read reads what matches of runs, and reports whether all of that could be read.
func (s *finalRunsReader) read(
	ctx context.Context, heads []*runHead,
) (list []*rollup.Rollup, whole bool, err error) {
	byBucket := map[int64][]*runHead{}
	for _, h := range heads {
		byBucket[h.Place.Bucket] = append(byBucket[h.Place.Bucket], h)
	}
	q := spans.Query{Node: s.node, Matchers: s.chosen}
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
			return s.readRuns(gctx, k, &s.table, some, s.chosen, take)
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
	s.cache.Put(id, of, spans.EntryCost+int(of.size())+len(id.In))
}

// size is about what it takes, in bytes.
func (s *finalRuns) size() int64 {
	n := s.bytes + 40*int64(cap(s.runs))
	for _, name := range s.names {
		n += 16 + int64(len(name))
	}
	return n
}
