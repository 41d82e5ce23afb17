package kernel

import (
	"container/heap"
	"math"
	"sort"
)

// TopK holds the k greatest (or least) values of one group at each step, and of which series they
// are. The caller numbers the series.
type TopK struct {
	k      int
	lowest bool
	// width is how many places each step has; it grows up to k. most is how many of them are taken
	// at the step that has most.
	width, most int
	taken       []int32 // by step
	values      []float64
	series      []int32
	heap        stepHeap // of a step that is looked at
}

// firstWidth is how many places a step has at first.
const firstWidth = 4

// NewTopK returns an empty TopK.
func (o Operation) NewTopK(steps int) *TopK {
	k := int(min(o.param, maxK))
	r := &TopK{k: k, lowest: o.name == "bottomk", width: min(k, firstWidth)}
	r.taken = make([]int32, steps)
	r.values, r.series = make([]float64, steps*r.width), make([]int32, steps*r.width)
	return r
}

// maxK is more than there are ever series.
const maxK = 1 << 30

// IsTopK reports whether the operation is topk or bottomk, whose groups are a TopK each.
func (o Operation) IsTopK() bool { return o.name == "topk" || o.name == "bottomk" }

// TopKBytes is what a new TopK of so many steps takes.
func (o Operation) TopKBytes(steps int) int64 {
	return topKBytes(steps, int(min(o.param, firstWidth)))
}

func topKBytes(steps, width int) int64 { return int64(steps) * int64(4+12*width) }

// Bytes is what it takes.
func (r *TopK) Bytes() int64 { return topKBytes(len(r.taken), r.width) }

// GrownBytes is how many bytes it takes after Grow; 0 if there is room for one more series.
func (r *TopK) GrownBytes() int64 {
	if r.most < r.width || r.width == r.k {
		return 0
	}
	return topKBytes(len(r.taken), r.next())
}

func (r *TopK) next() int { return min(2*r.width, r.k) }

// Grow doubles the places of each step.
func (r *TopK) Grow() {
	width := r.next()
	values, series := make([]float64, len(r.taken)*width), make([]int32, len(r.taken)*width)
	for i, n := range r.taken {
		from, to := i*r.width, i*width
		copy(values[to:], r.values[from:from+int(n)])
		copy(series[to:], r.series[from:from+int(n)])
	}
	r.width, r.values, r.series = width, values, series
}

// Add adds a series' row, and returns at how many steps the series is among the first. It calls
// out with the number of each series that it takes the place of at a step. GrownBytes must be 0.
func (r *TopK) Add(row []float64, series int32, out func(series int32)) (places int) {
	for i, v := range row {
		if IsMissing(v) {
			continue
		}
		from, place := i*r.width, 0
		switch n := int(r.taken[i]); {
		case n < r.width:
			place = n
			r.taken[i]++
			r.most = max(r.most, n+1)
		case r.beats(v, r.values[from]):
			out(r.series[from])
		default:
			continue
		}
		r.values[from+place], r.series[from+place] = v, series
		heap.Fix(r.step(i), place)
		places++
	}
	return places
}

// beats reports whether a value takes the last one's place. The first of equal ones stays.
func (r *TopK) beats(v, last float64) bool {
	if math.IsNaN(last) {
		return !math.IsNaN(v)
	}
	if r.lowest {
		return v < last
	}
	return v > last
}

// At returns the values that are the first at a step, and of which series they are; in the
// engine's order if sorted, else in any. They are valid until the next call.
func (r *TopK) At(i int, sorted bool) ([]float64, []int32) {
	of := r.step(i)
	if sorted {
		sort.Sort(sort.Reverse(of))
	}
	return of.values, of.series
}

func (r *TopK) step(i int) *stepHeap {
	from := i * r.width
	to := from + int(r.taken[i])
	r.heap = stepHeap{r.values[from:to], r.series[from:to], r.lowest}
	return &r.heap
}

// stepHeap is a heap of one step with the last place at its root. Which of equal values come first
// follows from how package container/heap and package sort move them, as in Prometheus's engine.
type stepHeap struct {
	values numbers
	series []int32
	lowest bool
}

// Len implements sort.Interface.
func (r *stepHeap) Len() int { return len(r.values) }

// Less implements sort.Interface.
func (r *stepHeap) Less(i, j int) bool {
	if r.lowest && !math.IsNaN(r.values[i]) {
		return r.values[i] > r.values[j]
	}
	return r.values.Less(i, j)
}

// Swap implements sort.Interface.
func (r *stepHeap) Swap(i, j int) {
	r.values.Swap(i, j)
	r.series[i], r.series[j] = r.series[j], r.series[i]
}

// Push implements heap.Interface. Nobody calls it: a new value stands at its place already.
func (r *stepHeap) Push(any) { panic("kernel: ranks are filled in place") }

// Pop implements heap.Interface. Nobody calls it.
func (r *stepHeap) Pop() any { panic("kernel: ranks are never emptied") }

// numbers are sorted as the engine sorts them: NaN comes first.
type numbers []float64

// Len implements sort.Interface.
func (n numbers) Len() int { return len(n) }

// Less implements sort.Interface.
func (n numbers) Less(i, j int) bool { return math.IsNaN(n[i]) || n[i] < n[j] }

// Swap implements sort.Interface.
func (n numbers) Swap(i, j int) { n[i], n[j] = n[j], n[i] }
