package uniting

import "github.com/ringwatch/ringwatch/window/columns"

// presence joins the presences of the cursors' sources.
func (j *joiner) presence(runs []run) *columns.Presence {
	if j.always(runs) {
		return nil
	}
	j.rows, j.end, j.edges = j.rows[:0], j.end[:0], j.edges[:0]
	for row := range int32(len(j.typ.Rows)) {
		before := len(j.edges)
		j.edgesOf(row, runs)
		if own := j.edges[before:]; len(own) == 1 && own[0] == 0 { // always there
			j.edges = j.edges[:before]
			continue
		}
		j.rows, j.end = append(j.rows, row), append(j.end, int32(len(j.edges)))
	}
	if len(j.rows) == 0 {
		return nil
	}
	all := make([]int32, 0, 2*len(j.rows)+len(j.edges))
	cut := func(list []int32) []int32 {
		if len(list) == 0 {
			return nil
		}
		from := len(all)
		all = append(all, list...)
		return all[from:len(all):len(all)]
	}
	return &columns.Presence{Rows: cut(j.rows), End: cut(j.end), Edges: cut(j.edges)}
}

// always reports whether all rows are there at all instants.
func (j *joiner) always(runs []run) bool {
	for i := range runs {
		if runs[i].window < 0 {
			return false
		}
		if r := &j.cursors[runs[i].window]; !r.has || r.live != nil || r.byRow != nil {
			return false
		}
	}
	return len(runs) > 0
}

// edgesOf appends the edges of a row.
func (j *joiner) edgesOf(row int32, runs []run) {
	here := false
	turn := func(to bool, at int32) {
		if to != here {
			j.edges, here = append(j.edges, at), to
		}
	}
	for i := range runs {
		u := &runs[i]
		at := u.from + u.shift
		if u.window < 0 {
			turn(false, at)
			continue
		}
		r := &j.cursors[u.window]
		if u.opens {
			r.seek(row)
		}
		switch {
		case !r.there:
			turn(false, at)
		case r.full:
			turn(true, at)
		default:
			r.first(u.from, u.to) // goes to what is ahead
			turn(r.passed%2 == 1, at)
			for r.passed < len(r.edges) && r.edges[r.passed] < u.to {
				turn(!here, r.edges[r.passed]+u.shift)
				r.passed++
			}
		}
	}
}
