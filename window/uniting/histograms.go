package uniting

import (
	"github.com/ringwatch/ringwatch/window"
	"github.com/ringwatch/ringwatch/window/columns"
)

// beginHistograms prepares for a column of histograms.
func (j *joiner) beginHistograms(m *window.Metric, runs []run) {
	n := m.Buckets()
	j.last, j.counts = columns.Grown(j.last, n), columns.Grown(j.counts, n)
	for i := range runs {
		u := &runs[i]
		if u.window < 0 || u.closes {
			continue
		}
		if r := &j.cursors[u.window]; r.has && r.counts == nil {
			r.counts = make([]int64, n)
		}
	}
}

// histograms joins a row of histograms. A source's first value in a run becomes the difference to
// the row's last; its later changes are differences already.
func (j *joiner) histograms(row int32, runs []run) {
	o := &j.out
	j.lastSum, j.low, j.top, j.begun = 0, len(j.last), 0, false
	several := false
	for i := range runs {
		u := &runs[i]
		if u.window < 0 {
			continue
		}
		r := &j.cursors[u.window]
		if u.opens {
			r.seekChanges(row)
		}
		if !r.there || r.change == r.end && !j.begun {
			continue
		}
		first := r.first(u.from, u.to)
		if first == u.to {
			continue
		}
		from := r.until(r.change, first)
		j.difference(r, from, first+u.shift)
		if r.change = from; from < r.end {
			if r.change = r.copyAt(o, u, from); r.change > from {
				j.copyHistograms(r.column, from, r.change)
			}
		}
		if r.counts != nil {
			several = true
			copy(r.counts[min(j.low, j.top):j.top], j.last[min(j.low, j.top):j.top])
			r.word = j.lastSum
		}
	}
	clear(j.last[min(j.low, j.top):j.top])
	if several {
		for i := range j.cursors {
			clear(j.cursors[i].counts)
		}
	}
}

// difference applies the source's changes up to from, and adds a change if the value that it has
// then is not the row's last.
func (j *joiner) difference(r *sourceCursor, from int, at int32) {
	o, counts := &j.out, r.counts
	if counts == nil {
		counts = j.counts
	}
	if from > r.change {
		r.word += j.apply(r.column, r.change, from, counts)
	}
	before := len(o.Bucket)
	for b := j.low; b < j.top; b++ {
		n := counts[b]
		if d := n - j.last[b]; d != 0 {
			o.Bucket, o.Count = append(o.Bucket, uint16(b)), append(o.Count, d)
			j.last[b] = n
		}
	}
	if r.counts == nil {
		clear(counts[min(j.low, j.top):j.top])
	}
	if len(o.Bucket) == before && r.word == j.lastSum {
		return
	}
	o.At, o.Words = append(o.At, at), append(o.Words, r.word-j.lastSum)
	o.BucketEnd = append(o.BucketEnd, int32(len(o.Bucket)))
	j.lastSum, j.begun = r.word, true
}

// copyHistograms appends the changes from … to−1 but for their instants.
func (j *joiner) copyHistograms(c *columns.Column, from, to int) {
	o := &j.out
	j.lastSum += j.apply(c, from, to, j.last)
	j.begun = true
	o.Words = append(o.Words, c.Words[from:to]...)
	begin, _ := c.BucketsOf(from)
	end := int(c.BucketEnd[to-1])
	by := int32(len(o.Bucket) - begin)
	for _, e := range c.BucketEnd[from:to] {
		o.BucketEnd = append(o.BucketEnd, e+by)
	}
	o.Bucket = append(o.Bucket, c.Bucket[begin:end]...)
	o.Count = append(o.Count, c.Count[begin:end]...)
}

// apply adds the changes from … to−1 to counts, and returns what they add to the sum.
func (j *joiner) apply(c *columns.Column, from, to int, counts []int64) (sum int64) {
	begin, _ := c.BucketsOf(from)
	first := begin
	for k := from; k < to; k++ {
		sum += c.Words[k]
		end := int(c.BucketEnd[k])
		if end > begin {
			j.low, j.top = min(j.low, int(c.Bucket[begin])), max(j.top, int(c.Bucket[end-1])+1)
		}
		begin = end
	}
	count := c.Count[first:begin]
	for i, b := range c.Bucket[first:begin] {
		counts[b] += count[i]
	}
	return sum
}
