package window

import "slices"

// Merge returns the union of two windows of one node and one start: all instants of both. Where both know an instant, a wins; a metric that a could not
// read there is b's.
func Merge(a, b *Window) *Window {
	out := &Window{Node: a.Node, Start: a.Start, Length: a.Length}
	if len(b.Times) > 0 && (len(a.Times) == 0 || b.Times[len(b.Times)-1] > a.Times[len(a.Times)-1]) {
		out.Node = b.Node
	}
	out.Times = slices.Concat(a.Times, b.Times)
	slices.Sort(out.Times)
	out.Times = slices.Compact(out.Times)

	var ds drafts
	sides := [2]*side{newSide(a, out.Times), newSide(b, out.Times)}
	for _, s := range sides {
		for _, t := range s.Types {
			d := ds.of(t.Type, t.Labels)
			p := &part{side: s, t: t}
			for i := range t.Metrics {
				p.metrics = append(p.metrics, d.metric(t.Metrics[i]))
			}
			for _, row := range t.Rows {
				p.rows = append(p.rows, d.row(row))
			}
			s.parts[d.Dictionary] = append(s.parts[d.Dictionary], p)
		}
	}
	out.Types = ds.finish(&out.Node)
	for _, d := range ds.list {
		for _, s := range sides {
			for _, p := range s.parts[d.Dictionary] {
				for i, n := range p.rows {
					p.rows[i] = d.order[n]
				}
				p.byRow = inverse(p.rows, len(d.Rows))
				p.byMetric = inverse(p.metrics, len(d.Metrics))
			}
		}
	}
	for _, t := range out.Types {
		m := merger{Type: t, instants: len(out.Times)}
		for i, s := range sides {
			if parts := s.parts[t.Dictionary]; len(parts) > 0 {
				m.parts[i] = parts[0]
			}
			m.covers[i] = s.covers
		}
		m.mergeLive()
		for i := range t.Metrics {
			t.columns[i] = m.merge(i)
		}
	}
	return out
}

// side is one of the windows and where its instants stand in the union.
type side struct {
	*Window
	to     []int32 // instant → instant of the union
	covers []bool  // by instant of the union
	parts  map[*Dictionary][]*part
}

func newSide(w *Window, times []int64) *side {
	s := &side{Window: w, covers: make([]bool, len(times)), parts: map[*Dictionary][]*part{}}
	for _, at := range w.Times {
		i, _ := slices.BinarySearch(times, at)
		s.to = append(s.to, int32(i))
		s.covers[i] = true
	}
	return s
}

// part is a type of a side and how its numbers translate to those of the union.
type part struct {
	*side
	t               *Type
	metrics, rows   []int32
	byMetric, byRow []int32
}

// merger merges one type.
type merger struct {
	*Type
	instants int
	parts    [2]*part
	covers   [2][]bool
}

func (m *merger) mergeLive() {
	var e edges
	for row := range m.Rows {
		now := false
		there := make([]bool, m.instants)
		for i := 1; i >= 0; i-- { // a last, so that it wins
			var live []bool
			if p := m.parts[i]; p != nil {
				live = p.liveAt(row, m.instants)
			}
			for t := range there {
				if m.covers[i][t] {
					there[t] = live != nil && live[t]
				}
			}
		}
		for t, is := range there {
			if is != now {
				e.add(int32(row), int32(t))
				now = is
			}
		}
	}
	m.live = e.presence(len(m.Rows))
}

// liveAt says at which instants of the union a row is live in this part.
func (p *part) liveAt(row, instants int) []bool {
	own := p.byRow[row]
	if own < 0 {
		return nil
	}
	there := make([]bool, instants)
	edges, here := p.t.live.of(own)
	for i := range p.Times {
		for len(edges) > 0 && int(edges[0]) <= i {
			here, edges = !here, edges[1:]
		}
		there[p.to[i]] = here
	}
	return there
}

func (m *merger) merge(metric int) *column {
	var cursors [2]*cursor
	zero, known := true, false
	for i, p := range m.parts {
		if p == nil {
			continue
		}
		own := p.byMetric[metric]
		switch {
		case own < 0: // this part's entities have no such metric
			zero, known = false, true
		case p.t.columns[own] == unknown || p.t.columns[own].bare():
			zero = false
		default:
			known = true
			zero = zero && p.t.columns[own] == nil
			cursors[i] = newCursor(p.t, int(own), int32(len(p.Times)))
		}
	}
	switch {
	case zero:
		return nil
	case !known:
		return unknown
	}
	a := newAssembler(&m.Metrics[metric], m.live, len(m.Rows))
	values := make([]value, m.instants)
	for row := range m.Rows {
		clear(values)
		for i := 1; i >= 0; i-- {
			p := m.parts[i]
			if p != nil && cursors[i] == nil && p.byMetric[metric] >= 0 {
				continue // not read: it says nothing, not even that there is no value
			}
			for t, c := range m.covers[i] {
				if c {
					values[t] = value{}
				}
			}
			if cursors[i] != nil && p.byRow[row] >= 0 {
				p.read(cursors[i], p.byRow[row], values)
			}
		}
		a.row(int32(row), values)
	}
	return a.column()
}

// read enters a row's values at their instants of the union.
func (p *part) read(c *cursor, row int32, values []value) {
	c.row(row)
	for c.next(0, c.instants) {
		v := value{present: true, word: c.word}
		switch {
		case c.counts != nil:
			v.counts = slices.Clone(c.counts)
		case c.column != nil && c.column.texts != nil:
			v.text, v.word = c.text(), 0
		}
		values[p.to[c.instant]] = v
	}
}
