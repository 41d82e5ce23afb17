package blobs

import (
	"math"
	"slices"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/window"
	"github.com/ringwatch/ringwatch/window/columns"
)

// FromSamples is the way back: it makes a window of a head and of the series that find knows.
// find returns nil for a series without values; it is asked for the metrics that want says, of
// which it must know all rows that matter, and the window has no others. Instants that the head
// does not have are left out.
func FromSamples(account string, h *Head, dictionaries window.Dictionaries,
	want func(d *window.Dictionary, metric int) bool,
	find func(d *window.Dictionary, metric, row int) *window.Series) (*window.Window, []error) {
	w, _, damage := h.window(account, nil, dictionaries)
	values := make([]columns.Value, len(h.Times))
	for _, t := range w.Types {
		fillColumns(t, values, h.Times, want, find)
	}
	return w, damage
}

// fillColumns makes a type's columns of what find knows. values is scratch.
func fillColumns(t *window.Type, values []columns.Value, times []int64,
	want func(d *window.Dictionary, metric int) bool,
	find func(d *window.Dictionary, metric, row int) *window.Series) {
	for m := range t.Metrics {
		if !want(t.Dictionary, m) {
			t.Columns[m] = columns.Unread
			continue
		}
		a := columns.NewAssembler(t.Metrics[m].Buckets(), t.Live, len(t.Rows))
		for row := range t.Rows {
			if s := find(t.Dictionary, m, row); s != nil {
				clear(values)
				setValues(values, s, times, t.Metrics[m].Buckets())
				a.Row(int32(row), values)
			}
		}
		t.Columns[m] = a.Column()
	}
}

// setValues sets values, which are by instant, to those of a series. What has another number of
// buckets is not its metric's, and left out.
func setValues(values []columns.Value, s *window.Series, times []int64, buckets int) {
	for i, at := range s.At {
		t, found := slices.BinarySearch(times, at)
		if !found {
			continue
		}
		v := columns.Value{Present: true}
		switch s.Metric.Kind {
		case frame.Counter, frame.Gauge:
			v.Word = s.Ints[i]
		case frame.GaugeDouble:
			v.Word = int64(math.Float64bits(s.Doubles[i]))
		case frame.String:
			v.Text = s.Strings[i]
		default:
			if v.Word, v.Counts = s.Histograms[i].Sum, s.Histograms[i].Dense(nil); len(v.Counts) !=
				buckets {
				continue
			}
		}
		values[t] = v
	}
}
