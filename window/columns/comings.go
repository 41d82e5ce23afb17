package columns

// Comings collects comings and goings, in ascending order of time within a row.
type Comings struct{ Row, At []int32 }

func (e *Comings) Add(row, at int32) { e.Row, e.At = append(e.Row, row), append(e.At, at) }

// Sorted is presence for rows in a provisional order.
func (e *Comings) Sorted(order []int32) *Presence {
	for i, row := range e.Row {
		e.Row[i] = order[row]
	}
	return e.Presence(len(order))
}

// Presence sorts what was collected by row. It returns nil if all rows are there at all instants.
func (e *Comings) Presence(rows int) *Presence {
	starts := make([]int32, rows+1)
	for _, r := range e.Row {
		starts[r+1]++
	}
	for r := range rows {
		starts[r+1] += starts[r]
	}
	sorted := make([]int32, len(e.At))
	next := append([]int32(nil), starts...)
	for i, r := range e.Row {
		sorted[next[r]] = e.At[i]
		next[r]++
	}
	p := &Presence{}
	for r := range rows {
		own := sorted[starts[r]:starts[r+1]]
		if len(own) == 1 && own[0] == 0 {
			continue
		}
		p.Rows = append(p.Rows, int32(r))
		p.Edges = append(p.Edges, own...)
		p.End = append(p.End, int32(len(p.Edges)))
	}
	if len(p.Rows) == 0 {
		return nil
	}
	return p
}
