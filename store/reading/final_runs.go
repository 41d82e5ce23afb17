package reading

import (
	"context"
	"slices"
	"sync/atomic"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/ringwatch/ringwatch/store/rollups"
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

// FewRows is how many entities a type may have for all of them to be kept, whichever are asked
// for.
const FewRows = 200

// finalRunsReader finds and makes what is kept of final runs for one reading.
type finalRunsReader struct {
	reader *rollupReader
	table  *rollups.Table
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
	s := finalRunsReader{reader: r, table: r.source.Rollups.Of(level), facets: facets}
	s.first, s.last = s.table.RunOf(from), s.table.RunOf(to)
	for _, m := range r.matchers {
		if m.Name == labels.MetricName {
			s.names = append(s.names, m)
		}
	}
	q := spans.Query{Account: r.account, Node: r.node, Matchers: r.matchers, Keep: true}
	if s.spans = r.source.Cache.Of(s.table.Rows.Name, &q); s.spans == nil {
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
	return columns, found.end(s.table.Run), nil
}

// id names what is kept for some matchers.
func (s *finalRunsReader) id(matchers []*labels.Matcher) spans.ID {
	q := spans.Query{Node: s.reader.node, Matchers: matchers, Facets: s.facets}
	return spans.ID{Account: s.reader.account, Node: s.reader.node, Length: s.table.Run,
		In: columnsOf + s.table.Rows.Name + q.Name()}
}

// get returns what is kept for some matchers from the first run on; nil if nothing is.
func (s *finalRunsReader) get(matchers []*labels.Matcher) *finalRuns {
	of, _ := s.reader.source.Cache.Get(s.id(matchers)).(*finalRuns)
	if of == nil || of.runs[0].start > s.first || of.end(s.table.Run) <= s.first {
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
		s.chosen = s.reader.matchers
		known = s.get(s.reader.matchers)
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
				from = known.end(s.table.Run)
			}
		case until < min(known.end(s.table.Run), s.last+s.table.Run):
			known = nil
		default:
			from = known.end(s.table.Run)
		}
	}
	if known != nil {
		s.reader.report.Kept += known.periods(s.first, s.last)
		reach := (known.end(s.table.Run) - s.first) / s.table.Run
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
