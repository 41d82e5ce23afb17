package rollup

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/window"
)

// Meta is what a rollup's meta blob says, without its dictionaries.
type Meta struct {
	Level
	Start    int64
	Instants int
	Parts    []Part
	Types    []MetaType
}

// MetaType is what meta says of one entity type.
type MetaType struct {
	Key    string
	Hash   window.Hash
	live   []byte // counts; they need the dictionary
	states []byte
}

// Stored reports whether metric number i has a column of its own.
func (t *MetaType) Stored(i int) bool { return i < len(t.states) && t.states[i] == stateColumn }

// DecodeMeta reads the meta blob of a period. The error wraps ErrVersion or ErrMalformed.
func DecodeMeta(level Level, start int64, b []byte) (*Meta, error) {
	r := read(b)
	r.Version(metaVersion)
	m := &Meta{Level: level, Start: start, Instants: r.Number("the instants", maxCount+1)}
	parts := r.Count("parts", len(r.Rest))
	finer, coarse := level.Finer()
	if parts > 0 && !coarse {
		r.Fail("parts of the finest level")
	}
	for next := start; parts > 0 && r.Err == nil; parts-- {
		p := Part{Start: next + int64(r.Number("a gap of parts", int(level.Millis/finer.Millis)))*finer.Millis}
		p.Instants = r.Number("the instants of a part", maxCount+1)
		if next = p.Start + finer.Millis; next > start+level.Millis {
			r.Fail("a part after the period")
		}
		m.Parts = append(m.Parts, p)
	}
	for range r.Count("types", len(r.Rest)) {
		t := MetaType{Key: r.Text("a type")}
		copy(t.Hash[:], r.Take(len(t.Hash)))
		t.live = r.Take(r.Count("bytes of counts", len(r.Rest)))
		n := r.Number("metrics", math.MaxInt32)
		packed := r.Take((n*stateBits + 7) / 8)
		if r.Err != nil {
			break
		}
		t.states = make([]byte, n)
		for i := range t.states {
			t.states[i] = packed[i*stateBits/8] >> (i * stateBits % 8) & (1<<stateBits - 1)
		}
		m.Types = append(m.Types, t)
	}
	if err := r.Done(); err != nil {
		return nil, err
	}
	return m, nil
}

// FromColumns makes a rollup of what Encode stored: meta and those columns that are needed; other metrics are not in it unless meta answers for them. What
// cannot be decoded is left out, and damage says why.
//
// Columns may be of another time than meta (the period is being written again, and meta comes last). Each says what it is true of, and it is taken as it is.
func FromColumns(meta *Meta, dictionary window.Dictionaries, columns []window.StoredColumn) (out *Rollup, damage []error) {
	out = &Rollup{Level: meta.Level, Start: meta.Start, Instants: meta.Instants, Parts: meta.Parts}
	byKey := map[string]*Type{}
	for i := range meta.Types {
		mt := &meta.Types[i]
		t, err := mt.open(dictionary)
		if err != nil {
			damage = append(damage, fmt.Errorf("type %s: %w", mt.Key, err))
			continue
		}
		out.Types = append(out.Types, t)
		byKey[mt.Key] = t
	}
	for _, c := range columns {
		if err := out.take(byKey, dictionary, c); err != nil {
			damage = append(damage, fmt.Errorf("a column of type %s: %w", c.Key, err))
		}
	}
	slices.SortFunc(out.Types, func(a, b *Type) int { return strings.Compare(a.Key, b.Key) })
	return out, damage
}

func (mt *MetaType) open(dictionary window.Dictionaries) (*Type, error) {
	d, err := dictionary(mt.Key, mt.Hash)
	if err != nil {
		return nil, err
	}
	if len(mt.states) != len(d.Metrics) {
		return nil, fmt.Errorf("%w: meta knows %d metrics, the dictionary %d", ErrMalformed, len(mt.states), len(d.Metrics))
	}
	r := read(mt.live)
	t := &Type{Dictionary: d, live: r.counts(len(d.Rows)), columns: make([]*column, len(d.Metrics))}
	if err := r.Done(); err != nil {
		return nil, err
	}
	var absent *column
	for i, s := range mt.states {
		switch {
		case s == stateZero && d.Metrics[i].Kind != frame.String:
		case s == stateAbsent && d.Metrics[i].Kind != frame.String:
			if absent == nil {
				absent = &column{counts: make([]uint32, len(d.Rows))}
			}
			t.columns[i] = absent
		default:
			t.columns[i] = unknown
		}
	}
	return t, nil
}

