package rollup

import (
	"math"

	"github.com/ringwatch/ringwatch/blob"
	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/window"
)

const (
	metaVersion   = 1
	columnVersion = 1
)

// EncodedV1 is a rollup as version 1 stored it.
type EncodedV1 struct {
	Meta         []byte
	Dictionaries []window.EncodedDictionary
	Columns      []window.EncodedColumn // only metrics that meta does not answer for
}

const stateColumn = 1 // as its column says

func (t *Type) state(c *column) byte {
	switch {
	case c == nil:
		return stateZero
	case c == unknown:
		return stateAbsent
	case len(c.rows) == 0:
		for _, n := range c.counts {
			if n > 0 {
				return stateColumn
			}
		}
		return stateAbsent
	}
	return stateColumn
}

// Encode encodes the rollup. Equal rollups give equal bytes.
func (r *Rollup) Encode() EncodedV1 {
	var out EncodedV1
	meta := blob.AppendUvarint([]byte{metaVersion}, uint64(r.Instants))
	meta = blob.AppendUvarint(meta, uint64(len(r.Parts)))
	if finer, ok := r.Finer(); ok {
		next := r.Start
		for _, p := range r.Parts {
			meta = blob.AppendUvarint(meta, uint64((p.Start-next)/finer.Millis))
			meta = blob.AppendUvarint(meta, uint64(p.Instants))
			next = p.Start + finer.Millis
		}
	}
	meta = blob.AppendUvarint(meta, uint64(len(r.Types)))
	var buf []byte
	for _, t := range r.Types {
		d := t.Dictionary.Append(nil)
		hash := window.HashOf(d)
		out.Dictionaries = append(out.Dictionaries, window.EncodedDictionary{Key: t.Key, Hash: hash, Blob: d})
		meta = append(blob.AppendText(meta, t.Key), hash[:]...)
		live := appendCounts(nil, t.live)
		meta = blob.AppendUvarint(meta, uint64(len(live)))
		meta = append(meta, live...)
		meta = blob.AppendUvarint(meta, uint64(len(t.Metrics)))
		var packed, n byte
		for m := range t.Metrics {
			c := t.column(m)
			s := t.state(c)
			packed |= s << n
			if n += stateBits; n == 8 {
				meta, packed, n = append(meta, packed), 0, 0
			}
			if s != stateColumn {
				continue
			}
			from := len(buf)
			buf = append(append(buf, columnVersion), hash[:]...)
			buf = blob.AppendUvarint(buf, uint64(m))
			if c.counts == nil {
				buf = append(buf, live...)
			} else {
				buf = appendCounts(buf, c.counts)
			}
			buf = t.appendCells(buf, c, &t.Metrics[m])
			out.Columns = append(out.Columns, window.EncodedColumn{Key: t.Key, Metric: t.MetricKey(m), Blob: buf[from:len(buf):len(buf)]})
		}
		if n > 0 {
			meta = append(meta, packed)
		}
	}
	out.Meta = meta
	return out
}

// appendCounts appends the most frequent count and the rows that have another.
func appendCounts(dst []byte, counts []uint32) []byte {
	frequent := map[uint32]int{}
	usual, most := uint32(0), 0
	for _, n := range counts {
		frequent[n]++
		if f := frequent[n]; f > most || f == most && n > usual {
			usual, most = n, f
		}
	}
	dst = blob.AppendUvarint(dst, uint64(usual))
	dst = blob.AppendUvarint(dst, uint64(len(counts)-most))
	next := 0
	for row, n := range counts {
		if n != usual {
			dst = blob.AppendUvarint(blob.AppendUvarint(dst, uint64(row-next)), uint64(n))
			next = row + 1
		}
	}
	return dst
}

// How a cell is written.
const (
	cellStill  = 0 // one value all the time
	cellRising = 1 // a gauge that moves; what counts and did not start again
	cellOther  = 2
	cellBits   = 2
)

func (t *Type) appendCells(dst []byte, c *column, m *window.Metric) []byte {
	dst = blob.AppendUvarint(dst, uint64(len(c.rows)))
	counts := t.counts(c)
	next := int32(0)
	for i, row := range c.rows {
		s := c.cells[i]
		class := s.class(m.Kind, counts[row])
		dst = blob.AppendUvarint(dst, uint64(row-next)<<cellBits|uint64(class))
		next = row + 1
		dst = s.append(dst, m, class, counts[row])
	}
	return dst
}

// class returns the shortest way to write a cell of n values.
func (c *cell) class(kind frame.Kind, n uint32) byte {
	var rising cell
	still := c.still(kind, n)
	switch {
	case c.equal(&still):
		return cellStill
	case kind == frame.Gauge:
		return cellRising
	case kind == frame.Counter:
		if c.last > c.first && c.total.Lo == uint64(c.last-c.first) {
			return cellRising
		}
	case kind == frame.Histogram:
		rising = *c
		rising.total.Lo = uint64(c.last - c.first)
		rising.hist = bucketsOf(c.firsts(), c.lasts(), c.lasts().plus(c.firsts(), -1))
		if c.equal(&rising) {
			return cellRising
		}
	}
	return cellOther
}

