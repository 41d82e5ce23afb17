package kernel

import (
	"context"
	"math"

	"github.com/prometheus/prometheus/util/kahansum"
)

// Histograms are the samples of a series of histograms.
type Histograms struct {
	Times []int64
	// Gone are the instants, ascending and none of them a sample's, at which the series was found
	// to be there no more.
	Gone []int64
	// Counts and Sums are those of the values, in the metric's unit.
	Counts, Sums []float64
	// Bucket and Delta are how the counts by bucket differ from those of the sample before, of the
	// first one from zero. Those of sample i end at Ends[i].
	Ends   []int32
	Bucket []uint16
	Delta  []int64

	resets []histogramReset
	dense  []float64 // by bucket: how the window's last sample differs from its first
}

// histogramReset is a counter reset: the buckets of the sample before it.
type histogramReset struct {
	at     int
	index  []uint16
	counts []float64
}

// deltas returns the range of the differences of a sample.
func (h *Histograms) deltas(i int) (from, to int32) {
	if i > 0 {
		from = h.Ends[i-1]
	}
	return from, h.Ends[i]
}

// findResets finds the counter resets: the samples of which a bucket has less than before.
func (h *Histograms) findResets(buckets int) {
	h.resets = h.resets[:0]
	now := h.dense[:buckets]
	clear(now)
	for i := range h.Times {
		from, to := h.deltas(i)
		fell := false
		for j := from; j < to; j++ {
			now[h.Bucket[j]] += float64(h.Delta[j])
		}
		for j := from; j < to && i > 0; j++ {
			// A bucket may be named twice: what counts is both differences.
			fell = fell || h.Delta[j] < 0 && h.differs(i, h.Bucket[j]) < 0
		}
		if !fell {
			continue
		}
		f := histogramReset{at: i}
		for j := from; j < to; j++ {
			now[h.Bucket[j]] -= float64(h.Delta[j])
		}
		for b, n := range now {
			if n != 0 {
				f.index, f.counts = append(f.index, uint16(b)), append(f.counts, n)
			}
		}
		for j := from; j < to; j++ {
			now[h.Bucket[j]] += float64(h.Delta[j])
		}
		h.resets = append(h.resets, f)
	}
	clear(now)
}

// differs returns how a bucket of a sample differs from the sample before.
func (h *Histograms) differs(i int, bucket uint16) (n int64) {
	from, to := h.deltas(i)
	for j := from; j < to; j++ {
		if h.Bucket[j] == bucket {
			n += h.Delta[j]
		}
	}
	return n
}

// HistogramRow is what a series has at each step, or what rate or increase give of it. Counts has
// Missing where there is nothing.
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

// LookbackHistograms writes the newest histogram of each step's lookback into row, of histograms
// with so many buckets; unless these are wanted, only counts and sums. It reports whether there is
// any.
func (s *Slider) LookbackHistograms(
	h *Histograms, lookback int64, buckets int, wanted bool, row *HistogramRow,
) bool {
	any, to, gone := false, 0, 0
	dense := h.empty(buckets)
	for i := range row.Counts {
		at := s.Steps.At(i) - s.Offset
		for ; to < len(h.Times) && h.Times[to] <= at; to++ {
			for j, end := h.deltas(to); wanted && j < end; j++ {
				dense[h.Bucket[j]] += float64(h.Delta[j])
			}
		}
		for gone < len(h.Gone) && h.Gone[gone] <= at {
			gone++
		}
		row.Counts[i], row.Sums[i] = Missing, Missing
		if to > 0 && h.Times[to-1] > at-lookback && (gone == 0 || h.Gone[gone-1] < h.Times[to-1]) {
			any = true
			row.Counts[i], row.Sums[i] = h.Counts[to-1], h.Sums[to-1]
			row.fill(dense)
		}
		row.ends[i] = len(row.values)
	}
	clear(dense)
	return any
}