// take enters a column in its type. If it has another dictionary than meta names, the type takes that one's numbers: a type of its own is made for it.
func (r *Rollup) take(byKey map[string]*Type, dictionary window.Dictionaries, c window.StoredColumn) error {
	b := read(c.Blob)
	b.Version(columnVersion)
	var hash window.Hash
	copy(hash[:], b.Take(len(hash)))
	metric := b.Number("the metric", math.MaxInt32)
	if b.Err != nil {
		return b.Err
	}
	d, err := dictionary(c.Key, hash)
	if err != nil {
		return err
	}
	if metric >= len(d.Metrics) || d.Metrics[metric].Kind == frame.String {
		return fmt.Errorf("%w: metric %d of %d", ErrMalformed, metric, len(d.Metrics))
	}
	col := b.column(d, &d.Metrics[metric])
	if err := b.Done(); err != nil {
		return err
	}
	t := byKey[c.Key]
	if t == nil || t.Dictionary != d {
		other := c.Key + "\x00" + hash.String()
		if t = byKey[other]; t == nil {
			t = &Type{Dictionary: d, live: make([]uint32, len(d.Rows)), columns: make([]*column, len(d.Metrics))}
			for i := range t.columns {
				t.columns[i] = unknown
			}
			byKey[other] = t
			r.Types = append(r.Types, t)
		}
	}
	if slices.Equal(col.counts, t.live) {
		col.counts = nil
	}
	t.columns[metric] = col
	return nil
}

func (r *reader) counts(rows int) []uint32 {
	usual := uint32(r.Number("a count", maxCount+1))
	others := r.Count("counts", rows)
	if r.Err != nil {
		return nil
	}
	list := make([]uint32, rows)
	for i := range list {
		list[i] = usual
	}
	for row := 0; others > 0 && r.Err == nil; others-- {
		row += r.Number("a row", rows-row)
		list[min(row, rows-1)] = uint32(r.Number("a count", maxCount+1))
		row++
	}
	return list
}

func (r *reader) column(d *window.Dictionary, m *window.Metric) *column {
	c := &column{counts: r.counts(len(d.Rows))}
	n := r.Count("cells", len(d.Rows))
	c.rows, c.cells = make([]int32, 0, n), make([]*cell, 0, n)
	for row := 0; n > 0 && r.Err == nil; n-- {
		v := r.Uvarint()
		class := byte(v & (1<<cellBits - 1))
		if v >>= cellBits; v >= uint64(len(d.Rows)-row) {
			r.Fail("a row after the last")
			break
		}
		row += int(v)
		s := r.cell(m, class, c.counts[row])
		if c.counts[row] == 0 || s.zero() {
			r.Fail("a cell without a value")
		}
		c.rows, c.cells = append(c.rows, int32(row)), append(c.cells, &s)
		row++
	}
	return c
}

func (r *reader) cell(m *window.Metric, class byte, n uint32) cell {
	var c cell
	hist := m.Kind.IsHistogram()
	var first, last, total sparse
	switch {
	case hist:
		c.first, first = r.buckets(m)
	case m.Kind == frame.GaugeDouble:
		c.first = r.Double()
	default:
		c.first = r.Svarint()
	}
	if hist {
		c.hist = bucketsOf(first, sparse{}, sparse{})
	}
	switch {
	case class == cellStill:
		return c.still(m.Kind, n)
	case class == cellRising && m.Kind == frame.Gauge:
		c.last = c.first + r.Svarint()
		c.min = c.first - int64(r.Uvarint())
		c.max = c.first + int64(r.Uvarint())
		c.total = times(c.first, n).Add(r.wide())
	case class == cellRising && m.Kind == frame.Counter:
		c.total.Lo = r.Uvarint()
		c.last = c.first + int64(c.total.Lo)
	case class == cellRising && m.Kind == frame.Histogram:
		var sum int64
		sum, total = r.buckets(m)
		c.last, c.total.Lo = c.first+sum, uint64(sum)
		c.hist = bucketsOf(first, first.plus(total, 1), total)
	case class == cellOther && m.Kind == frame.GaugeDouble:
		c.last, c.min, c.max = c.first^r.Double(), c.first^r.Double(), c.first^r.Double()
		c.total.Lo = uint64(r.Double())
	case class == cellOther && m.Kind == frame.Counter:
		c.last = r.Svarint()
		c.total.Lo = r.Uvarint()
	case class == cellOther && hist:
		var sum int64
		c.last, last = r.buckets(m)
		sum, total = r.buckets(m)
		c.total.Lo = uint64(sum)
		c.hist = bucketsOf(first, last, total)
	default:
		r.Fail("a cell of class %d in a %s", class, m.Kind)
	}
	return c
}

func (r *reader) buckets(m *window.Metric) (sum int64, s sparse) {
	if m.HasSum {
		sum = r.Svarint()
	}
	size := m.Buckets()
	n := r.Count("buckets", size)
	if n == 0 || r.Err != nil {
		return sum, s
	}
	s = sparse{make([]uint16, 0, n), make([]int64, 0, n)}
	for next := 0; n > 0 && r.Err == nil; n-- {
		next += r.Number("a bucket", size-next)
		count := r.Svarint()
		if count == 0 {
			r.Fail("a bucket without a count")
		}
		s.index, s.count = append(s.index, uint16(min(next, size-1))), append(s.count, count)
		next++
	}
	return sum, s
}
