package window

import (
	"slices"
	"sync"

	"github.com/ringwatch/ringwatch/frame"
)

// columnReader collects what the parts of one column say. It is used for one column after the
// other, so that its lists need not grow again and each column takes no more memory than it
// needs.
type columnReader struct {
	m        *Metric
	instants int32
	// rows come in ascending order; histograms have totals, and buckets too if wanted
	out column

	// Of the piece that is being read.
	firsts []first
	later  []int32 // instants of a row
}

var columnReaders = sync.Pool{New: func() any { return &columnReader{} }}

// release makes the reader one for others, unless it has grown much larger than usual.
func (c *columnReader) release() {
	const most = 1 << 18
	if o := &c.out; cap(o.at) <= most && cap(o.count) <= most && cap(c.firsts) <= most {
		c.out.texts = nil
		columnReaders.Put(c)
	}
}

// first is a row's value at its first instant.
type first struct {
	row, at     int32
	word, total int64
}

// begin makes ready for a column.
func (c *columnReader) begin(m *Metric, instants int32) {
	o := &c.out
	c.m, c.instants = m, instants
	*o = column{
		rows: o.rows[:0], end: o.end[:0], at: o.at[:0], words: o.words[:0], totals: o.totals[:0],
		bucketEnd: o.bucketEnd[:0], bucket: o.bucket[:0], count: o.count[:0],
	}
	if m.Kind == frame.String {
		o.texts = []string{""}
	}
}

// column returns what was collected, with its buckets or without.
func (c *columnReader) column(buckets bool) *column {
	o := &c.out
	n, k := len(o.rows), len(o.at)
	size := 2*n + k
	if buckets {
		size += k
	}
	all := make([]int32, 0, size)
	take := func(list []int32) []int32 {
		from := len(all)
		all = append(all, list...)
		return all[from:len(all):len(all)]
	}
	out := &column{rows: take(o.rows), end: take(o.end), at: take(o.at),
		words: slices.Clone(o.words), texts: o.texts}
	switch {
	case buckets:
		out.bucketEnd, out.bucket, out.count = take(o.bucketEnd), slices.Clone(o.bucket),
			slices.Clone(o.count)
	case c.m.Kind.IsHistogram() && k > 0:
		out.totals = slices.Clone(o.totals)
	}
	return out
}

// cutTo forgets all rows but the first n, which had so many changes and texts.
func (c *columnReader) cutTo(rows, changes, texts int) {
	o := &c.out
	o.rows, o.end = o.rows[:rows], o.end[:rows]
	o.at, o.words, o.texts = o.at[:changes], o.words[:changes], o.texts[:texts]
	if c.m.Kind.IsHistogram() {
		o.totals = o.totals[:changes]
		o.bucketEnd = o.bucketEnd[:min(changes, len(o.bucketEnd))]
		filled := 0
		if n := len(o.bucketEnd); n > 0 {
			filled = int(o.bucketEnd[n-1])
		}
		o.bucket, o.count = o.bucket[:filled], o.count[:filled]
	}
}
