package reading

import (
	"context"
	"slices"

	"github.com/ringwatch/ringwatch/store/rollups"
	"github.com/ringwatch/ringwatch/store/spans"
	"github.com/ringwatch/ringwatch/window/rollup"
)

// valid returns up to where the runs that the reading needs are still what is stored, in ms. isOld
// says that nobody has looked for long.
func (s *finalRunsReader) valid(of *finalRuns) (until int64, isOld bool) {
	for i := range of.runs {
		run := &of.runs[i]
		switch {
		case run.start < s.first:
		case run.start > s.last:
			return run.start, isOld
		case spans.IsLate(s.reader.late, run.start, s.table.Run):
			return run.start, false
		case s.spans.Began >= run.until:
			isOld = true
		}
	}
	return of.end(s.table.Run), isOld
}

// look reads the heads again and returns the runs if they are still what is stored; else nil.
func (s *finalRunsReader) look(ctx context.Context, of *finalRuns) (*finalRuns, error) {
	last := min(s.last, of.end(s.table.Run)-s.table.Run)
	now, _, err := s.finalFrom(ctx, s.first, last)
	if err != nil || len(now) != int((last-s.first)/s.table.Run)+1 {
		return nil, err
	}
	runs := slices.Clone(of.runs)
	at := int((s.first - runs[0].start) / s.table.Run)
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
) ([]finalRun, []*rollups.Head, error) {
	q := spans.Query{Account: s.reader.account, Node: s.reader.node}
	heads, err := s.reader.runs.CachedHeads(ctx, s.spans, s.table, &q, from, last, s.reader.late)
	if err != nil {
		return nil, nil, err
	}
	var runs []finalRun
	var list []*rollups.Head
	for at := from; at <= last; at += s.table.Run {
		h, span := heads[at], s.spans.Get(at, s.table.Run)
		if span == nil || spans.IsLate(s.reader.late, at, s.table.Run) || !s.isFinal(at, h) {
			break
		}
		run := finalRun{start: at, until: span.Until}
		if h != nil {
			run.stamp, run.edition, run.periods = h.Stamp, h.Row.Edition, len(h.Run.Periods)
			list = append(list, h)
		}
		runs = append(runs, run)
	}
	return runs, list, nil
}

// isFinal reports whether a run without late frames is all that there will be of its periods.
func (s *finalRunsReader) isFinal(start int64, h *rollups.Head) bool {
	there := map[int64]bool{}
	if h != nil {
		for i := range h.Run.Periods {
			there[h.Run.Periods[i].Start] = true
		}
	}
	_, coarse := s.table.Finer()
	for at := start; at < start+s.table.Run; at += s.table.Millis {
		switch {
		case coarse && at+s.table.Millis > s.reader.now-finalMillis:
			return false
		case there[at]:
		case coarse && at >= s.table.Start(s.reader.now-rollups.PendingMillis),
			!coarse && at >= s.reader.soonest():
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
	out.asked.Store(int64(len(out.runs)) - (s.first-out.runs[0].start)/s.table.Run)
	if columns, err = columns.Extend(ctx, s.reader.task.Lease, rollups, s.chosen...); err != nil {
		return nil, err
	}
	for i := range more {
		s.reader.report.Raw += more[i].periods
	}
	return s.keep(out, columns), nil
}
