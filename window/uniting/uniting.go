// Package uniting makes one window of several of one node: an hour of those of five minutes, or a
// window of what was there and what came late. Start with Windows. A timeline says whose window
// says what at which instant; by that the columns of a type are joined row by row.
package uniting

import (
	"slices"
	"strings"

	"github.com/ringwatch/ringwatch/window"
	"github.com/ringwatch/ringwatch/window/columns"
)

// Windows returns what several spans of one node say together, as one span. An instant that several
// spans know is as the earliest of them in the list says. A column that was not read in a span
// says nothing at that span's instants, not even that there is no value; it is unknown in the
// union only if no span that has the metric has read it. Histograms of which some span has read
// counts and sums alone have no buckets in the union, unless other spans know all its instants.
// What is outside start and length is left out.
//
// The union's dictionaries follow from those of the spans and their order, and not from which
// columns were read. So a span may be united a few metrics at a time, if all types of one name are
// opened together.
//
// It costs what the spans' changes are, and a look at each row that changes in each span. Where
// spans have instants by turns, it costs a look at each turn, too.
func Windows(start, length int64, list []*window.Window) *window.Window {
	return Wanted(start, length, list, nil)
}

// Wanted is Windows of some metrics: those that are not wanted are unknown in the union. want is
// asked with the union's dictionaries; nil wants all.
func Wanted(start, length int64, list []*window.Window,
	want func(d *window.Dictionary, metric int) bool) *window.Window {
	l := newTimeline(start, length, list)
	out := &window.Window{Node: l.node(), Start: start, Length: length, Times: l.times}
	groups := groupTypes(list)
	runs := l.runs(nil)
	for _, g := range groups {
		d := g.dictionary(&out.Node, groups)
		t := &window.Type{Dictionary: d, Columns: make([]*columns.Column, len(d.Metrics))}
		j := joiner{typ: t, timeline: l, runs: runs, sources: g.sources}
		j.cursors = make([]sourceCursor, len(list))
		t.Live = j.liveOf()
		for m := range t.Columns {
			t.Columns[m] = columns.Unread
			if want == nil || want(d, m) {
				t.Columns[m] = j.column(m)
			}
		}
		out.Types = append(out.Types, t)
	}
	slices.SortFunc(out.Types, func(a, b *window.Type) int { return strings.Compare(a.Key, b.Key) })
	return out
}

// Merge returns the union of two windows, in the span from the first's start to the last's end.
func Merge(a, b *window.Window) *window.Window {
	start := min(a.Start, b.Start)
	end := max(a.Start+a.Length, b.Start+b.Length)
	return Windows(start, end-start, []*window.Window{a, b})
}

// Slice returns the part of a window that is within a span, such as five minutes of an hour. It has
// the window's dictionaries, and so also entities that were not there.
func Slice(w *window.Window, start, length int64) *window.Window {
	if start == w.Start && length == w.Length {
		return w
	}
	return Windows(start, length, []*window.Window{w})
}
