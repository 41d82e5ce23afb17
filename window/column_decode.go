package window

import "github.com/ringwatch/ringwatch/frame"

// maxEdges bounds what a pattern of presence that many rows share can unfold to.
const maxEdges = 1 << 22

// columnHead is what stands before a column's presence.
type columnHead struct {
	hash   Hash
	metric int
	times  []int64
}

func (r *blob) columnHead(start int64) columnHead {
	r.version(columnVersion)
	var h columnHead
	copy(h.hash[:], r.take(len(h.hash)))
	h.metric = r.number("the metric", 2*frame.MaxMetrics)
	h.times = r.times(start)
	return h
}

// column reads what follows the head.
func (r *blob) column(d *Dictionary, metric int, instants int32) *column {
	if metric >= len(d.Metrics) {
		r.fail("metric %d of %d", metric, len(d.Metrics))
		return nil
	}
	if instants == 0 {
		r.fail("a column without instants")
	}
	m, rows := &d.Metrics[metric], len(d.Rows)
	in := columnReader{blob: r, m: m, instants: instants, present: r.presence(rows, instants)}
	in.out.hist = m.Kind.IsHistogram()
	var texts []string
	if m.Kind == frame.String {
		texts = []string{""}
		for range r.count("texts", len(r.b)) {
			texts = append(texts, r.text("a text"))
		}
		in.texts = len(texts)
	}
	first := in.first(rows)
	in.later(rows, first)
	if r.err != nil {
		return nil
	}
	c := in.out.column(rows)
	if c == nil {
		c = &column{}
	}
	c.present, c.texts = in.present, texts
	return c
}

// columnReader reads the values of a column.
type columnReader struct {
	*blob
	m        *Metric
	instants int32
	present  *presence
	texts    int
	out      changes
}

// first reads the values at the rows' first instants and returns them by row.
func (r *columnReader) first(rows int) []int64 {
	words := make([]int64, rows)
	for row := 0; row < rows && r.err == nil; {
		row += r.number("a run of zeros", rows-row+1)
		n := r.number("a run of values", rows-row+1)
		if n == 0 && row < rows {
			r.fail("a run of values is empty")
		}
		if n > len(r.b) {
			r.fail("values are missing")
		}
		for ; n > 0 && r.err == nil; n-- {
			at, there := r.present.first(int32(row))
			if !there {
				r.fail("a value of a row that is never there")
			}
			words[row] = r.value(int32(row), at, 0)
			row++
		}
	}
	return words
}

// later reads the changes after the first instants.
func (r *columnReader) later(rows int, words []int64) {
	n := r.count("rows that change", rows)
	previous := -1
	for ; n > 0 && r.err == nil; n-- {
		row := r.gap("a row", previous, rows)
		previous = row
		first, there := r.present.first(int32(row))
		edges, here := r.present.of(int32(row))
		if !there {
			r.fail("a change of a row that is never there")
		}
		if r.err != nil {
			return
		}
		word := words[row]
		r.instantsAfter(first, func(t int32) {
			for len(edges) > 0 && edges[0] <= t {
				here, edges = !here, edges[1:]
			}
			if !here {
				r.fail("a change where there is no value")
			}
			word = r.value(int32(row), t, word)
		})
	}
}

// instantsAfter reads a list of instants, and calls f for each where its value stands.
func (r *columnReader) instantsAfter(first int32, f func(t int32)) {
	domain := int(r.instants - first - 1)
	switch n := r.uvarint(); {
	case n == changesAlways:
		if domain == 0 {
			r.fail("a row without changes")
		}
		for t := first + 1; t < r.instants && r.err == nil; t++ {
			f(t)
		}
	case n == changesBitmap:
		set := r.take((domain + 7) / 8)
		if onesIn(set) == 0 {
			r.fail("a row without changes")
		}
		for i := 0; i < len(set)*8 && r.err == nil; i++ {
			if set[i/8]&(1<<(i%8)) == 0 {
				continue
			}
			if i >= domain {
				r.fail("a change after the last instant")
				return
			}
			f(first + 1 + int32(i))
		}
	case n-changesListed+1 > uint64(min(domain, len(r.b))):
		r.fail("%d changes, there are %d instants", n, domain)
	default:
		list := make([]int32, n-changesListed+1)
		previous := int(first)
		for i := range list {
			previous = r.gap("an instant", previous, int(r.instants))
			list[i] = int32(previous)
		}
		for i := 0; i < len(list) && r.err == nil; i++ {
			f(list[i])
		}
	}
}

// value reads one value and enters it as a change. It returns the word that the next value builds on.
func (r *columnReader) value(row, at int32, base int64) int64 {
	var word int64
	switch r.m.Kind {
	case frame.Counter, frame.Gauge:
		word = base + r.svarint()
	case frame.GaugeDouble:
		word = base ^ r.double()
	case frame.String:
		word = int64(r.number("a text", r.texts))
	default:
		r.histogram(row, at)
		return 0
	}
	if word == base {
		r.fail("a change that changes nothing")
	}
	if r.err == nil {
		r.out.scalar(row, at, word)
	}
	return word
}

func (r *columnReader) histogram(row, at int32) {
	var sum int64
	if r.m.HasSum {
		sum = r.svarint()
	}
	size := r.m.buckets()
	n := r.count("buckets", size)
	if n == 0 && sum == 0 {
		r.fail("a change that changes nothing")
	}
	bucket := -1
	for ; n > 0 && r.err == nil; n-- {
		bucket = r.gap("a bucket", bucket, size)
		count := r.svarint()
		if count == 0 {
			r.fail("a bucket that does not change")
		}
		r.out.bucket, r.out.count = append(r.out.bucket, uint16(bucket)), append(r.out.count, count)
	}
	r.out.scalar(row, at, sum)
	r.out.bucketEnd = append(r.out.bucketEnd, int32(len(r.out.bucket)))
}

func (r *blob) presence(rows int, instants int32) *presence {
	n := r.count("patterns", rows)
	if n == 0 || r.err != nil {
		return nil
	}
	patterns := make([][]int32, n)
	of := make([]int32, rows) // by row: number of its pattern, from 1; 0: always there
	listed, total := 0, 0
	for i := range patterns {
		edges := make([]int32, r.count("edges", int(instants)))
		previous := -1
		for j := range edges {
			previous = r.gap("an edge", previous, int(instants))
			edges[j] = int32(previous)
		}
		if len(edges) == 1 && edges[0] == 0 {
			r.fail("a pattern that is always there")
		}
		patterns[i] = edges
		runs := r.count("runs", rows)
		if runs == 0 {
			r.fail("a pattern without rows")
		}
		for row := 0; runs > 0 && r.err == nil; runs-- {
			row += r.number("a run's beginning", rows-row)
			size := 1 + r.number("a run's length", rows-row)
			if listed, total = listed+size, total+size*len(edges); total > maxEdges {
				r.fail("presence unfolds to more than %d edges", maxEdges)
			}
			if r.err != nil {
				return nil
			}
			for ; size > 0; size-- {
				if of[row] != 0 {
					r.fail("a row has two patterns")
					return nil
				}
				of[row] = int32(i + 1)
				row++
			}
		}
	}
	if r.err != nil {
		return nil
	}
	p := &presence{rows: make([]int32, 0, listed), end: make([]int32, 0, listed), edges: make([]int32, 0, total)}
	for row, i := range of {
		if i > 0 {
			p.rows = append(p.rows, int32(row))
			p.edges = append(p.edges, patterns[i-1]...)
			p.end = append(p.end, int32(len(p.edges)))
		}
	}
	return p
}
