package columns

import "slices"

// Presence says at which instants which rows are there. nil means all rows at all instants, and so
// does it for each row that is not listed.
type Presence struct {
	Rows  []int32 // ascending
	End   []int32 // by index in rows: where its edges end
	Edges []int32 // instants, ascending in a row, at which it by turns comes and goes; first away
}

// EdgesOf returns the edges of a row; full says that the row is there at all instants.
func (p *Presence) EdgesOf(row int32) (edges []int32, full bool) {
	if p == nil {
		return nil, true
	}
	i, found := slices.BinarySearch(p.Rows, row)
	if !found {
		return nil, true
	}
	return p.EdgesAt(i), false
}

func (p *Presence) EdgesAt(i int) []int32 {
	from := int32(0)
	if i > 0 {
		from = p.End[i-1]
	}
	return p.Edges[from:p.End[i]]
}

// First returns the first instant of a row, and whether it has one.
func (p *Presence) First(row int32) (int32, bool) {
	edges, full := p.EdgesOf(row)
	if full {
		return 0, true
	}
	if len(edges) == 0 {
		return 0, false
	}
	return edges[0], true
}

// Empty reports whether no row of so many is ever there.
func (p *Presence) Empty(rows int) bool {
	return p != nil && len(p.Rows) == rows && len(p.Edges) == 0
}

func (p *Presence) Equal(o *Presence) bool {
	if p == nil || o == nil {
		return p == o
	}
	return slices.Equal(p.Rows, o.Rows) && slices.Equal(p.End, o.End) &&
		slices.Equal(p.Edges, o.Edges)
}

// Instants returns at how many of all instants a row is there.
func (p *Presence) Instants(row, all int32) int {
	edges, full := p.EdgesOf(row)
	if full {
		return int(all)
	}
	n := int32(0)
	for i := 0; i < len(edges); i += 2 {
		end := all
		if i+1 < len(edges) {
			end = edges[i+1]
		}
		n += end - edges[i]
	}
	return int(n)
}

// Add appends a row's edges. Rows come in ascending order.
func (p *Presence) Add(row int32, edges []int32) {
	p.Rows = append(p.Rows, row)
	p.Edges = append(p.Edges, edges...)
	p.End = append(p.End, int32(len(p.Edges)))
}

// AddRows appends the rows of o between from and to, with shift added to their numbers.
func (p *Presence) AddRows(o *Presence, from, to, shift int32) {
	if o == nil {
		return
	}
	i, _ := slices.BinarySearch(o.Rows, from)
	for ; i < len(o.Rows) && o.Rows[i] < to; i++ {
		p.Add(o.Rows[i]+shift, o.EdgesAt(i))
	}
}

// Within returns the presence of the rows from … to−1 of so many, numbered from the first of them.
func (p *Presence) Within(from, to int32, rows int) *Presence {
	if p == nil || from == 0 && to == int32(rows) {
		return p
	}
	cut := &Presence{}
	cut.AddRows(p, from, to, -from)
	if len(cut.Rows) == 0 {
		return nil
	}
	return cut
}

func (p *Presence) Bytes() int64 {
	if p == nil {
		return 0
	}
	return 72 + 4*int64(cap(p.Rows)+cap(p.End)+cap(p.Edges))
}

// Never is the presence of a column about which nothing is known.
func Never(rows int) *Presence {
	p := &Presence{Rows: make([]int32, rows), End: make([]int32, rows)}
	for i := range p.Rows {
		p.Rows[i] = int32(i)
	}
	return p
}
