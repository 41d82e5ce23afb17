package window

// Histogram is the value of a histogram at an instant: counts per bucket (not cumulative over
// buckets) and their sum, an integer scaled by Metric.Exponent. Most buckets are empty, so only
// the others are there. The lists may be shared between values: do not change them.
//
// One that was read without its buckets has Total instead.
type Histogram struct {
	Size   int      // buckets that there are, the one above the last bound among them
	Filled []uint16 // numbers of those that are not empty, ascending
	Counts []int64  // theirs
	Sum    int64
	Total  int64 // if buckets were not read: the count; else 0
}

// NewHistogram returns the histogram of counts by bucket, empty ones among them.
func NewHistogram(counts []int64, sum int64) Histogram {
	h := Histogram{Size: len(counts), Sum: sum}
	for b, n := range counts {
		if n != 0 {
			h.Filled, h.Counts = append(h.Filled, uint16(b)), append(h.Counts, n)
		}
	}
	return h
}

// Dense appends the counts of all buckets, empty ones among them, to dst.
func (h *Histogram) Dense(dst []int64) []int64 {
	from := len(dst)
	dst = append(dst, make([]int64, h.Size)...)
	for i, b := range h.Filled {
		dst[from+int(b)] = h.Counts[i]
	}
	return dst
}

// Count returns the number of observations.
func (h *Histogram) Count() int64 {
	n := h.Total
	for _, c := range h.Counts {
		n += c
	}
	return n
}
