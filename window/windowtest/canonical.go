package windowtest

import (
	"math"
	"slices"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/window"
	"github.com/ringwatch/ringwatch/window/columns"
	"github.com/ringwatch/ringwatch/window/selecting"
)

// Canonical makes the window anew from its values.
func Canonical(w *window.Window) *window.Window {
	out := *w
	out.Types = nil
	made := map[*window.Dictionary]*window.Type{}
	values := map[*window.Dictionary]map[int]map[int][]columns.Value{} // by metric and row
	for _, t := range w.Types {
		c := &window.Type{Dictionary: t.Dictionary, Live: canonicalPresence(t, len(w.Times)),
			Columns: make([]*columns.Column, len(t.Metrics))}
		made[t.Dictionary], values[t.Dictionary] = c, map[int]map[int][]columns.Value{}
		out.Types = append(out.Types, c)
	}
	selecting.Walk(w, func(d *window.Dictionary, metric, row int, s *window.Series) {
		if values[d][metric] == nil {
			values[d][metric] = map[int][]columns.Value{}
		}
		list := make([]columns.Value, len(w.Times))
		for i, at := range s.At {
			t, _ := slices.BinarySearch(w.Times, at)
			list[t] = valueOf(s, i)
		}
		values[d][metric][row] = list
	})
	for _, t := range w.Types {
		c := made[t.Dictionary]
		for m := range t.Metrics {
			if c.Columns[m] = columns.Unread; t.Columns[m] == columns.Unread {
				continue
			}
			a := columns.NewAssembler(t.Metrics[m].Buckets(), c.Live, len(t.Rows))
			for row := range t.Rows {
				if list := values[t.Dictionary][m][row]; list != nil {
					a.Row(int32(row), list)
				}
			}
			c.Columns[m] = a.Column()
		}
	}
	return &out
}

// valueOf returns value number i of a series.
func valueOf(s *window.Series, i int) columns.Value {
	v := columns.Value{Present: true}
	switch s.Metric.Kind {
	case frame.Counter, frame.Gauge:
		v.Word = s.Ints[i]
	case frame.GaugeDouble:
		v.Word = int64(math.Float64bits(s.Doubles[i]))
	case frame.String:
		v.Text = s.Strings[i]
	default:
		v.Word, v.Counts = s.Histograms[i].Sum, s.Histograms[i].Dense(nil)
	}
	return v
}

// canonicalPresence makes a type's presence anew, instant by instant.
func canonicalPresence(t *window.Type, instants int) *columns.Presence {
	var comings columns.Comings
	for row := range t.Rows {
		at, here := t.Live.EdgesOf(int32(row))
		before := false
		for i := range int32(instants) {
			for len(at) > 0 && at[0] <= i {
				here, at = !here, at[1:]
			}
			if here != before {
				comings.Add(int32(row), i)
				before = here
			}
		}
	}
	return comings.Presence(len(t.Rows))
}

// Known reports whether a column was read.
func Known(t *window.Type, metric int) bool { return t.Columns[metric] != columns.Unread }

// Unread returns the window without the columns that keep does not name, as if they had not been
// read.
func Unread(w *window.Window, keep func(d *window.Dictionary, metric int) bool) *window.Window {
	out := *w
	out.Types = nil
	for _, t := range w.Types {
		restricted := *t
		restricted.Columns = slices.Clone(t.Columns)
		for m := range restricted.Columns {
			if !keep(t.Dictionary, m) {
				restricted.Columns[m] = columns.Unread
			}
		}
		out.Types = append(out.Types, &restricted)
	}
	return &out
}
