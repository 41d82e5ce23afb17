package rollup

import (
	"slices"
	"unicode/utf8"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/window"
	"github.com/ringwatch/ringwatch/window/blobs"
)

// RunHead is what a run's head says, without its dictionaries.
type RunHead struct {
	Level
	Start, Length int64
	Periods       []Period // ascending
	Types         []RunType
}

// RunType is what a run's head says of one entity type.
type RunType struct {
	Key     string
	Hash    window.Hash
	metrics int
	states  []byte // packed
	pieces  []metricPieces
	counts  []byte // when entities were there; it needs the dictionary
}

// metricPieces says where a metric's parts are cut.
type metricPieces struct {
	metric int
	first  []int32 // rows of the second piece and those after it
}

// Stored reports whether metric number m has parts.
func (t *RunType) Stored(m int) bool { return t.state(m)&stateStored != 0 }

// Small reports whether metric number m has parts, and they are small.
func (t *RunType) Small(m int) bool { return t.state(m) == stateSmall }

func (t *RunType) state(m int) byte {
	if m < 0 || m >= t.metrics {
		return stateAbsent
	}
	return t.states[m*stateBits/8] >> (m * stateBits % 8) & (1<<stateBits - 1)
}

// firsts returns the first rows of a metric's pieces, without that of the first piece, which is 0.
func (t *RunType) firsts(m int) []int32 {
	i, found := slices.BinarySearchFunc(t.pieces, m, func(p metricPieces, m int) int {
		return p.metric - m
	})
	if !found {
		return nil
	}
	return t.pieces[i].first
}

// PartsOf returns the parts that answer for metric m of type number t, ascending: those that have
// any of the rows, all if rows is nil. A run's parts have all facets in one, which is
// blobs.Values.
func (h *RunHead) PartsOf(t int, _ *window.Dictionary, m int, rows []int32,
	facets ...blobs.Facet) (list []blobs.PartID) {
	if t < 0 || t >= len(h.Types) || !h.Types[t].Stored(m) ||
		len(facets) > 0 && !slices.Contains(facets, blobs.Values) {
		return nil
	}
	firsts := h.Types[t].firsts(m)
	for piece := range len(firsts) + 1 {
		has := rows == nil
		for _, row := range rows {
			if has = pieceOf(firsts, row) == piece; has {
				break
			}
		}
		if has {
			list = append(list, blobs.PartID{Type: t, Metric: m, Facet: blobs.Values,
				Piece: piece})
		}
	}
	return list
}

// pieceOf returns the piece that a row is in.
func pieceOf(firsts []int32, row int32) int {
	i, found := slices.BinarySearch(firsts, row)
	if found {
		i++
	}
	return i
}

// DecodeRunHead reads the head of a run of a level that begins at start. The error wraps ErrVersion
// or ErrMalformed.
func DecodeRunHead(level Level, start int64, b []byte) (*RunHead, error) {
	r := read(b)
	r.Version(runVersion)
	slots := r.Number("the length", maxPeriods+1)
	h := &RunHead{Level: level, Start: start, Length: int64(slots) * level.Millis}
	finer, _ := level.Finer()
	next := 0
	n := r.Count("periods", slots)
	h.Periods = make([]Period, 0, n)
	for range n {
		next += r.Number("a gap of periods", slots-next)
		p := Period{Start: start + int64(next)*level.Millis,
			Instants: r.Number("the instants", maxCount+1)}
		p.Parts = r.parts(level, finer, p.Start)
		if r.Err != nil {
			break
		}
		h.Periods = append(h.Periods, p)
		next++
	}
	n = r.Count("types", 2*frame.MaxTemplates)
	h.Types = make([]RunType, n)
	all := string(r.Rest) // one copy for all keys
	for i := range h.Types {
		h.Types[i].read(&r, all)
		if r.Err != nil {
			break
		}
	}
	if err := r.Done(); err != nil {
		return nil, err
	}
	return h, nil
}

// parts reads what a period was made of.
func (r *reader) parts(level, finer Level, start int64) (list []Part) {
	n := r.Count("parts", len(r.Rest))
	if n > 0 && finer.Millis == 0 {
		r.Fail("parts of the finest level")
	}
	for next := start; n > 0 && r.Err == nil; n-- {
		p := Part{Start: next +
			int64(r.Number("a gap of parts", int(level.Millis/finer.Millis)))*finer.Millis}
		p.Instants = r.Number("the instants of a part", maxCount+1)
		if next = p.Start + finer.Millis; next > start+level.Millis {
			r.Fail("a part after the period")
		}
		list = append(list, p)
	}
	return list
}

// read reads what the head says of a type. all ends with what is not read yet.
func (t *RunType) read(r *reader, all string) {
	size := r.Count("bytes of a type's key", len(r.Rest))
	from := len(all) - len(r.Rest)
	if t.Key = all[from : from+len(r.Take(size))]; !utf8.ValidString(t.Key) {
		r.Fail("a type's key is not UTF-8")
	}
	copy(t.Hash[:], r.Take(len(t.Hash)))
	rest := r.Take(r.Count("bytes of a type", len(r.Rest)))
	if r.Err != nil {
		return
	}
	b := read(rest)
	t.metrics = b.Number("metrics", 2*frame.MaxMetrics+1)
	t.states = b.Take((t.metrics*stateBits + 7) / 8)
	next := 0
	for range b.Count("metrics with pieces", t.metrics) {
		p := metricPieces{metric: next + b.Number("a metric", t.metrics-next)}
		next = p.metric + 1
		n := b.Number("pieces", len(b.Rest)) + 1
		if n > len(b.Rest) {
			b.Fail("pieces are missing")
		}
		if b.Err != nil {
			break
		}
		p.first = make([]int32, n)
		before := 0
		for i := range p.first {
			before = b.Gap("a row", before, maxRows)
			p.first[i] = int32(before)
		}
		if !t.Stored(p.metric) {
			b.Fail("pieces of a metric without parts")
		}
		t.pieces = append(t.pieces, p)
	}
	t.counts = b.Rest
	if b.Err != nil {
		r.Err, r.Rest = b.Err, nil
	}
}

// maxRows bounds the entities of a dictionary.
const maxRows = frame.MaxCells

// maxCount bounds how many samples of a series a period may have: MaxInstants in each window of a
// day.
const maxCount = window.MaxInstants * 288
