package rollup

import (
	"math"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/window"
	"github.com/ringwatch/ringwatch/window/selecting"
)

// FromWindow returns the rollup of a window's five minutes. Its cost is the window's values that
// are not zero all the time. Columns that were not read have no rollup.
func FromWindow(w *window.Window) *Rollup {
	r, _ := FromWindowWithin(nil, w) // nothing refuses
	return r
}

// FromWindowWithin is FromWindow with as much memory as the allowance gives, which is asked as the
// rollup grows; nil gives any. Its error is the allowance's.
func FromWindowWithin(allow window.Allowance, w *window.Window) (*Rollup, error) {
	r := &Rollup{Level: FiveMinutes, Start: w.Start, Instants: len(w.Times)}
	var dictionaries []*window.Dictionary
	for _, t := range w.Types {
		dictionaries = append(dictionaries, t.Dictionary)
	}
	for _, g := range unite(dictionaries) {
		b := windowBuilder{batchedAllowance: batchedAllowance{allow: allow}, group: g,
			out: &Type{Dictionary: g.Dictionary, live: make([]uint32, len(g.Rows)),
				columns: make([]*column, len(g.Metrics))}}
		for _, t := range w.Types {
			m := g.maps[t.Dictionary]
			if m == nil {
				continue
			}
			b.types, b.maps = append(b.types, t), append(b.maps, m)
			for row, n := range w.LiveInstants(t) {
				to := row
				if m.rows != nil {
					to = int(m.rows[row])
				}
				b.out.live[to] += n
			}
		}
		for m := range g.Metrics {
			if b.out.columns[m] = b.column(w, m); b.err != nil {
				return nil, b.err
			}
		}
		r.Types = append(r.Types, b.out)
	}
	return r, nil
}

// windowBuilder makes one type's columns from a window's types.
type windowBuilder struct {
	batchedAllowance
	*group
	out   *Type
	types []*window.Type
	maps  []*mapping
	of    []*selecting.Cells // scratch: the walks that have values of a row
	arena
}

// askEvery is how many bytes are taken before an allowance is asked.
const askEvery = 256 << 10

// batchedAllowance takes memory from an allowance, askEvery bytes at a time.
type batchedAllowance struct {
	allow window.Allowance // nil: gives any
	owed  int64            // bytes that are taken and not asked for yet
	err   error            // the allowance's
}

func (o *batchedAllowance) take(bytes int) {
	if o.owed += int64(bytes); o.allow != nil && o.err == nil && o.owed > askEvery {
		o.err = o.allow.Take(o.owed)
		o.owed = 0
	}
}

// bytes returns what a cell takes, its row's number among it.
func (c *cell) bytes() int {
	const own, hist, bucket = 80, 144, 10
	if c.hist == nil {
		return own
	}
	return own + hist +
		bucket*(len(c.hist.first.index)+len(c.hist.last.index)+len(c.hist.total.index))
}

func (b *windowBuilder) column(w *window.Window, metric int) *column {
	kind := b.Metrics[metric].Kind
	if kind == frame.String {
		return unknown
	}
	var walks []*selecting.Cells
	var maps []*mapping
	zero, known := true, false
	for i, t := range b.types {
		own := b.maps[i].metricOf(metric)
		if own < 0 { // these entities have no such metric
			zero = false
			continue
		}
		c := selecting.CellsOf(w, t, own)
		if c == nil {
			zero = false
			continue
		}
		known = true
		zero = zero && c.Zero()
		walks, maps = append(walks, c), append(maps, b.maps[i])
	}
	switch {
	case zero:
		return nil
	case !known:
		return unknown
	}
	if b.take(4 * len(b.Rows)); b.err != nil {
		return nil
	}
	out := &column{counts: make([]uint32, len(b.Rows))}
	f := aggregator{kind: kind, size: b.Metrics[metric].Buckets(), arena: &b.arena}
	for row := range out.counts {
		of := b.of[:0]
		still := true
		for i, c := range walks {
			own := maps[i].rowOf(int32(row))
			if own < 0 {
				continue
			}
			if n, zero := c.Row(int(own)); n > 0 {
				of = append(of, c)
				out.counts[row] += uint32(n)
				still = still && zero
			}
		}
		b.of = of
		if len(of) == 0 || still && len(of) == 1 {
			continue
		}
		cell, n := f.row(of)
		out.counts[row] = n
		if !cell.zero() {
			out.rows, out.cells = append(out.rows, int32(row)), append(out.cells, b.keep(cell))
			// twice, for lists grow by as much as they have
			if b.take(2 * cell.bytes()); b.err != nil {
				return nil
			}
		}
	}
	return out.compact(b.out.live)
}

