package window

import (
	"slices"
	"strings"

	"github.com/google/uuid"
)

// Union returns what several spans of one node say together, as one span. An instant that several
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
func Union(start, length int64, list []*Window) *Window {
	return UnionWanted(start, length, list, nil)
}

// UnionWanted is Union of some metrics: those that are not wanted are unknown in the union. want is
// asked with the union's dictionaries; nil wants all.
func UnionWanted(start, length int64, list []*Window,
	want func(d *Dictionary, metric int) bool) *Window {
	l := newTimeline(start, length, list)
	out := &Window{Node: l.node(), Start: start, Length: length, Times: l.times}
	groups := groupTypes(list)
	runs := l.runs(nil)
	for _, g := range groups {
		d := g.dictionary(&out.Node, groups)
		t := &Type{Dictionary: d, columns: make([]*column, len(d.Metrics))}
		j := joiner{typ: t, timeline: l, runs: runs, sources: g.sources}
		j.cursors = make([]sourceCursor, len(list))
		t.live = j.liveOf()
		for m := range t.columns {
			t.columns[m] = unknown
			if want == nil || want(d, m) {
				t.columns[m] = j.column(m)
			}
		}
		out.Types = append(out.Types, t)
	}
	slices.SortFunc(out.Types, func(a, b *Type) int { return strings.Compare(a.Key, b.Key) })
	return out
}

// Merge returns the union of two windows, in the span from the first's start to the last's end.
func Merge(a, b *Window) *Window {
	start := min(a.Start, b.Start)
	end := max(a.Start+a.Length, b.Start+b.Length)
	return Union(start, end-start, []*Window{a, b})
}

// timeline is the instants of a union, and those of its windows among them.
type timeline struct {
	list    []*Window
	within  [][2]int // by window: the range of its instants that are in the span
	times   []int64
	partial *selectedRuns // the latest that left out windows
}

// selectedRuns are the runs without some windows, kept for the next column that was not read in
// them.
type selectedRuns struct {
	skip []bool
	runs []run
}

// run is successive instants of the union at which one window says what is.
type run struct {
	window        int   // number in the list; −1: nobody says anything
	from, to      int32 // the window's instants; those of the union if there is no window
	shift         int32 // from the window's instants to the union's
	opens, closes bool  // the window's first run and its last
}

func newTimeline(start, length int64, list []*Window) *timeline {
	l := &timeline{list: list, within: make([][2]int, len(list))}
	n := 0
	for i, w := range list {
		from, _ := slices.BinarySearch(w.Times, start)
		to, _ := slices.BinarySearch(w.Times, start+length)
		l.within[i] = [2]int{from, to}
		n += to - from
	}
	if n == 0 {
		return l
	}
	l.times = make([]int64, 0, n)
	for i, w := range list {
		l.times = append(l.times, w.Times[l.within[i][0]:l.within[i][1]]...)
	}
	slices.Sort(l.times)
	l.times = slices.Compact(l.times)
	return l
}

// node returns what the window of the newest instant says of the node.
func (l *timeline) node() (n Node) {
	newest := int64(-1)
	for i, w := range l.list {
		if i == 0 {
			n = w.Node
		}
		if to := l.within[i][1]; to > l.within[i][0] && w.Times[to-1] > newest {
			newest = w.Times[to-1]
			n = w.Node
		}
	}
	for _, w := range l.list { // a window without types does not know it
		if n.ID == uuid.Nil {
			n.ID = w.Node.ID
		}
	}
	return n
}

// runs says who says what is at each instant, without the windows that are to be skipped.
func (l *timeline) runs(skip []bool) []run {
	if skip != nil && l.partial != nil && slices.Equal(l.partial.skip, skip) {
		return l.partial.runs
	}
	owner := make([]int32, len(l.times)) // number of a window + 1
	own := make([]int32, len(l.times))   // its instant
	for t := range own {
		own[t] = int32(t)
	}
	for i := len(l.list) - 1; i >= 0; i-- { // the earliest last, so that it wins
		from, to := l.within[i][0], l.within[i][1]
		if from == to || skip != nil && skip[i] {
			continue
		}
		times := l.list[i].Times
		t, _ := slices.BinarySearch(l.times, times[from])
		for k := from; k < to; k++ {
			for l.times[t] < times[k] {
				t++
			}
			owner[t], own[t] = int32(i)+1, int32(k)
		}
	}
	var runs []run
	last := make([]int, len(l.list)) // by window: number of its last run + 1
	for t := 0; t < len(owner); {
		end := t + 1
		for end < len(owner) && owner[end] == owner[t] {
			end++
		}
		r := run{window: int(owner[t]) - 1, from: own[t], shift: int32(t) - own[t]}
		r.to = r.from + int32(end-t)
		if r.window >= 0 {
			r.opens = last[r.window] == 0
			last[r.window] = len(runs) + 1
		}
		runs = append(runs, r)
		t = end
	}
	for _, n := range last {
		if n > 0 {
			runs[n-1].closes = true
		}
	}
	if skip != nil {
		l.partial = &selectedRuns{slices.Clone(skip), runs}
	}
	return runs
}
