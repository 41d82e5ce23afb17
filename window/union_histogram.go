package window

// beginHistograms prepares for a column of histograms.
func (j *joiner) beginHistograms(m *Metric, runs []run) {
	n := m.Buckets()
	j.last, j.counts = grown(j.last, n), grown(j.counts, n)
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
	before := len(o.bucket)
	for b := j.low; b < j.top; b++ {
		n := counts[b]
		if d := n - j.last[b]; d != 0 {
			o.bucket, o.count = append(o.bucket, uint16(b)), append(o.count, d)
			j.last[b] = n
		}
	}
	if r.counts == nil {
		clear(counts[min(j.low, j.top):j.top])
	}
	if len(o.bucket) == before && r.word == j.lastSum {
		return
	}
	o.at, o.words = append(o.at, at), append(o.words, r.word-j.lastSum)
	o.bucketEnd = append(o.bucketEnd, int32(len(o.bucket)))
	j.lastSum, j.begun = r.word, true
}

// copyHistograms appends the changes from … to−1 but for their instants.
func (j *joiner) copyHistograms(c *column, from, to int) {
	o := &j.out
	j.lastSum += j.apply(c, from, to, j.last)
	j.begun = true
	o.words = append(o.words, c.words[from:to]...)
	begin, _ := c.buckets(from)
	end := int(c.bucketEnd[to-1])
	by := int32(len(o.bucket) - begin)
	for _, e := range c.bucketEnd[from:to] {
		o.bucketEnd = append(o.bucketEnd, e+by)
	}
	o.bucket = append(o.bucket, c.bucket[begin:end]...)
	o.count = append(o.count, c.count[begin:end]...)
}

// apply adds the changes from … to−1 to counts, and returns what they add to the sum.
func (j *joiner) apply(c *column, from, to int, counts []int64) (sum int64) {
	begin, _ := c.buckets(from)
	first := begin
	for k := from; k < to; k++ {
		sum += c.words[k]
		end := int(c.bucketEnd[k])
		if end > begin {
			j.low, j.top = min(j.low, int(c.bucket[begin])), max(j.top, int(c.bucket[end-1])+1)
		}
		begin = end
	}
	count := c.count[first:begin]
	for i, b := range c.bucket[first:begin] {
		counts[b] += count[i]
	}
	return sum
}