// compact leaves out counts that are those of the entities, and columns that say nothing.
func (c *column) compact(live []uint32) *column {
	alike := true
	for i, n := range c.counts {
		if n != live[i] {
			alike = false
			break
		}
	}
	if alike {
		c.counts = nil
		if len(c.rows) == 0 {
			return nil
		}
	}
	return c
}

// aggregator adds up the samples of one row after the other.
type aggregator struct {
	*arena
	kind frame.Kind
	size int // buckets

	// Scratch of histograms: the counts of the sample before, those of the first sample since the
	// last restart, what was added up until that restart, and the first sample's counts.
	before, since, total []int64
	sinceSum             int64
	first                sparse
}

// row returns what the samples of one series give. It is usually one walk; more if entities that
// are one series were described differently within the window. Where two walks know an instant the
// first wins, as in selecting.Select.
func (f *aggregator) row(of []*selecting.Cells) (cell, uint32) {
	if len(of) == 1 {
		c := of[0]
		n := uint32(0)
		var out cell
		f.begin()
		for c.Next() {
			f.add(&out, c, n == 0)
			n++
		}
		f.end(&out)
		return out, n
	}
	there := make([]bool, len(of))
	for i, c := range of {
		there[i] = c.Next()
	}
	var out cell
	n := uint32(0)
	last := int64(math.MinInt64)
	f.begin()
	for {
		next := -1
		for i, c := range of {
			if there[i] && (next < 0 || c.At() < of[next].At()) {
				next = i
			}
		}
		if next < 0 {
			f.end(&out)
			return out, n
		}
		if c := of[next]; c.At() != last {
			last = c.At()
			f.addAny(&out, c, n == 0)
			n++
		}
		there[next] = of[next].Next()
	}
}

func (f *aggregator) begin() {
	if f.size > 0 && f.before == nil {
		f.before, f.since, f.total = make([]int64, f.size), make([]int64, f.size), make([]int64,
			f.size)
	}
}

// add adds the walk's value, which follows the one that was added before in the same walk.
func (f *aggregator) add(out *cell, c *selecting.Cells, first bool) {
	if f.size > 0 && !first && !c.Changed() && f.kind == frame.Histogram {
		return // nothing increased
	}
	f.addAny(out, c, first)
}

// addAny adds the walk's value.
func (f *aggregator) addAny(out *cell, c *selecting.Cells, first bool) {
	word := c.Word()
	if f.size > 0 {
		f.histogram(out, word, c.Counts(), first)
		return
	}
	switch {
	case first:
		*out = single(f.kind, word)
	case f.kind == frame.Counter:
		out.total = increaseTotal(out.total.increase() + increase(out.last, word))
		out.last = word
	case f.kind == frame.Gauge:
		out.min, out.max = min(out.min, word), max(out.max, word)
		out.total = integerTotal(out.total.integerSum().Add(wide(word)))
		out.last = word
	default:
		s := single(f.kind, word)
		*out = out.followedBy(f.kind, &s)
	}
}

func (f *aggregator) histogram(out *cell, sum int64, counts []int64, first bool) {
	switch {
	case first:
		*out = cell{first: sum}
		f.first = f.of(counts)
		f.sinceSum = sum
		copy(f.since, counts)
		clear(f.total)
	case f.kind == frame.Histogram && restarted(f.before, counts):
		out.total = increaseTotal(out.total.increase() + out.last - f.sinceSum + sum)
		for i, n := range counts {
			f.total[i] += f.before[i] - f.since[i] + n
		}
		f.sinceSum = sum
		copy(f.since, counts)
	}
	if f.kind == frame.GaugeHistogram {
		out.total = sumsTotal(out.total.sumOfSums() + sum)
		for i, n := range counts {
			f.total[i] += n
		}
	}
	out.last = sum
	copy(f.before, counts)
}

// restarted reports whether a histogram started again between two samples.
func restarted(before, now []int64) bool {
	for i, n := range now[:len(before)] {
		if n < before[i] {
			return true
		}
	}
	return false
}

// end turns the scratch of a histogram into what is kept.
func (f *aggregator) end(out *cell) {
	if f.size == 0 {
		return
	}
	if f.kind == frame.Histogram {
		out.total = increaseTotal(out.total.increase() + out.last - f.sinceSum)
		for i, n := range f.before {
			f.total[i] += n - f.since[i]
		}
	}
	last := f.first
	if !f.first.isDense(f.before) {
		last = f.of(f.before)
	}
	out.hist = f.bucketsOf(f.first, last, f.of(f.total))
}

func (s sparse) equal(o sparse) bool {
	if len(s.index) != len(o.index) {
		return false
	}
	for i := range s.index {
		if s.index[i] != o.index[i] || s.count[i] != o.count[i] {
			return false
		}
	}
	return true
}