// empty returns the counts of so many buckets, all 0.
func (h *Histograms) empty(buckets int) []float64 {
	if len(h.dense) < buckets {
		h.dense = make([]float64, buckets)
	}
	return h.dense[:buckets]
}

// fill appends the buckets that are not empty.
func (r *HistogramRow) fill(dense []float64) {
	for b, n := range dense {
		if n != 0 {
			r.index, r.values = append(r.index, uint16(b)), append(r.values, n)
		}
	}
}

// One makes the row that of one step and one histogram: its count, its sum, and the counts of its
// buckets that are not empty.
func (r *HistogramRow) One(count, sum float64, index []uint16, counts []int64) {
	r.Reset()
	r.Counts[0], r.Sums[0] = count, sum
	for i, b := range index {
		r.index, r.values = append(r.index, b), append(r.values, float64(counts[i]))
	}
	r.ends[0] = len(r.values)
}

// Increase writes the rate, or the increase, at each step into row, of histograms with so many
// buckets; unless these are wanted, only counts and sums. It reports whether there is anything.
// The error is the context's.
func (s *Slider) Increase(
	ctx context.Context, h *Histograms, rate bool, buckets int, wanted bool, row *HistogramRow,
) (bool, error) {
	h.empty(buckets)
	h.findResets(buckets)
	any := false
	from, to, fallsFrom, fallsTo := 0, 0, 0, 0
	width := float64(s.Width) / 1000
	dense := h.dense[:buckets]
	enter := func(i int, sign float64) {
		if !wanted {
			return
		}
		for j, end := h.deltas(i); j < end; j++ {
			dense[h.Bucket[j]] += sign * float64(h.Delta[j])
		}
	}
	for i := range row.Counts {
		until := s.Steps.At(i) - s.Offset
		after := until - s.Width
		for ; to < len(h.Times) && h.Times[to] <= until; to++ {
			if to > from {
				enter(to, 1)
			}
		}
		for ; from < to && h.Times[from] <= after; from++ {
			if from+1 < to {
				enter(from+1, -1)
			}
		}
		for fallsTo < len(h.resets) && h.resets[fallsTo].at < to {
			fallsTo++
		}
		for fallsFrom < fallsTo && h.resets[fallsFrom].at <= from {
			fallsFrom++
		}
		row.Counts[i], row.Sums[i] = Missing, Missing
		if to-from > 1 {
			any = true
			if i%checkEverySteps == 0 && ctx.Err() != nil {
				return false, ctx.Err()
			}
			s.increase(h, h.resets[fallsFrom:fallsTo], from, to-1, wanted, row, i)
			e := extrapolation{first: h.Times[from], last: h.Times[to-1], n: to - 1 - from,
				from: after, to: until}
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

// checkEverySteps is after how many steps the context is asked: a step is some hundred buckets.
const checkEverySteps = 64

func (r *HistogramRow) begin(step int) int {
	if step == 0 {
		return 0
	}
	return r.ends[step-1]
}

// increase writes what was counted from one sample to another: the difference, and what was
// counted before each beginning anew. The engine does not look at a first sample that ends at one.
func (s *Slider) increase(h *Histograms, falls []histogramReset, first, last int, wanted bool,
	row *HistogramRow, step int) {
	count, sum := h.Counts[last], h.Sums[last]
	if len(falls) > 0 && falls[0].at == first+1 {
		// nothing of the first
	} else {
		count -= h.Counts[first]
		sum -= h.Sums[first]
	}
	for i := range falls {
		if at := falls[i].at; at > first+1 {
			count += h.Counts[at-1]
			sum += h.Sums[at-1]
		}
	}
	row.Counts[step], row.Sums[step] = count, sum
	if !wanted {
		return
	}
	for i := range falls {
		for j, b := range falls[i].index {
			h.dense[b] += falls[i].counts[j]
		}
	}
	row.fill(h.dense)
	for i := range falls {
		for j, b := range falls[i].index {
			h.dense[b] -= falls[i].counts[j]
		}
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
