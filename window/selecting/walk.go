package selecting

import (
	"github.com/ringwatch/ringwatch/window"
	"github.com/ringwatch/ringwatch/window/columns"
)

// Walk calls visit for every series of the window, for stores that keep a row per sample: d,
// metric and row say whose values s has. s has no labels, and it and its slices are used again
// for the next call; counts of histograms may be kept. Histograms whose buckets were not read are
// left out.
func Walk(w *window.Window, visit func(d *window.Dictionary, metric, row int, s *window.Series)) {
	var s window.Series
	for _, t := range w.Types {
		for m := range t.Metrics {
			if t.Columns[m] == columns.Unread || t.Columns[m].LacksBuckets() {
				continue
			}
			c := newCursor(t, m, int32(len(w.Times)))
			for row := range t.Rows {
				s = window.Series{Metric: &t.Metrics[m], At: s.At[:0], Ints: s.Ints[:0],
					Doubles: s.Doubles[:0], Strings: s.Strings[:0], Histograms: s.Histograms[:0]}
				c.row(int32(row))
				for c.next(0, int32(len(w.Times))) {
					c.appendTo(&s, w.Times[c.instant])
				}
				if len(s.At) > 0 {
					visit(t.Dictionary, m, row, &s)
				}
			}
		}
	}
}
