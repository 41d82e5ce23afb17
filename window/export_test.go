package window

// Canonical makes the window anew from its cells.
func Canonical(w *Window) *Window {
	out := *w
	out.Types = nil
	for _, t := range w.Types {
		made := &Type{Dictionary: t.Dictionary, columns: make([]*column, len(t.Metrics))}
		var comings edges
		for row := range t.Rows {
			at, here := t.live.of(int32(row))
			before := false
			for i := range int32(len(w.Times)) {
				for len(at) > 0 && at[0] <= i {
					here, at = !here, at[1:]
				}
				if here != before {
					comings.add(int32(row), i)
					before = here
				}
			}
		}
		made.live = comings.presence(len(t.Rows))
		for m := range t.Metrics {
			if made.columns[m] = unknown; t.columns[m] != unknown {
				made.columns[m] = canonical(w, t, made.live, m)
			}
		}
		out.Types = append(out.Types, made)
	}
	return &out
}

func canonical(w *Window, t *Type, live *presence, metric int) *column {
	a := newAssembler(t.Metrics[metric].Buckets(), live, len(t.Rows))
	c := newCursor(t, metric, int32(len(w.Times)))
	for row := range t.Rows {
		values := make([]value, len(w.Times))
		c.row(int32(row))
		for c.next(0, c.instants) {
			v := value{present: true, word: c.word, counts: append([]int64(nil), c.counts...)}
			if c.column != nil && c.column.texts != nil {
				v.text, v.word = c.text(), 0
			}
			values[c.instant] = v
		}
		a.row(int32(row), values)
	}
	return a.column()
}

// Known reports whether a column was read.
func Known(t *Type, metric int) bool { return t.columns[metric] != unknown }

// Only returns the window without the columns that keep does not name, as if they had not been
// read.
func Only(w *Window, keep func(d *Dictionary, metric int) bool) *Window {
	out := *w
	out.Types = nil
	for _, t := range w.Types {
		some := *t
		some.columns = append([]*column(nil), t.columns...)
		for m := range some.columns {
			if !keep(t.Dictionary, m) {
				some.columns[m] = unknown
			}
		}
		out.Types = append(out.Types, &some)
	}
	return &out
}
