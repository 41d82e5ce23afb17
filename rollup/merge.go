package rollup

import (
	"slices"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/window"
)

// Merge returns the rollup of a coarser period from those of its finer ones that are there, in any order. A metric that was not read in one of them is not in the result.
func Merge(level Level, start int64, parts []*Rollup) *Rollup {
	parts = slices.SortedFunc(slices.Values(parts), func(a, b *Rollup) int { return int((a.Start - b.Start) / FiveMinutes.Millis) })
	r := &Rollup{Level: level, Start: start}
	var dictionaries []*window.Dictionary
	for _, p := range parts {
		r.Instants += p.Instants
		r.Parts = append(r.Parts, Part{p.Start, p.Instants})
		for _, t := range p.Types {
			dictionaries = append(dictionaries, t.Dictionary)
		}
	}
	for _, g := range unite(dictionaries) {
		m := merger{group: g, out: &Type{Dictionary: g.Dictionary, live: make([]uint32, len(g.Rows)), columns: make([]*column, len(g.Metrics))}}
		for i, p := range parts {
			for _, t := range p.Types {
				if to := g.maps[t.Dictionary]; to != nil {
					m.types, m.maps, m.parts = append(m.types, t), append(m.maps, to), append(m.parts, i)
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

// merger merges one type of several rollups in order of time.
type merger struct {
	*group
	out   *Type
	types []*Type
	maps  []*mapping
	parts []int // of each type: which rollup it is in
}

// known returns by type the metric's number in it, and −1 where it says nothing: there is no such metric, or another type of the same rollup has the column,
// as it may be while a rollup is being written again. It is nil if a rollup's column was not read.
func (m *merger) known(metric int) []int {
	own := make([]int, len(m.types))
	missing, found := map[int]bool{}, map[int]bool{}
	for i, t := range m.types {
		own[i] = m.maps[i].metricOf(metric)
		switch {
		case own[i] < 0:
		case t.columns[own[i]] == unknown:
			missing[m.parts[i]] = true
			own[i] = -1
		default:
			found[m.parts[i]] = true
		}
	}
	for part := range missing {
		if !found[part] {
			return nil
		}
	}
	return own
}

func (m *merger) merge(metric int) *column {
	own := m.known(metric)
	if own == nil {
		return unknown
	}
	zero := true
	columns := make([]*column, len(m.types))
	for i, t := range m.types {
		if own[i] >= 0 {
			columns[i] = t.columns[own[i]]
		}
		zero = zero && own[i] >= 0 && columns[i] == nil
	}
	if zero {
		return nil
	}
	kind := m.Metrics[metric].Kind
	out := &column{counts: make([]uint32, len(m.Rows))}
	walks := make([]rowWalk, len(m.types))
	for i, c := range columns {
		walks[i] = rowWalk{column: c}
	}
	for row := range out.counts {
		sum, n := m.row(kind, columns, own, walks, int32(row))
		out.counts[row] = n
		if n > 0 && !sum.zero() {
			out.rows, out.cells = append(out.rows, int32(row)), append(out.cells, sum)
		}
	}
	return out.settle(m.out.live)
}

func (m *merger) row(kind frame.Kind, columns []*column, own []int, walks []rowWalk, row int32) (sum cell, n uint32) {
	for i, t := range m.types {
		if own[i] < 0 {
			continue
		}
		r := m.maps[i].rowOf(row)
		if r < 0 {
			continue
		}
		count := t.counts(columns[i])[r]
		if count == 0 {
			continue
		}
		c := walks[i].cell(r)
		if c == nil {
			c = &zeroCell
		}
		switch {
		case n == 0:
			sum = *c
		case c == &zeroCell && sum.zero():
		default:
			sum = sum.then(kind, c)
		}
		n += count
	}
	return sum, n
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
		return &w.cells[w.next]
	case w.next > 0 && w.rows[w.next-1] >= row: // it went back
		return w.column.cell(row)
	}
	return nil
}
