package blobs

import (
	"github.com/ringwatch/ringwatch/frame/codec"
	"github.com/ringwatch/ringwatch/window/columns"
)

// appendPresence appends the patterns that are not "always", each with its rows in runs.
func appendPresence(dst []byte, p *columns.Presence) []byte {
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
	for i, row := range p.Rows {
		key = key[:0]
		previous := int32(-1)
		for _, e := range p.EdgesAt(i) {
			key = codec.AppendGap(key, previous, e)
			previous = e
		}
		pat := known[string(key)]
		if pat == nil {
			pat = &pattern{edges: p.EdgesAt(i)}
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
func (r *reader) presence(rows int, instants int32) *columns.Presence {
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
	p := &columns.Presence{
		Rows:  make([]int32, 0, listed),
		End:   make([]int32, 0, listed),
		Edges: make([]int32, 0, total),
	}
	for row, i := range byRow {
		if i > 0 {
			p.Add(int32(row), patterns[i-1])
		}
	}
	return p
}
