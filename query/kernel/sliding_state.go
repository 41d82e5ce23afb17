package kernel

import "math"

// slidingState is what one window of a series leaves for the next one, so that each sample is
// looked at once.
type slidingState struct {
	least, greatest extremes
	changes         changes
}

// begin begins a series.
func (k *slidingState) begin(values []float64) {
	k.least.begin(values, false)
	k.greatest.begin(values, true)
	k.changes.begin(values)
}

// extremes find the least or the greatest number of each window, and look at each number once.
type extremes struct {
	values   []float64
	greatest bool
	// places are those of the window's numbers that none behind them beats, from head on: the
	// first of them is the window's. Of equal numbers the first one counts, and NaN beats none.
	places []int32
	head   int
	next   int // the first place that was not looked at yet
}

func (e *extremes) begin(values []float64, greatest bool) {
	*e = extremes{values: values, greatest: greatest, places: e.places[:0]}
}

// find returns the number of a window, which begins and ends no earlier than the one before.
func (e *extremes) find(w *Window) float64 {
	end := w.place + len(w.Values)
	for e.next = max(e.next, w.place); e.next < end; e.next++ {
		v, n := e.values[e.next], len(e.places)
		if math.IsNaN(v) {
			continue
		}
		for n > e.head && e.beats(v, e.values[e.places[n-1]]) {
			n--
		}
		e.places = append(e.places[:n], int32(e.next))
	}
	for e.head < len(e.places) && int(e.places[e.head]) < w.place {
		e.head++
	}
	if e.head == len(e.places) {
		return e.values[end-1] // all are NaN
	}
	return e.values[e.places[e.head]]
}

func (e *extremes) beats(a, b float64) bool {
	if e.greatest {
		return a > b
	}
	return a < b
}

// changes counts the numbers that differ from the one before.
type changes struct {
	values []float64
	before []int32 // up to each place of the series; empty: nobody has asked
}

func (t *changes) begin(values []float64) {
	t.values, t.before = values, t.before[:0]
}

// in returns how many there are in a window.
func (t *changes) in(w *Window) float64 {
	if len(t.before) == 0 {
		t.count()
	}
	return float64(t.before[w.place+len(w.Values)-1] - t.before[w.place])
}

func (t *changes) count() {
	n := int32(0)
	for i, b := range t.values {
		if i > 0 {
			if a := t.values[i-1]; a != b && !(math.IsNaN(a) && math.IsNaN(b)) {
				n++
			}
		}
		t.before = append(t.before, n)
	}
}
