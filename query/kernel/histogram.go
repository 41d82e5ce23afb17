package kernel

import (
	"context"
	"math"

	"github.com/prometheus/prometheus/util/kahansum"

	"github.com/ringwatch/ringwatch/window"
)

// Histograms are the samples of a series of histograms that count.
type Histograms struct {
	Times  []int64
	Values []window.Histogram
	// Counts and Sums are those of the values, in the metric's unit.
	Counts, Sums []float64
	// Falls are the places of samples that began anew, ascending.
	Falls []int
}

// HistogramRow is what rate or increase give of a series at each step. Counts has Missing where
// there is nothing.
type HistogramRow struct {
	Counts, Sums []float64
	// The buckets of step i that are not empty are those up to ends[i].
	ends   []int
	index  []uint16
	values []float64
}

// NewHistogramRow returns a row of nothing.
func NewHistogramRow(steps int) *HistogramRow {
	return &HistogramRow{Counts: make([]float64, steps), Sums: make([]float64, steps),
		ends: make([]int, steps)}
}

// Reset empties a row, whose memory is used again.
func (r *HistogramRow) Reset() { r.index, r.values = r.index[:0], r.values[:0] }

// Bytes is what a row takes.
func (r *HistogramRow) Bytes() int64 {
	return int64(24*len(r.Counts) + 2*cap(r.index) + 8*cap(r.values))
}

// Rise writes the rate, or the increase, at each step into row, with so many buckets; with none,
// only counts and sums. It reports whether there is anything. The error is the context's.
func (s *Slider) Rise(
	ctx context.Context, h Histograms, rate bool, buckets int, row *HistogramRow,
) (bool, error) {
	any := false
	from, to, fallsFrom, fallsTo := 0, 0, 0, 0
	width := float64(s.Width) / 1000
	for i := range row.Counts {
		until := s.Steps.At(i) - s.Offset
		after := until - s.Width
		for to < len(h.Times) && h.Times[to] <= until {
			to++
		}
		for from < to && h.Times[from] <= after {
			from++
		}
		for fallsTo < len(h.Falls) && h.Falls[fallsTo] < to {
			fallsTo++
		}
		for fallsFrom < fallsTo && h.Falls[fallsFrom] <= from {
			fallsFrom++
		}
		row.Counts[i], row.Sums[i] = Missing, Missing
		if to-from > 1 {
			any = true
			if i%lookAtSteps == 0 && ctx.Err() != nil {
				return false, ctx.Err()
			}
			s.rise(&h, h.Falls[fallsFrom:fallsTo], from, to-1, buckets, row, i)
			e := edges{first: h.Times[from], last: h.Times[to-1], n: to - 1 - from, from: after, to: until}
			factor := e.factor(true, h.Counts[from], row.Counts[i], width, rate)
			row.Counts[i] *= factor
			row.Sums[i] *= factor
			for j := row.begin(i); j < len(row.values); j++ {
				row.values[j] *= factor
			}
		}
		row.ends[i] = len(row.values)
	}
	return any, nil
}

// lookAtSteps is after how many steps the context is asked: a step is some hundred buckets.
const lookAtSteps = 64

func (r *HistogramRow) begin(step int) int {
	if step == 0 {
		return 0
	}
	return r.ends[step-1]
}

// rise writes what was counted from one sample to another: the difference, and what was counted
// before each beginning anew. The engine does not look at a first sample that ends at one.
func (s *Slider) rise(h *Histograms, falls []int, first, last, buckets int, row *HistogramRow, step int) {
	count, sum := h.Counts[last], h.Sums[last]
	if without := len(falls) > 0 && falls[0] == first+1; without {
		falls = falls[1:]
		first = -1
	} else {
		count -= h.Counts[first]
		sum -= h.Sums[first]
	}
	for _, at := range falls {
		count += h.Counts[at-1]
		sum += h.Sums[at-1]
	}
	row.Counts[step], row.Sums[step] = count, sum
	if buckets == 0 {
		return
	}
	if len(s.dense) < buckets {
		s.dense = make([]float64, buckets)
	}
	dense := s.dense[:buckets]
	add := func(of *window.Histogram, sign float64) {
		for i, b := range of.Filled {
			dense[b] += sign * float64(of.Counts[i])
		}
	}
	add(&h.Values[last], 1)
	if first >= 0 {
		add(&h.Values[first], -1)
	}
	take := func(b uint16) {
		if dense[b] != 0 {
			row.index, row.values = append(row.index, b), append(row.values, dense[b])
			dense[b] = 0
		}
	}
	if len(falls) == 0 { // then what the first has the last has, too
		for _, b := range h.Values[last].Filled {
			take(b)
		}
		return
	}
	for _, at := range falls {
		add(&h.Values[at-1], 1)
	}
	for b := range dense {
		take(uint16(b))
	}
}

// HistogramGroup is what has come so far of the histograms of one group, by bucket.
type HistogramGroup struct {
	op      Operation
	buckets int
	n       []float64
	// What is added up, and what rounding has lost of it: the count, the sum, and the buckets.
	values, rests []float64
}

// HistogramBytes is what a HistogramGroup takes.
func HistogramBytes(steps, buckets int) int64 { return int64(8 * steps * (1 + 2*(buckets+2))) }

// TakesHistograms reports whether the operation knows histograms.
func (o Operation) TakesHistograms() bool { return o.name == "sum" || o.name == "avg" }

// NewHistogramGroup returns a group of nothing.
func (o Operation) NewHistogramGroup(steps, buckets int) *HistogramGroup {
	n := steps * (buckets + 2)
	return &HistogramGroup{op: o, buckets: buckets, n: make([]float64, steps),
		values: make([]float64, n), rests: make([]float64, n)}
}

// Add adds a series' row. It is false if only the engine knows how to go on.
func (g *HistogramGroup) Add(row *HistogramRow) bool {
	for i, count := range row.Counts {
		if IsMissing(count) {
			continue
		}
		g.n[i]++
		at := i * (g.buckets + 2)
		values, rests := g.values[at:at+g.buckets+2], g.rests[at:at+g.buckets+2]
		values[0], rests[0] = kahansum.Inc(count, values[0], rests[0])
		values[1], rests[1] = kahansum.Inc(row.Sums[i], values[1], rests[1])
		if math.IsInf(values[0], 0) || math.IsInf(values[1], 0) {
			return false
		}
		for j := row.begin(i); j < row.ends[i]; j++ {
			b := row.index[j] + 2
			values[b], rests[b] = kahansum.Inc(row.values[j], values[b], rests[b])
		}
	}
	return true
}

// At returns the group's histogram at a step; false if it has none. It is asked once for each step.
// The buckets are the group's own.
func (g *HistogramGroup) At(step int) (count, sum float64, buckets []float64, is bool) {
	n := g.n[step]
	if n == 0 {
		return 0, 0, nil, false
	}
	at := step * (g.buckets + 2)
	values, rests := g.values[at:at+g.buckets+2], g.rests[at:at+g.buckets+2]
	for i := range values {
		if g.op.name == "avg" {
			values[i], rests[i] = values[i]/n, rests[i]/n
		}
		values[i] += rests[i]
		rests[i] = 0
	}
	g.n[step] = 1 // it is done
	return values[0], values[1], values[2:], true
}
