package window

import (
	"github.com/ringwatch/ringwatch/blob"
	"github.com/ringwatch/ringwatch/frame"
)

const columnVersion = 1

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
