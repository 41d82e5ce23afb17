package selecting

import (
	"slices"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/window"
	"github.com/ringwatch/ringwatch/window/columns"
)

// rowValues walks the changes of one row of one window.
type rowValues struct {
	out          *Samples
	column       *columns.Column // nil: all zero
	kind         frame.Kind
	change, last int
	word, total  int64
	begun        bool // a value of this window has been appended
}

// append appends the values of instants first … end−1, at all of which the row is there.
func (r *rowValues) append(times []int64, first, end int32) {
	if first >= end {
		return
	}
	r.out.At = append(r.out.At, times[first:end]...)
	for at := first; at < end; {
		r.advance(at)
		until := end
		if r.change < r.last {
			until = min(until, r.column.At[r.change])
		}
		r.repeat(int(until - at))
		at = until
	}
}

// advance applies the changes up to an instant.
func (r *rowValues) advance(at int32) {
	for ; r.change < r.last && r.column.At[r.change] <= at; r.change++ {
		if !r.kind.IsHistogram() {
			r.word = r.column.Words[r.change]
			continue
		}
		r.word += r.column.Words[r.change]
		if r.column.Totals != nil {
			r.total += r.column.Totals[r.change]
			continue
		}
		from, to := r.column.BucketsOf(r.change)
		for i := from; i < to; i++ {
			r.total += r.column.Count[i]
		}
		if r.out.NoBuckets {
			continue
		}
		for i := from; i < to; i++ {
			r.out.now[r.column.Bucket[i]] += r.column.Count[i]
		}
		if r.begun {
			r.out.Bucket = append(r.out.Bucket, r.column.Bucket[from:to]...)
			r.out.Delta = append(r.out.Delta, r.column.Count[from:to]...)
		}
	}
}

// repeat appends the value n times.
func (r *rowValues) repeat(n int) {
	switch {
	case r.kind == frame.String:
		text := ""
		if r.column != nil && len(r.column.Texts) > 0 {
			text = r.column.Texts[r.word]
		}
		for range n {
			r.out.Texts = append(r.out.Texts, text)
		}
		return
	case !r.kind.IsHistogram():
		for range n {
			r.out.Words = append(r.out.Words, r.word)
		}
		return
	}
	if !r.out.NoBuckets && !r.begun {
		r.out.appendDeltas()
	}
	r.begun = true
	for range n {
		r.out.Words, r.out.Counts = append(r.out.Words, r.word), append(r.out.Counts, r.total)
		if !r.out.NoBuckets {
			r.out.BucketEnd = append(r.out.BucketEnd, int32(len(r.out.Bucket)))
		}
	}
}

// window appends what one window says of a line.
func (v *Samples) window(w *window.Window, at place, from, to int64) {
	c := at.in.Columns[at.metric]
	if c == columns.Unread {
		return
	}
	first, end := 0, len(w.Times)
	if w.Times[0] < from {
		first, _ = slices.BinarySearch(w.Times, from)
	}
	if w.Times[end-1] > to {
		end, _ = slices.BinarySearch(w.Times, to+1)
	}
	if first >= end {
		return
	}
	r := rowValues{out: v, column: c, kind: at.in.Metrics[at.metric].Kind}
	if c != nil {
		if i, found := c.Find(at.row); found {
			r.change, r.last = c.ChangesOf(i)
		}
	}
	if r.kind.IsHistogram() && c.LacksBuckets() {
		v.NoBuckets = true
	}
	if !v.NoBuckets {
		clear(v.now) // a window's changes begin at zero
	}
	edges, full := at.in.PresenceOf(c).EdgesOf(at.row)
	if full {
		r.append(w.Times, int32(first), int32(end))
	}
	for i := 0; i < len(edges); i += 2 {
		until := int32(end)
		if i+1 < len(edges) {
			until = min(until, edges[i+1])
		}
		r.append(w.Times, max(edges[i], int32(first)), until)
	}
	if r.begun && !v.NoBuckets {
		v.before, v.now = v.now, v.before
	}
}
