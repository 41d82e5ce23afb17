package rollup

import (
	"slices"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/window"
)

// Merge returns the rollup of a coarser period from those of its finer ones that are there, in any
// order. A metric that was not read in one of them is not in the result.
func Merge(level Level, start int64, parts []*Rollup) *Rollup {
	parts = slices.SortedFunc(slices.Values(parts), byStart)
	r := &Rollup{Level: level, Start: start}
	for _, p := range parts {
		r.Instants += p.Instants
		r.Parts = append(r.Parts, Part{p.Start, p.Instants})
	}
	var cells arena
	for _, g := range unite(dictionariesOf(parts)) {
		m := merger{group: g, arena: &cells,
			out: &Type{Dictionary: g.Dictionary, live: make([]uint32, len(g.Rows)),
				columns: make([]*column, len(g.Metrics))}}
		for i, p := range parts {
			for _, t := range p.Types {
				if to := g.maps[t.Dictionary]; to != nil {
					m.sources = append(m.sources, runSource{i, t, to})
					for row, n := range t.live {
						if to.rows != nil {
							row = int(to.rows[row])
						}
						m.out.live[row] += n
					}
				}
			}
		}
		for i := range g.Metrics {
			m.out.columns[i] = m.merge(i)
		}
		r.Types = append(r.Types, m.out)
	}
	return r
}

func byStart(a, b *Rollup) int { return int((a.Start - b.Start) / FiveMinutes.Millis) }

// dictionariesOf returns the dictionaries of rollups; those of neighbours that are the same come
// once.
func dictionariesOf(rollups []*Rollup) (list []*window.Dictionary) {
	for _, r := range rollups {
		for i, t := range r.Types {
			if n := len(list) - len(r.Types) + i; n < 0 || list[n] != t.Dictionary {
				list = append(list, t.Dictionary)
			}
		}
	}
	return list
}

// merger merges one type of several rollups in order of time.
type merger struct {
	*group
	*arena
	out     *Type
	sources []runSource
	now     []metricSource // the sources of the metric at hand
	total   []int64        // scratch by bucket
}

// find collects the sources of a metric. known is false if a rollup's column was not read, and no
// other type of that rollup has it, as it may be while a rollup is being written again. zero: all
// say zero wherever the entity is live.
func (m *merger) find(metric int) (known, zero bool) {
	m.now = m.now[:0]
	missing := -1 // a rollup without the column, if no type of it has been found with it
	found := -1
	zero = true
	for i := range m.sources {
		s := &m.sources[i]
		if missing >= 0 && s.slot != missing {
			return false, false
		}
		own := s.metricOf(metric)
		if own < 0 {
			zero = false
			continue
		}
		c := s.column(own)
		if c == unknown {
			zero = false
			if found != s.slot {
				missing = s.slot
			}
			continue
		}
		found = s.slot
		if missing == s.slot {
			missing = -1
		}
		zero = zero && c == nil
		m.now = append(m.now, metricSource{s.slot, s.mapping, s.Type.counts(c), rowWalk{column: c}})
	}
	return missing < 0, zero
}

func (m *merger) merge(metric int) *column {
	known, zero := m.find(metric)
	switch {
	case !known:
		return unknown
	case zero:
		return nil
	}
	of := &m.Metrics[metric]
	out := &column{counts: make([]uint32, len(m.Rows))}
	for row := range out.counts {
		sum, n := m.row(of, int32(row))
		out.counts[row] = n
		if n > 0 && !sum.zero() {
			out.rows, out.cells = append(out.rows, int32(row)), append(out.cells, sum)
		}
	}
	return out.compact(m.out.live)
}

// row merges the cells of a row.
func (m *merger) row(of *window.Metric, row int32) (sum *cell, n uint32) {
	own := false // sum is not one of the cells that are merged
	for i := range m.now {
		l := &m.now[i]
		r := l.rowOf(row)
		if r < 0 || l.counts[r] == 0 {
			continue
		}
		c := l.cell(r)
		if c == nil {
			c = &zeroCell
		}
		switch {
		case n == 0:
			sum = c
		case sum.zero() && c.zero():
		default:
			if !own {
				sum, own = m.begin(of, sum), true
			}
			m.add(of, sum, c)
		}
		n += l.counts[r]
	}
	if own && of.Kind.IsHistogram() {
		sum.hist = m.bucketsOf(sum.firsts(), sum.lasts(), m.of(m.total))
	}
	return sum, n
}

// begin returns a cell to which others can be added.
func (m *merger) begin(of *window.Metric, c *cell) *cell {
	sum := m.keep(*c)
	if of.Kind.IsHistogram() {
		m.total = slices.Grow(m.total[:0], of.Buckets())[:of.Buckets()]
		clear(m.total)
		addTo(m.total, c.totals(), 1)
		sum.hist = &buckets{first: c.firsts(), last: c.lasts()}
	}
	return sum
}

// add adds the cell of later values to sum; a histogram's counts to m.total.
func (m *merger) add(of *window.Metric, sum, c *cell) {
	if !of.Kind.IsHistogram() {
		*sum = sum.followedBy(of.Kind, c)
		return
	}
	if of.Kind == frame.Histogram {
		sum.total = increaseTotal(
			sum.total.increase() + c.gap(sum, m.total) + c.total.increase())
	} else {
		sum.total = sumsTotal(sum.total.sumOfSums() + c.total.sumOfSums())
	}
	addTo(m.total, c.totals(), 1)
	sum.last, sum.hist.last = c.last, c.lasts()
}

// gap is a histogram's increase from the last value of the cell before to c's first: it adds that
// of each bucket to counts, and returns the sum's.
func (c *cell) gap(before *cell, counts []int64) int64 {
	addTo(counts, c.firsts(), 1)
	if before.lasts().above(c.firsts()) { // it started again
		return c.first
	}
	addTo(counts, before.lasts(), -1)
	return c.first - before.last
}

// addTo adds counts, or with sign −1 subtracts them.
func addTo(dense []int64, s sparse, sign int64) {
	for i, bucket := range s.index {
		dense[bucket] += sign * s.count[i]
	}
}

// sum returns the counts of all buckets.
func (s sparse) sum() (sum int64) {
	for _, n := range s.count {
		sum += n
	}
	return sum
}

// rowWalk finds cells by rows that mostly ascend.
type rowWalk struct {
	*column
	next int
}

func (w *rowWalk) cell(row int32) *cell {
	if w.column == nil {
		return nil
	}
	for w.next < len(w.rows) && w.rows[w.next] < row {
		w.next++
	}
	switch {
	case w.next < len(w.rows) && w.rows[w.next] == row:
		return w.cells[w.next]
	case w.next > 0 && w.rows[w.next-1] >= row: // it went back
		return w.column.cell(row)
	}
	return nil
}
