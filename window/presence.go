package window

import (
	"slices"

	"github.com/ringwatch/ringwatch/frame/codec"
)

// presence says at which instants which rows are there. nil means all rows at all instants, and so
// does it for each row that is not listed.
type presence struct {
	rows  []int32 // ascending
	end   []int32 // by index in rows: where its edges end
	edges []int32 // instants, ascending in a row, at which it by turns comes and goes; first away
}

// of returns the edges of a row; full says that the row is there at all instants.
func (p *presence) of(row int32) (edges []int32, full bool) {
	if p == nil {
		return nil, true
	}
	i, found := slices.BinarySearch(p.rows, row)
	if !found {
		return nil, true
	}
	return p.at(i), false
}

func (p *presence) at(i int) []int32 {
	from := int32(0)
	if i > 0 {
		from = p.end[i-1]
	}
	return p.edges[from:p.end[i]]
}

// first returns the first instant of a row, and whether it has one.
func (p *presence) first(row int32) (int32, bool) {
	edges, full := p.of(row)
	if full {
		return 0, true
	}
	if len(edges) == 0 {
		return 0, false
	}
	return edges[0], true
}

// none reports whether no row of so many is ever there.
func (p *presence) none(rows int) bool {
	return p != nil && len(p.rows) == rows && len(p.edges) == 0
}

// never is the presence of a column about which nothing is known.
func never(rows int) *presence {
	p := &presence{rows: make([]int32, rows), end: make([]int32, rows)}
	for i := range p.rows {
		p.rows[i] = int32(i)
	}
	return p
}

func (p *presence) equal(o *presence) bool {
	if p == nil || o == nil {
		return p == o
	}
	return slices.Equal(p.rows, o.rows) && slices.Equal(p.end, o.end) &&
		slices.Equal(p.edges, o.edges)
}

// add appends a row's edges. Rows come in ascending order.
func (p *presence) add(row int32, edges []int32) {
	p.rows = append(p.rows, row)
	p.edges = append(p.edges, edges...)
	p.end = append(p.end, int32(len(p.edges)))
}

// addAll appends the rows of o between from and to, with shift added to their numbers.
func (p *presence) addAll(o *presence, from, to, shift int32) {
	if o == nil {
		return
	}
	i, _ := slices.BinarySearch(o.rows, from)
	for ; i < len(o.rows) && o.rows[i] < to; i++ {
		p.add(o.rows[i]+shift, o.at(i))
	}
}

// within returns the presence of the rows from … to−1 of so many, numbered from the first of them.
func (p *presence) within(from, to int32, rows int) *presence {
	if p == nil || from == 0 && to == int32(rows) {
		return p
	}
	cut := &presence{}
	cut.addAll(p, from, to, -from)
	if len(cut.rows) == 0 {
		return nil
	}
	return cut
}

// appendPresence appends the patterns that are not "always", each with its rows in runs.
func appendPresence(dst []byte, p *presence) []byte {
	if p == nil {
		return append(dst, 0)
	}
	type pattern struct {
		edges []int32
		runs  [][2]int32 // first row, number
	}
	var list []*pattern
	known := map[string]*pattern{}
	var key []byte
	for i, row := range p.rows {
		key = key[:0]
		previous := int32(-1)
		for _, e := range p.at(i) {
			key = codec.AppendGap(key, previous, e)
			previous = e
		}
		pat := known[string(key)]
		if pat == nil {
			pat = &pattern{edges: p.at(i)}
			known[string(key)] = pat
			list = append(list, pat)
		}
		if n := len(pat.runs); n > 0 && pat.runs[n-1][0]+pat.runs[n-1][1] == row {
			pat.runs[n-1][1]++
		} else {
			pat.runs = append(pat.runs, [2]int32{row, 1})
		}
	}
	dst = codec.AppendUvarint(dst, uint64(len(list)))
	for _, pat := range list {
		dst = codec.AppendUvarint(dst, uint64(len(pat.edges)))
		previous := int32(-1)
		for _, e := range pat.edges {
			dst = codec.AppendGap(dst, previous, e)
			previous = e
		}
		dst = codec.AppendUvarint(dst, uint64(len(pat.runs)))
		next := int32(0)
		for _, run := range pat.runs {
			dst = codec.AppendUvarint(codec.AppendUvarint(dst, uint64(run[0]-next)),
				uint64(run[1]-1))
			next = run[0] + run[1]
		}
	}
	return dst
}

// maxEdges bounds what a pattern of presence that many rows share can unfold to.
const maxEdges = 1 << 22

// presence reads what appendPresence wrote.
func (r *reader) presence(rows int, instants int32) *presence {
	n := r.Count("patterns", rows)
	if n == 0 || r.Err != nil {
		return nil
	}
	patterns := make([][]int32, n)
	byRow := make([]int32, rows) // number of a row's pattern, from 1; 0: always there
	listed, total := 0, 0
	for i := range patterns {
		edges := make([]int32, r.Count("edges", int(instants)))
		previous := -1
		for j := range edges {
			previous = r.Gap("an edge", previous, int(instants))
			edges[j] = int32(previous)
		}
		if len(edges) == 1 && edges[0] == 0 {
			r.Fail("a pattern that is always there")
		}
		patterns[i] = edges
		runs := r.Count("runs", rows)
		if runs == 0 {
			r.Fail("a pattern without rows")
		}
		for row := 0; runs > 0 && r.Err == nil; runs-- {
			row += r.Number("a run's beginning", rows-row)
			size := 1 + r.Number("a run's length", rows-row)
			if listed, total = listed+size, total+size*len(edges); total > maxEdges {
				r.Fail("presence unfolds to more than %d edges", maxEdges)
			}
			if r.Err != nil {
				return nil
			}
			for ; size > 0; size-- {
				if byRow[row] != 0 {
					r.Fail("a row has two patterns")
					return nil
				}
				byRow[row] = int32(i + 1)
				row++
			}
		}
	}
	if r.Err != nil {
		return nil
	}
	p := &presence{
		rows:  make([]int32, 0, listed),
		end:   make([]int32, 0, listed),
		edges: make([]int32, 0, total),
	}
	for row, i := range byRow {
		if i > 0 {
			p.add(int32(row), patterns[i-1])
		}
	}
	return p
}
