package rollup

import (
	"encoding/binary"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/frame/codec"
	"github.com/ringwatch/ringwatch/window"
)

// How a cell of a run is written, against the last value of the row's cell before.
const (
	runSame      = 0 // that value all the time
	runStill     = 1 // another value all the time
	runRising    = 2 // a gauge that moves; what counts and did not start again
	runOther     = 3
	runClassBits = 2
)

// runClass returns the shortest way to write a cell of n values.
func (c *cell) runClass(kind frame.Kind, n uint32, before *cell) byte {
	switch {
	case c.isStill(kind, n):
		if c.first == before.last && c.firsts().equal(before.lasts()) {
			return runSame
		}
		return runStill
	case kind == frame.Gauge:
		return runRising
	case kind == frame.Counter:
		if c.last > c.first && c.total.increase() == c.last-c.first {
			return runRising
		}
	case kind == frame.Histogram:
		if c.total.increase() == c.last-c.first && c.lasts().isSum(c.firsts(), c.totals()) {
			return runRising
		}
	}
	return runOther
}

// isStill reports whether n values that are all as the first give the cell.
func (c *cell) isStill(kind frame.Kind, n uint32) bool {
	if c.last != c.first {
		return false
	}
	switch kind {
	case frame.Gauge:
		return c.min == c.first && c.max == c.first &&
			c.total.integerSum() == times(c.first, n)
	case frame.GaugeDouble:
		return c.min == c.first && c.max == c.first && c.total == doubleTimes(c.first, n)
	case frame.Counter:
		return c.total == total{}
	case frame.Histogram:
		return c.total == total{} && len(c.totals().index) == 0 && c.lasts().equal(c.firsts())
	}
	return c.total.sumOfSums() == c.first*int64(n) && c.lasts().equal(c.firsts()) &&
		c.totals().isTimes(c.firsts(), int64(n))
}

// doubleTimes returns the total of n times a double.
func doubleTimes(word int64, n uint32) total { return doubleTotal(double(word) * float64(n)) }

// appendWord appends a difference. That of what counts is not negative, as long as it does not
// start again.
func appendWord(dst []byte, kind frame.Kind, v int64) []byte {
	if kind == frame.Counter || kind == frame.Histogram {
		return codec.AppendUvarint(dst, uint64(v))
	}
	return codec.AppendSvarint(dst, v)
}

// cellWriter writes the cells of one metric.
type cellWriter struct {
	*window.Metric
	diff sparseSlab // scratch
}

// append appends a cell of n values.
func (w *cellWriter) append(dst []byte, c *cell, class byte, n uint32, before *cell) []byte {
	if class == runSame {
		return dst
	}
	if w.Kind.IsHistogram() {
		w.diff.clear()
		dst = w.appendBuckets(dst, c.first-before.last, w.diff.sum(c.firsts(), before.lasts(), -1))
		if class == runOther {
			dst = w.appendBuckets(dst, c.last, c.lasts())
		}
		if class != runStill {
			dst = w.appendBuckets(dst, c.total.word(), c.totals())
		}
		return dst
	}
	if w.Kind == frame.GaugeDouble {
		dst = codec.AppendDouble(dst, c.first^before.last)
	} else {
		dst = appendWord(dst, w.Kind, c.first-before.last)
	}
	switch {
	case class == runStill:
	case w.Kind == frame.Gauge:
		dst = codec.AppendSvarint(dst, c.last-c.first)
		dst = codec.AppendUvarint(dst, uint64(c.first-c.min))
		dst = codec.AppendUvarint(dst, uint64(c.max-c.first))
		dst = appendWide(dst, c.total.integerSum().Sub(times(c.first, n)))
	case w.Kind == frame.GaugeDouble:
		for _, word := range [...]int64{c.last, c.min, c.max} {
			dst = codec.AppendDouble(dst, word^c.first)
		}
		dst = codec.AppendDouble(dst, c.total.word()^before.total.word())
	default:
		if class == runOther {
			dst = codec.AppendUvarint(dst, uint64(c.last))
		}
		dst = codec.AppendUvarint(dst, uint64(c.total.increase()))
	}
	return dst
}

// appendBuckets appends counts by bucket and their sum: runs of buckets that have counts.
func (w *cellWriter) appendBuckets(dst []byte, sum int64, s sparse) []byte {
	if w.HasSum {
		dst = appendWord(dst, w.Kind, sum)
	}
	runs := 0
	for i, bucket := range s.index {
		if i == 0 || bucket != s.index[i-1]+1 {
			runs++
		}
	}
	dst = codec.AppendUvarint(dst, uint64(runs))
	next := uint16(0)
	for i := 0; i < len(s.index); {
		end := i + 1
		for end < len(s.index) && s.index[end] == s.index[end-1]+1 {
			end++
		}
		dst = codec.AppendUvarint(codec.AppendUvarint(dst, uint64(s.index[i]-next)),
			uint64(end-i-1))
		next = s.index[end-1] + 1
		for ; i < end; i++ {
			dst = appendWord(dst, w.Kind, s.count[i])
		}
	}
	return dst
}

// runReader reads the cells of a run's part.
type runReader struct {
	reader
	*window.Metric
	*arena
	*batchedAllowance
}

