package window

// Only returns the window with some of its types, by their numbers, nil for all, and of these the
// metrics that want wants. The others count as not read. It shares the memory of w.
func (w *Window) Only(types []int, want func(d *Dictionary, metric int) bool) *Window {
	out := *w
	if types != nil {
		out.Types = make([]*Type, 0, len(types))
		for _, i := range types {
			out.Types = append(out.Types, w.Types[i])
		}
	} else {
		out.Types = append([]*Type(nil), w.Types...)
	}
	for i, t := range out.Types {
		restricted := *t
		restricted.columns = make([]*column, len(t.columns))
		for m := range t.columns {
			if restricted.columns[m] = unknown; want(t.Dictionary, m) {
				restricted.columns[m] = t.columns[m]
			}
		}
		out.Types[i] = &restricted
	}
	return &out
}
