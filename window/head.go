package window

import (
	"fmt"
	"iter"
	"slices"
	"unicode/utf8"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/frame/codec"
)

// What a head says of a metric.
const (
	stateZero   = 0 // zero wherever the entity is live
	stateStored = 1 // as its parts say
	stateAbsent = 2 // never a value
	stateSmall  = 3 // as its parts say, which have at most SmallBytes together
	stateBits   = 2
)

const headVersion = 2

// Head is what a window's head says, without its dictionaries.
type Head struct {
	Node   Node // account and facts are not stored
	Start  int64
	Length int64
	Times  []int64
	Report Report // of the Build that made the window, or the last part of it
	Types  []HeadType
}

// HeadType is what a head says of one entity type.
type HeadType struct {
	Key     string
	Hash    Hash
	metrics int
	states  []byte // packed
	rest    []byte // pieces and presence: what needs the dictionary
}

// Stored reports whether metric number m has parts of its own.
func (t *HeadType) Stored(m int) bool {
	s := t.state(m)
	return s == stateStored || s == stateSmall
}

// Small reports whether metric number m has parts that take at most SmallBytes together.
func (t *HeadType) Small(m int) bool { return t.state(m) == stateSmall }

func (t *HeadType) state(m int) byte {
	if m < 0 || m >= t.metrics {
		return stateZero
	}
	return t.states[m/4] >> (2 * (m % 4)) & 3
}

// append appends what stands before the types.
func (h *Head) append(dst []byte) []byte {
	dst = append(dst, headVersion)
	for _, s := range []string{h.Node.Cluster, h.Node.Datacenter, h.Node.Rack} {
		dst = codec.AppendText(dst, s)
	}
	dst = codec.AppendUvarint(dst, uint64(h.Node.Interval))
	for _, n := range []int{h.Report.Frames, h.Report.Duplicates, h.Report.Corrupt,
		h.Report.MissingKey, h.Report.Excess} {
		dst = codec.AppendUvarint(dst, uint64(n))
	}
	dst = codec.AppendUvarint(dst, uint64(h.Length))
	return appendTimes(dst, h.Start, h.Times)
}

// DecodeHead reads the head of the window that begins at start. Of the types it reads no more than
// it must: what is wrong with one is told when the type is asked for. The head keeps b, which must
// not change. The error wraps ErrVersion or ErrMalformed.
func DecodeHead(start int64, b []byte) (*Head, error) {
	r := read(b)
	r.Version(headVersion)
	h := &Head{Start: start}
	for _, s := range []*string{&h.Node.Cluster, &h.Node.Datacenter, &h.Node.Rack} {
		*s = r.Text("a name")
	}
	h.Node.Interval = int64(r.Number("the interval", 3_600_001))
	for _, n := range []*int{&h.Report.Frames, &h.Report.Duplicates, &h.Report.Corrupt,
		&h.Report.MissingKey, &h.Report.Excess} {
		*n = r.Number("a count of frames", 1<<31)
	}
	h.Length = int64(r.Number("the length", HourMillis+1))
	h.Times = r.times(start, h.Length)
	if n := r.Count("types", 2*frame.MaxTemplates); n > 0 {
		h.Types = make([]HeadType, n)
	}
	all := string(r.Rest) // one copy for all keys
	for i := range h.Types {
		t := &h.Types[i]
		size := r.Count("bytes of a type's name", len(r.Rest))
		at := len(all) - len(r.Rest)
		t.Key = all[at : at+len(r.Take(size))]
		if !utf8.ValidString(t.Key) {
			r.Fail("a type's name is not UTF-8")
		}
		copy(t.Hash[:], r.Take(len(t.Hash)))
		body := read(r.Take(r.Count("bytes of a type", len(r.Rest))))
		t.metrics = body.Number("metrics", maxMetrics+1)
		t.states = body.Take((t.metrics*stateBits + 7) / 8)
		t.rest = body.Rest
		if body.Err != nil && r.Err == nil {
			r.Err = body.Err
		}
		if r.Err != nil {
			return nil, r.Err
		}
		if i > 0 && h.Types[i-1].Key >= t.Key {
			r.Fail("types are not in order")
		}
	}
	if err := r.Done(); err != nil {
		return nil, err
	}
	return h, nil
}

