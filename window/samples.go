package window

import (
	"math"
	"slices"

	"github.com/ringwatch/ringwatch/frame"
)

// Walk calls visit for every series of the window, for stores that keep a row per sample: d,
// metric and row say whose values s has. s has no labels, and it and its slices are used again
// for the next call; counts of histograms may be kept. Histograms whose buckets were not read are
// left out.
func (w *Window) Walk(visit func(d *Dictionary, metric, row int, s *Series)) {
	var s Series
	for _, t := range w.Types {
		for m := range t.Metrics {
			if t.columns[m] == unknown || t.columns[m].noBuckets() {
				continue
			}
			c := newCursor(t, m, int32(len(w.Times)))
			for row := range t.Rows {
				s = Series{Metric: &t.Metrics[m], At: s.At[:0], Ints: s.Ints[:0],
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

// FromSamples is the way back: it makes a window of a head and of the series that find knows.
// find returns nil for a series without values; it is asked for the metrics that want says, of
// which it must know all rows that matter, and the window has no others. Instants that the head
// does not have are left out.
func FromSamples(account string, h *Head, dictionaries Dictionaries,
	want func(d *Dictionary, metric int) bool,
	find func(d *Dictionary, metric, row int) *Series) (*Window, []error) {
	w, _, damage := h.window(account, nil, dictionaries)
	values := make([]value, len(h.Times))
	for _, t := range w.Types {
		fillColumns(t, values, h.Times, want, find)
	}
	return w, damage
}

// fillColumns makes a type's columns of what find knows. values is scratch.
func fillColumns(t *Type, values []value, times []int64, want func(d *Dictionary, metric int) bool,
	find func(d *Dictionary, metric, row int) *Series) {
	for m := range t.Metrics {
		if !want(t.Dictionary, m) {
			t.columns[m] = unknown
			continue
		}
		a := newAssembler(t.Metrics[m].Buckets(), t.live, len(t.Rows))
		for row := range t.Rows {
			if s := find(t.Dictionary, m, row); s != nil {
				clear(values)
				setValues(values, s, times, t.Metrics[m].Buckets())
				a.row(int32(row), values)
			}
		}
		t.columns[m] = a.column()
	}
}

// setValues sets values, which are by instant, to those of a series. What has another number of
// buckets is not its metric's, and left out.
func setValues(values []value, s *Series, times []int64, buckets int) {
	for i, at := range s.At {
		t, found := slices.BinarySearch(times, at)
		if !found {
			continue
		}
		v := value{present: true}
		switch s.Metric.Kind {
		case frame.Counter, frame.Gauge:
			v.word = s.Ints[i]
		case frame.GaugeDouble:
			v.word = int64(math.Float64bits(s.Doubles[i]))
		case frame.String:
			v.text = s.Strings[i]
		default:
			if v.word, v.counts = s.Histograms[i].Sum, s.Histograms[i].Dense(nil); len(v.counts) !=
				buckets {
				continue
			}
		}
		values[t] = v
	}
}
