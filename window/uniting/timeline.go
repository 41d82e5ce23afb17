package uniting

import (
	"slices"

	"github.com/google/uuid"

	"github.com/ringwatch/ringwatch/window"
)

// timeline is the instants of a union, and those of its windows among them.
type timeline struct {
	list    []*window.Window
	within  [][2]int // by window: the range of its instants that are in the span
	times   []int64
	partial *selectedRuns // the latest that left out windows
}

// node returns what the window of the newest instant says of the node.
func (l *timeline) node() (n window.Node) {
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

// run is successive instants of the union at which one window says what is.
type run struct {
	window        int   // number in the list; −1: nobody says anything
	from, to      int32 // the window's instants; those of the union if there is no window
	shift         int32 // from the window's instants to the union's
	opens, closes bool  // the window's first run and its last
}

// selectedRuns are the runs without some windows, kept for the next column that was not read in
// them.
type selectedRuns struct {
	skip []bool
	runs []run
}

func newTimeline(start, length int64, list []*window.Window) *timeline {
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
