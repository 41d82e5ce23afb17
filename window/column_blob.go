package window

import (
	"math/bits"

	"github.com/ringwatch/ringwatch/blob"
	"github.com/ringwatch/ringwatch/frame"
)

const columnVersion = 1

// How the instants of a row's changes are written: COLUMNS.md §4.
const (
	changesAlways = 0 // at every instant after the first
	changesBitmap = 1
	changesListed = 2 // this and above: the number of changes, plus 1
)

// columnEncoder writes the columns of one type.
type columnEncoder struct {
	*Type
	hash     Hash
	times    []byte // as appendTimes writes them
	instants int32
	live     []byte // the type's presence as appendPresence writes it
}

// append appends one column's blob.
func (e *columnEncoder) append(dst []byte, metric int) []byte {
	c, m := e.columns[metric], &e.Metrics[metric]
	dst = append(dst, columnVersion)
	dst = append(dst, e.hash[:]...)
	dst = blob.AppendUvarint(dst, uint64(metric))
	dst = append(dst, e.times...)
	if c.present == nil {
		dst = append(dst, e.live...)
	} else {
		dst = appendPresence(dst, c.present)
	}
	if m.Kind == frame.String {
		dst = blob.AppendUvarint(dst, uint64(max(len(c.texts), 1)-1))
		for i := 1; i < len(c.texts); i++ {
			dst = blob.AppendText(dst, c.texts[i])
		}
	}
	p := e.presenceOf(c)
	dst = e.appendFirst(dst, c, m, p)
	return e.appendLater(dst, c, m, p)
}

// first returns the first instant of a row, and whether it has one.
func (p *presence) first(row int32) (int32, bool) {
	edges, full := p.of(row)
	if full {
		return 0, true
	}
	if len(edges) == 0 {
		return 0, false
	}
	return edges[0], true
}

// appendFirst appends each row's value at its first instant: by turns how many rows are zero, how many are not, and those that are not.
func (e *columnEncoder) appendFirst(dst []byte, c *column, m *Metric, p *presence) []byte {
	total := int32(len(e.Rows))
	next := int32(0) // row to be written next
	for i := 0; i < len(c.rows); {
		if !c.beginsAtFirst(i, p) {
			i++
			continue
		}
		end := i + 1
		for end < len(c.rows) && c.rows[end] == c.rows[end-1]+1 && c.beginsAtFirst(end, p) {
			end++
		}
		dst = blob.AppendUvarint(blob.AppendUvarint(dst, uint64(c.rows[i]-next)), uint64(end-i))
		next = c.rows[end-1] + 1
		for ; i < end; i++ {
			from, _ := c.changes(i)
			dst = c.appendValue(dst, m, from, 0)
		}
	}
	if next < total {
		dst = blob.AppendUvarint(blob.AppendUvarint(dst, uint64(total-next)), 0)
	}
	return dst
}

// beginsAtFirst reports whether the first change of row number i is at its first instant.
func (c *column) beginsAtFirst(i int, p *presence) bool {
	from, _ := c.changes(i)
	first, _ := p.first(c.rows[i])
	return c.at[from] == first
}

// appendLater appends the changes after the first instants.
func (e *columnEncoder) appendLater(dst []byte, c *column, m *Metric, p *presence) []byte {
	count := 0
	later := func(i int) (from, to int) {
		from, to = c.changes(i)
		if c.beginsAtFirst(i, p) {
			from++
		}
		return from, to
	}
	for i := range c.rows {
		if from, to := later(i); to > from {
			count++
		}
	}
	dst = blob.AppendUvarint(dst, uint64(count))
	previous := int32(-1)
	for i, row := range c.rows {
		from, to := later(i)
		if from == to {
			continue
		}
		dst = blob.AppendGap(dst, previous, row)
		previous = row
		first, _ := p.first(row)
		dst = appendInstants(dst, c.at[from:to], first, e.instants)
		start, _ := c.changes(i)
		for k := from; k < to; k++ {
			base := int64(0)
			if k > start {
				base = c.words[k-1]
			}
			dst = c.appendValue(dst, m, k, base)
		}
	}
	return dst
}

// appendInstants appends instants after first and below end.
func appendInstants(dst []byte, at []int32, first, end int32) []byte {
	domain := int(end - first - 1)
	switch {
	case len(at) == domain:
		return append(dst, changesAlways)
	case len(at) > domain/8:
		dst = append(dst, changesBitmap)
		start := len(dst)
		dst = append(dst, make([]byte, (domain+7)/8)...)
		for _, t := range at {
			i := t - first - 1
			dst[start+int(i/8)] |= 1 << (i % 8)
		}
		return dst
	}
	dst = blob.AppendUvarint(dst, uint64(len(at)+changesListed-1))
	previous := first
	for _, t := range at {
		dst = blob.AppendGap(dst, previous, t)
		previous = t
	}
	return dst
}

// appendValue appends the value of a change against that of the row's change before.
func (c *column) appendValue(dst []byte, m *Metric, change int, base int64) []byte {
	w := c.words[change]
	switch m.Kind {
	case frame.Counter, frame.Gauge:
		return blob.AppendSvarint(dst, w-base)
	case frame.GaugeDouble:
		return blob.AppendDouble(dst, w^base)
	case frame.String:
		return blob.AppendUvarint(dst, uint64(w))
	}
	if m.HasSum {
		dst = blob.AppendSvarint(dst, w)
	}
	from, to := c.buckets(change)
	dst = blob.AppendUvarint(dst, uint64(to-from))
	previous := int32(-1)
	for i := from; i < to; i++ {
		dst = blob.AppendSvarint(blob.AppendGap(dst, previous, int32(c.bucket[i])), c.count[i])
		previous = int32(c.bucket[i])
	}
	return dst
}

// appendPresence appends the patterns that are not "always", each with its rows in runs.
func appendPresence(dst []byte, p *presence) []byte {
	if p == nil {
		return append(dst, 0)
	}
	type pattern struct {
		edges []int32
		runs  [][2]int32 // first row, number
	}
	var list []*pattern
	known := map[string]*pattern{}
	var key []byte
	for i, row := range p.rows {
		key = key[:0]
		previous := int32(-1)
		for _, e := range p.at(i) {
			key = blob.AppendGap(key, previous, e)
			previous = e
		}
		pat := known[string(key)]
		if pat == nil {
			pat = &pattern{edges: p.at(i)}
			known[string(key)] = pat
			list = append(list, pat)
		}
		if n := len(pat.runs); n > 0 && pat.runs[n-1][0]+pat.runs[n-1][1] == row {
			pat.runs[n-1][1]++
		} else {
			pat.runs = append(pat.runs, [2]int32{row, 1})
		}
	}
	dst = blob.AppendUvarint(dst, uint64(len(list)))
	for _, pat := range list {
		dst = blob.AppendUvarint(dst, uint64(len(pat.edges)))
		previous := int32(-1)
		for _, e := range pat.edges {
			dst = blob.AppendGap(dst, previous, e)
			previous = e
		}
		dst = blob.AppendUvarint(dst, uint64(len(pat.runs)))
		next := int32(0)
		for _, run := range pat.runs {
			dst = blob.AppendUvarint(blob.AppendUvarint(dst, uint64(run[0]-next)), uint64(run[1]-1))
			next = run[0] + run[1]
		}
	}
	return dst
}

// onesIn returns how many bits are set.
func onesIn(b []byte) int {
	n := 0
	for _, x := range b {
		n += bits.OnesCount8(x)
	}
	return n
}