// cutMetrics reads which metrics are cut, and the first rows of their pieces but the first one.
func (t *HeadType) cutMetrics(r *reader, rows int) iter.Seq2[int, []int32] {
	return func(yield func(metric int, starts []int32) bool) {
		metric := -1
		for range r.Count("metrics in pieces", t.metrics) {
			metric = r.Gap("a metric", metric, t.metrics)
			n := r.Count("pieces", rows)
			if n == 0 {
				r.Fail("a metric in pieces has one")
			}
			starts := make([]int32, n)
			row := 0
			for i := range starts {
				row = r.Gap("a piece's first row", row, rows)
				starts[i] = int32(row)
			}
			if r.Err != nil || !yield(metric, starts) {
				return
			}
		}
	}
}

// startsOf returns the first rows of a metric's pieces but the first one; none if it is not cut.
func (t *HeadType) startsOf(metric, rows int) (starts []int32) {
	if len(t.rest) == 0 || t.rest[0] == 0 {
		return nil
	}
	r := read(t.rest)
	for m, s := range t.cutMetrics(&r, rows) {
		if m == metric {
			starts = s
		}
		if m >= metric {
			break
		}
	}
	return starts
}

// PartsOf returns the parts that answer for metric m of type t, whose dictionary is d: of the
// entities in rows (nil: of all) and of these facets (none: of all). A metric that the head answers
// for has none. They are in ascending order.
func (h *Head) PartsOf(t int, d *Dictionary, m int, rows []int32, facets ...Facet) []PartID {
	headType := &h.Types[t]
	if !headType.Stored(m) || m >= len(d.Metrics) {
		return nil
	}
	starts := headType.startsOf(m, len(d.Rows))
	var wanted []bool // by piece; nil: all
	if rows != nil {
		wanted = make([]bool, len(starts)+1)
		for _, row := range rows {
			i, found := slices.BinarySearch(starts, row)
			if found {
				i++
			}
			wanted[i] = true
		}
	}
	var list []PartID
	for f := range Facet(facetsOf(&d.Metrics[m])) {
		if len(facets) > 0 && !slices.Contains(facets, f) {
			continue
		}
		for i := range len(starts) + 1 {
			if wanted == nil || wanted[i] {
				list = append(list, PartID{Type: t, Metric: m, Facet: f, Piece: i})
			}
		}
	}
	return list
}

// openType is a type of a head, with what its parts need.
type openType struct {
	typ    *Type
	starts map[int][]int32 // by metric that is cut
}

// open makes the type that the head describes. Metrics that are stored are unknown as yet.
func (t *HeadType) open(find Dictionaries, instants int) (openType, error) {
	d, err := find(t.Key, t.Hash)
	if err != nil {
		return openType{}, fmt.Errorf("type %s: %w", t.Key, err)
	}
	if t.metrics != len(d.Metrics) {
		return openType{}, fmt.Errorf("%w: the head knows %d metrics of type %s, the dictionary %d",
			ErrMalformed, t.metrics, t.Key, len(d.Metrics))
	}
	o := openType{typ: &Type{Dictionary: d, columns: make([]*column, len(d.Metrics))}}
	r := read(t.rest)
	for m, starts := range t.cutMetrics(&r, len(d.Rows)) {
		if !t.Stored(m) {
			r.Fail("metric %d is in pieces and not stored", m)
		}
		if o.starts == nil {
			o.starts = map[int][]int32{}
		}
		o.starts[m] = starts
	}
	o.typ.live = r.presence(len(d.Rows), int32(instants))
	if err := r.Done(); err != nil {
		return openType{}, fmt.Errorf("type %s: %w", t.Key, err)
	}
	var absent *column
	for m := range o.typ.columns {
		switch t.state(m) {
		case stateZero:
		case stateAbsent:
			if absent == nil {
				absent = &column{present: never(len(d.Rows))}
			}
			o.typ.columns[m] = absent
		default:
			o.typ.columns[m] = unknown
		}
	}
	return o, nil
}
