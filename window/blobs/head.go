package blobs

import (
	"slices"
	"unicode/utf8"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/frame/codec"
	"github.com/ringwatch/ringwatch/window"
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
	Node   window.Node // account and facts are not stored
	Start  int64
	Length int64
	Times  []int64
	Report window.Report // of the Build that made the window, or the last part of it
	Types  []HeadType
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
	h.Length = int64(r.Number("the length", window.HourMillis+1))
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

// PartsOf returns the parts that answer for metric m of type t, whose dictionary is d: of the
// entities in rows (nil: of all) and of these facets (none: of all). A metric that the head answers
// for has none. They are in ascending order.
func (h *Head) PartsOf(t int, d *window.Dictionary, m int, rows []int32, facets ...Facet) []PartID {
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
