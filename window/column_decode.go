package window

import "github.com/ringwatch/ringwatch/frame"

// columnHead is what stands before a column's presence.
type columnHead struct {
	hash   Hash
	metric int
	times  []int64
}

func (r *reader) columnHead(start int64) columnHead {
	r.Version(columnVersion)
	var h columnHead
	copy(h.hash[:], r.Take(len(h.hash)))
	h.metric = r.Number("the metric", 2*frame.MaxMetrics)
	h.times = r.times(start, frame.WindowMillis)
	return h
}

// column reads what follows the head.
func (r *reader) column(d *Dictionary, metric int, instants int32) *column {
	if metric >= len(d.Metrics) {
		r.Fail("metric %d of %d", metric, len(d.Metrics))
		return nil
	}
	if instants == 0 {
		r.Fail("a column without instants")
	}
	m, rows := &d.Metrics[metric], len(d.Rows)
	in := oldColumnReader{reader: r, m: m, instants: instants, present: r.presence(rows, instants)}
	in.out.hist = m.Kind.IsHistogram()
	var texts []string
	if m.Kind == frame.String {
		texts = []string{""}
		for range r.Count("texts", len(r.Rest)) {
			texts = append(texts, r.Text("a text"))
		}
		in.texts = len(texts)
	}
	first := in.first(rows)
	in.later(rows, first)
	if r.Err != nil {
		return nil
	}
	c := in.out.column(rows)
	if c == nil {
		c = &column{}
	}
	c.present, c.texts = in.present, texts
	return c
}

// oldColumnReader reads the values of a column.
type oldColumnReader struct {
	*reader
	m        *Metric
	instants int32
	present  *presence
	texts    int
	out      changes
}

// first reads the values at the rows' first instants and returns them by row.
func (r *oldColumnReader) first(rows int) []int64 {
	words := make([]int64, rows)
	for row := 0; row < rows && r.Err == nil; {
		row += r.Number("a run of zeros", rows-row+1)
		n := r.Number("a run of values", rows-row+1)
		if n == 0 && row < rows {
			r.Fail("a run of values is empty")
		}
		if n > len(r.Rest) {
			r.Fail("values are missing")
		}
		for ; n > 0 && r.Err == nil; n-- {
			at, there := r.present.first(int32(row))
			if !there {
				r.Fail("a value of a row that is never there")
			}
			words[row] = r.value(int32(row), at, 0)
			row++
		}
	}
	return words
}

// later reads the changes after the first instants.
func (r *oldColumnReader) later(rows int, words []int64) {
	n := r.Count("rows that change", rows)
	previous := -1
	for ; n > 0 && r.Err == nil; n-- {
		row := r.Gap("a row", previous, rows)
		previous = row
		first, there := r.present.first(int32(row))
		edges, here := r.present.of(int32(row))
		if !there {
			r.Fail("a change of a row that is never there")
		}
		if r.Err != nil {
			return
		}
		word := words[row]
		r.instantsAfter(first, func(t int32) {
			for len(edges) > 0 && edges[0] <= t {
				here, edges = !here, edges[1:]
			}
			if !here {
				r.Fail("a change where there is no value")
			}
			word = r.value(int32(row), t, word)
		})
	}
}

// instantsAfter reads a list of instants, and calls f for each where its value stands.
func (r *oldColumnReader) instantsAfter(first int32, f func(t int32)) {
	domain := int(r.instants - first - 1)
	switch n := r.Uvarint(); {
	case n == changesAlways:
		if domain == 0 {
			r.Fail("a row without changes")
		}
		for t := first + 1; t < r.instants && r.Err == nil; t++ {
			f(t)
		}
	case n == changesBitmap:
		set := r.Take((domain + 7) / 8)
		if onesIn(set) == 0 {
			r.Fail("a row without changes")
		}
		for i := 0; i < len(set)*8 && r.Err == nil; i++ {
			if set[i/8]&(1<<(i%8)) == 0 {
				continue
			}
			if i >= domain {
				r.Fail("a change after the last instant")
				return
			}
			f(first + 1 + int32(i))
		}
	case n-changesListed+1 > uint64(min(domain, len(r.Rest))):
		r.Fail("%d changes, there are %d instants", n, domain)
	default:
		list := make([]int32, n-changesListed+1)
		previous := int(first)
		for i := range list {
			previous = r.Gap("an instant", previous, int(r.instants))
			list[i] = int32(previous)
		}
		for i := 0; i < len(list) && r.Err == nil; i++ {
			f(list[i])
		}
	}
}

// value reads one value and enters it as a change. It returns the word that the next value builds on.
func (r *oldColumnReader) value(row, at int32, base int64) int64 {
	var word int64
	switch r.m.Kind {
	case frame.Counter, frame.Gauge:
		word = base + r.Svarint()
	case frame.GaugeDouble:
		word = base ^ r.Double()
	case frame.String:
		word = int64(r.Number("a text", r.texts))
	default:
		r.histogram(row, at)
		return 0
	}
	if word == base {
		r.Fail("a change that changes nothing")
	}
	if r.Err == nil {
		r.out.scalar(row, at, word)
	}
	return word
}

func (r *oldColumnReader) histogram(row, at int32) {
	var sum int64
	if r.m.HasSum {
		sum = r.Svarint()
	}
	size := r.m.buckets()
	n := r.Count("buckets", size)
	if n == 0 && sum == 0 {
		r.Fail("a change that changes nothing")
	}
	bucket := -1
	for ; n > 0 && r.Err == nil; n-- {
		bucket = r.Gap("a bucket", bucket, size)
		count := r.Svarint()
		if count == 0 {
			r.Fail("a bucket that does not change")
		}
		r.out.bucket, r.out.count = append(r.out.bucket, uint16(bucket)), append(r.out.count, count)
	}
	r.out.scalar(row, at, sum)
	r.out.bucketEnd = append(r.out.bucketEnd, int32(len(r.out.bucket)))
}