// still returns the cell of n values that are all as the first of c.
func (c *cell) still(kind frame.Kind, n uint32) cell {
	s := cell{first: c.first, last: c.first}
	switch kind {
	case frame.Gauge:
		s.min, s.max, s.total = c.first, c.first, times(c.first, n)
	case frame.GaugeDouble:
		s.min, s.max, s.total.Lo = c.first, c.first, math.Float64bits(canonical(double(c.first)*float64(n)))
	case frame.Histogram:
		s.hist = bucketsOf(c.firsts(), c.firsts(), sparse{})
	case frame.GaugeHistogram:
		s.total.Lo = uint64(c.first) * uint64(n)
		s.hist = bucketsOf(c.firsts(), c.firsts(), c.firsts().times(int64(n)))
	}
	return s
}

func (s sparse) times(n int64) sparse {
	var out sparse
	for i, c := range s.count {
		if c *= n; c != 0 {
			out.index, out.count = append(out.index, s.index[i]), append(out.count, c)
		}
	}
	return out
}

func (c *cell) equal(o *cell) bool {
	return c.first == o.first && c.last == o.last && c.min == o.min && c.max == o.max && c.total == o.total &&
		c.firsts().equal(o.firsts()) && c.lasts().equal(o.lasts()) && c.totals().equal(o.totals())
}

func (c *cell) append(dst []byte, m *window.Metric, class byte, n uint32) []byte {
	switch m.Kind {
	case frame.Gauge:
		dst = blob.AppendSvarint(dst, c.first)
		if class == cellRising {
			dst = blob.AppendSvarint(dst, c.last-c.first)
			dst = blob.AppendUvarint(dst, uint64(c.first-c.min))
			dst = blob.AppendUvarint(dst, uint64(c.max-c.first))
			dst = appendWide(dst, c.total.Sub(times(c.first, n)))
		}
	case frame.GaugeDouble:
		dst = blob.AppendDouble(dst, c.first)
		if class == cellOther {
			for _, w := range []int64{c.last, c.min, c.max} {
				dst = blob.AppendDouble(dst, w^c.first)
			}
			dst = blob.AppendDouble(dst, int64(c.total.Lo))
		}
	case frame.Counter:
		dst = blob.AppendSvarint(dst, c.first)
		switch class {
		case cellRising:
			dst = blob.AppendUvarint(dst, uint64(c.last-c.first))
		case cellOther:
			dst = blob.AppendUvarint(blob.AppendSvarint(dst, c.last), c.total.Lo)
		}
	default:
		dst = appendBuckets(dst, m, c.first, c.firsts())
		switch class {
		case cellRising:
			dst = appendBuckets(dst, m, c.last-c.first, c.totals())
		case cellOther:
			dst = appendBuckets(dst, m, c.last, c.lasts())
			dst = appendBuckets(dst, m, int64(c.total.Lo), c.totals())
		}
	}
	return dst
}

func appendBuckets(dst []byte, m *window.Metric, sum int64, s sparse) []byte {
	if m.HasSum {
		dst = blob.AppendSvarint(dst, sum)
	}
	dst = blob.AppendUvarint(dst, uint64(len(s.index)))
	next := uint16(0)
	for i, bucket := range s.index {
		dst = blob.AppendSvarint(blob.AppendUvarint(dst, uint64(bucket-next)), s.count[i])
		next = bucket + 1
	}
	return dst
}

// plus returns s + sign × o.
func (s sparse) plus(o sparse, sign int64) sparse {
	if len(o.index) == 0 {
		return s
	}
	if len(s.index) == 0 && sign == 1 {
		return o
	}
	size := len(s.index) + len(o.index)
	out := sparse{make([]uint16, 0, size), make([]int64, 0, size)}
	add := func(i uint16, n int64) {
		if n != 0 {
			out.index, out.count = append(out.index, i), append(out.count, n)
		}
	}
	i, j := 0, 0
	for i < len(s.index) || j < len(o.index) {
		switch {
		case j == len(o.index) || i < len(s.index) && s.index[i] < o.index[j]:
			add(s.index[i], s.count[i])
			i++
		case i == len(s.index) || o.index[j] < s.index[i]:
			add(o.index[j], sign*o.count[j])
			j++
		default:
			add(s.index[i], s.count[i]+sign*o.count[j])
			i, j = i+1, j+1
		}
	}
	return out
}

// bucketsOf returns nil if there are no counts.
func bucketsOf(first, last, total sparse) *buckets {
	if len(first.index)+len(last.index)+len(total.index) == 0 {
		return nil
	}
	return &buckets{first, last, total}
}
