package blobs

import (
	"slices"
	"sync"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/window"
	"github.com/ringwatch/ringwatch/window/columns"
)

// columnReader collects what the parts of one column say. It is used for one column after the
// other, so that its lists need not grow again and each column takes no more memory than it
// needs.
type columnReader struct {
	m        *window.Metric
	instants int32
	// rows come in ascending order; histograms have totals, and buckets too if wanted
	out columns.Column

	// Of the piece that is being read.
	firsts []first
	later  []int32 // instants of a row
}

var columnReaders = sync.Pool{New: func() any { return &columnReader{} }}

// release makes the reader one for others, unless it has grown much larger than usual.
func (c *columnReader) release() {
	const most = 1 << 18
	if o := &c.out; cap(o.At) <= most && cap(o.Count) <= most && cap(c.firsts) <= most {
		c.out.Texts = nil
		columnReaders.Put(c)
	}
}

// begin makes ready for a column.
func (c *columnReader) begin(m *window.Metric, instants int32) {
	o := &c.out
	c.m, c.instants = m, instants
	*o = columns.Column{
		Rows: o.Rows[:0], End: o.End[:0], At: o.At[:0], Words: o.Words[:0], Totals: o.Totals[:0],
		BucketEnd: o.BucketEnd[:0], Bucket: o.Bucket[:0], Count: o.Count[:0],
	}
	if m.Kind == frame.String {
		o.Texts = []string{""}
	}
}

// column returns what was collected, with its buckets or without.
func (c *columnReader) column(buckets bool) *columns.Column {
	o := &c.out
	n, k := len(o.Rows), len(o.At)
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
	out := &columns.Column{Rows: take(o.Rows), End: take(o.End), At: take(o.At),
		Words: slices.Clone(o.Words), Texts: o.Texts}
	switch {
	case buckets:
		out.BucketEnd, out.Bucket, out.Count = take(o.BucketEnd), slices.Clone(o.Bucket),
			slices.Clone(o.Count)
	case c.m.Kind.IsHistogram() && k > 0:
		out.Totals = slices.Clone(o.Totals)
	}
	return out
}

// cutTo forgets all rows but the first n, which had so many changes and texts.
func (c *columnReader) cutTo(rows, changes, texts int) {
	o := &c.out
	o.Rows, o.End = o.Rows[:rows], o.End[:rows]
	o.At, o.Words, o.Texts = o.At[:changes], o.Words[:changes], o.Texts[:texts]
	if c.m.Kind.IsHistogram() {
		o.Totals = o.Totals[:changes]
		o.BucketEnd = o.BucketEnd[:min(changes, len(o.BucketEnd))]
		filled := 0
		if n := len(o.BucketEnd); n > 0 {
			filled = int(o.BucketEnd[n-1])
		}
		o.Bucket, o.Count = o.Bucket[:filled], o.Count[:filled]
	}
}

// first is a row's value at its first instant.
type first struct {
	row, at     int32
	word, total int64
}