// cell reads a cell of n values. before is the row's cell before, zeroCell if there is none, and
// still says that it had one value all the time, as many as wereBefore.
func (r *runReader) cell(class byte, n, wereBefore uint32, before *cell, still bool) *cell {
	if class == runSame {
		if before == &zeroCell || still && (n == wereBefore || !dependsOnCount(r.Kind)) {
			return before
		}
		return r.still(before.last, before.lasts(), n)
	}
	if r.Kind.IsHistogram() {
		return r.histogram(class, n, before)
	}
	var c cell
	if r.Kind == frame.GaugeDouble {
		c.first = before.last ^ r.Double()
	} else {
		c.first = before.last + r.word()
	}
	if class == runStill {
		return r.differs(c.first, sparse{}, n, before)
	}
	switch {
	case class == runRising && r.Kind == frame.Gauge:
		c.last = c.first + r.Svarint()
		c.min = c.first - int64(r.Uvarint())
		c.max = c.first + int64(r.Uvarint())
		c.total = integerTotal(times(c.first, n).Add(r.wide()))
	case class == runRising && r.Kind == frame.Counter:
		c.total = increaseTotal(int64(r.Uvarint()))
		c.last = c.first + c.total.increase()
	case class == runOther && r.Kind == frame.Counter:
		c.last = int64(r.Uvarint())
		c.total = increaseTotal(int64(r.Uvarint()))
	case class == runOther && r.Kind == frame.GaugeDouble:
		c.last, c.min, c.max = c.first^r.Double(), c.first^r.Double(), c.first^r.Double()
		c.total = wordTotal(before.total.word() ^ r.Double())
	default:
		r.Fail("a cell of class %d in a %s", class, r.Kind)
	}
	return r.keepCell(c)
}

func (r *runReader) histogram(class byte, n uint32, before *cell) *cell {
	sum, diff := r.buckets()
	c := cell{first: before.last + sum}
	first := r.sum(before.lasts(), diff, 1)
	var last, total sparse
	switch {
	case class == runStill:
		return r.differs(c.first, first, n, before)
	case class == runRising && r.Kind == frame.Histogram:
		sum, total = r.buckets()
		total = r.copy(total)
		c.last, last = c.first+sum, r.sum(first, total, 1)
	case class == runOther:
		c.last, last = r.buckets()
		last = r.copy(last)
		sum, total = r.buckets()
		total = r.copy(total)
	default:
		r.Fail("a cell of class %d in a %s", class, r.Kind)
	}
	c.total = wordTotal(sum)
	c.hist = r.bucketsOf(first, last, total)
	return r.keepCell(c)
}

// differs is still, of another value than that before.
func (r *runReader) differs(first int64, firsts sparse, n uint32, before *cell) *cell {
	if first == before.last && firsts.equal(before.lasts()) {
		r.Fail("a value that is not another")
	}
	return r.still(first, firsts, n)
}

// still returns the cell of n values that are all the same.
func (r *runReader) still(first int64, firsts sparse, n uint32) *cell {
	c := cell{first: first, last: first}
	switch r.Kind {
	case frame.Gauge:
		c.min, c.max, c.total = first, first, integerTotal(times(first, n))
	case frame.GaugeDouble:
		c.min, c.max, c.total = first, first, doubleTimes(first, n)
	case frame.Histogram:
		c.hist = r.bucketsOf(firsts, firsts, sparse{})
	case frame.GaugeHistogram:
		c.total = sumsTotal(first * int64(n))
		c.hist = r.bucketsOf(firsts, firsts, r.times(firsts, int64(n)))
	}
	return r.keepCell(c)
}

func (r *runReader) keepCell(c cell) *cell {
	r.batchedAllowance.take(c.bytes())
	return r.keep(c)
}

// word reads what appendWord wrote.
func (r *runReader) word() int64 {
	if r.Kind == frame.Counter || r.Kind == frame.Histogram {
		return int64(r.Uvarint())
	}
	return r.Svarint()
}

// buckets reads counts by bucket and their sum. The list is good until buckets is called again.
func (r *runReader) buckets() (sum int64, s sparse) {
	if r.HasSum {
		sum = r.word()
	}
	size := r.Buckets()
	if len(r.read.index) < size {
		r.read = sparse{make([]uint16, size), make([]int64, size)}
	}
	next, n := 0, 0
	for runs := r.Count("runs of buckets", size); runs > 0 && r.Err == nil; runs-- {
		gap := r.Number("a bucket", size-next)
		if gap == 0 && next > 0 {
			r.Fail("two runs of buckets that are one")
		}
		next += gap
		length := r.Number("a run of buckets", size-next) + 1
		if r.Err != nil {
			break
		}
		r.words(r.read.count[n : n+length])
		for i := range length {
			r.read.index[n+i] = uint16(next + i)
		}
		n, next = n+length, next+length
	}
	if r.Err != nil {
		return 0, sparse{}
	}
	return sum, sparse{r.read.index[:n], r.read.count[:n]}
}

// words reads counts, none of which may be 0.
func (r *runReader) words(to []int64) {
	b, at := r.Rest, 0
	signed := r.Kind == frame.GaugeHistogram
	for i := range to {
		var v uint64
		if at < len(b) && b[at] < 0x80 {
			v = uint64(b[at])
			at++
		} else {
			n := 0
			if v, n = binary.Uvarint(b[at:]); n <= 0 {
				r.Fail("a count does not end or exceeds 64 bits")
				return
			}
			at += n
		}
		if v == 0 {
			r.Fail("a bucket without a count")
			return
		}
		if signed {
			v = v>>1 ^ -(v & 1)
		}
		to[i] = int64(v)
	}
	r.Rest = b[at:]
}
