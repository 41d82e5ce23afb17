package rollup

import (
	"slices"

	"github.com/ringwatch/ringwatch/frame/codec"
	"github.com/ringwatch/ringwatch/window"
	"github.com/ringwatch/ringwatch/window/blobs"
)

// A run is successive periods of one level of one node, stored together: the twelve of five minutes
// that an hour has, the 24 hours of a day, or one day.

const runVersion = 2

// maxPeriods is how many periods a run may have room for. It bounds what a few hostile bytes can
// make a decoder allocate.
const maxPeriods = 64

// Encoded is a run as it is stored: FORMAT.md. The head and the dictionaries with some of the parts
// answer for the metrics of these parts.
type Encoded struct {
	Head         []byte
	Dictionaries []blobs.EncodedDictionary
	Parts        []blobs.Part // of metrics that the head does not answer for; all blobs.Values
}

// Period is what a run's head says of a period that is there.
type Period struct {
	Start    int64
	Instants int
	Parts    []Part
}

// EncodeRun encodes periods of one level that begin at or after start and before start + length, in
// any order. Equal periods give equal bytes. Two rollups of one period are not for it: the first of
// the list is taken. No periods give nothing.
func EncodeRun(start, length int64, list []*Rollup) Encoded {
	if len(list) == 0 {
		return Encoded{}
	}
	e := NewRunEncoder(list[0].Level, start, length)
	parts := e.Add(list)
	out := e.Finish()
	out.Parts = parts
	return out
}

// RunEncoder encodes a run a few metrics at a time, for nodes whose rollups are too large to be
// held at once: Add some metrics of all periods, then others, then Finish.
type RunEncoder struct {
	level         Level
	start, length int64
	periods       []*Period // by slot: a place for a period; nil: it is not there
	types         []*runType
	numbers       map[*window.Dictionary]int // of types, by the dictionaries that Add met

	// What Add was given last, which is often what it is given next.
	list   []*window.Dictionary
	groups []*group
}

// runType is what the head says of a type.
type runType struct {
	dictionary blobs.EncodedDictionary
	live       [][]uint32      // by slot and row; nil: the type is not there
	states     []byte          // by metric
	encoded    []bool          // by metric: it was encoded
	pieces     map[int][]int32 // by metric: the first rows of its pieces after the first
}

// NewRunEncoder returns an encoder of the periods of a level that begin at or after start and
// before start + length.
func NewRunEncoder(level Level, start, length int64) *RunEncoder {
	slots := length / level.Millis
	if slots < 1 || slots > maxPeriods || length%level.Millis != 0 {
		panic("rollup: a run of another length than some periods") // a bug of the caller
	}
	return &RunEncoder{level: level, start: start, length: length, periods: make([]*Period, slots),
		numbers: map[*window.Dictionary]int{}}
}

// Add encodes the metrics that the rollups know, and periods that do not know them have no values.
// Each metric is encoded once. An entity type may come in several calls with other metrics known,
// if all calls have all its dictionaries; types come by ascending key.
//
// Heads answer for metrics that are zero or absent, so that one may be known in some periods
// although nobody has read it in the others. Such a metric is encoded only if it is among names,
// where there are any.
func (e *RunEncoder) Add(list []*Rollup, names ...string) (parts []blobs.Part) {
	by := make([]*Rollup, len(e.periods))
	for _, r := range list {
		slot := (r.Start - e.start) / e.level.Millis
		if r.Level != e.level || r.Start < e.start || slot >= int64(len(by)) || by[slot] != nil {
			continue
		}
		by[slot] = r
		if e.periods[slot] == nil {
			e.periods[slot] = &Period{r.Start, r.Instants, r.Parts}
		}
	}
	for _, g := range e.unite(by) {
		in := newRunInput(g, len(by), names)
		for slot, r := range by {
			if r != nil {
				in.add(slot, r)
			}
		}
		number := e.number(in)
		t := e.types[number]
		in.live = t.live
		for m := range g.Metrics {
			parts = t.append(parts, in, number, m)
		}
	}
	return parts
}

// unite returns the groups of all dictionaries of some rollups.
func (e *RunEncoder) unite(by []*Rollup) []*group {
	var list []*window.Dictionary
	for _, r := range by {
		if r == nil {
			continue
		}
		for _, t := range r.Types {
			list = append(list, t.Dictionary)
		}
	}
	if e.groups == nil || !slices.Equal(list, e.list) {
		e.list, e.groups = list, unite(list)
	}
	return e.groups
}

// number returns the number of a type in the head.
func (e *RunEncoder) number(in *runInput) int {
	if n, found := e.numbers[in.Dictionary]; found {
		return n
	}
	b := blobs.AppendDictionary(nil, in.Dictionary)
	hash := window.HashOf(b)
	n := slices.IndexFunc(e.types, func(t *runType) bool {
		return t.dictionary.Key == in.Key && t.dictionary.Hash == hash
	})
	if n < 0 {
		n = len(e.types)
		t := &runType{dictionary: blobs.EncodedDictionary{Key: in.Key, Hash: hash, Blob: b},
			live:   in.liveCounts(),
			states: make([]byte, len(in.Metrics)), encoded: make([]bool, len(in.Metrics)),
			pieces: map[int][]int32{}}
		for m := range t.states {
			t.states[m] = stateAbsent
		}
		e.types = append(e.types, t)
	}
	e.numbers[in.Dictionary] = n
	return n
}

// append encodes one metric, if the rollups know it.
func (t *runType) append(parts []blobs.Part, in *runInput, number, metric int) []blobs.Part {
	if t.encoded[metric] {
		return parts
	}
	state, bytes, cuts := in.encode(metric)
	if state == stateUnknown {
		return parts
	}
	t.encoded[metric] = true
	if state == stateStored && len(bytes) <= blobs.SmallBytes {
		state = stateSmall
	}
	t.states[metric] = state
	if bytes == nil {
		return parts
	}
	key := in.MetricKey(metric)
	add := func(piece int, b []byte) {
		parts = append(parts,
			blobs.Part{PartID: blobs.PartID{Type: number, Metric: metric, Facet: blobs.Values,
				Piece: piece},
				Key: t.dictionary.Key, Metric: key, Small: state == stateSmall, Blob: b})
	}
	from := 0
	for i, c := range cuts {
		t.pieces[metric] = append(t.pieces[metric], c.row)
		add(i, bytes[from:c.at:c.at])
		from = c.at
	}
	add(len(cuts), bytes[from:])
	return parts
}

// Finish returns the head and the dictionaries of what was added.
func (e *RunEncoder) Finish() Encoded {
	var out Encoded
	head := []byte{runVersion}
	head = codec.AppendUvarint(head, uint64(len(e.periods)))
	there := slices.DeleteFunc(slices.Clone(e.periods), func(p *Period) bool { return p == nil })
	head = codec.AppendUvarint(head, uint64(len(there)))
	next := e.start
	for _, p := range there {
		head = codec.AppendUvarint(head, uint64((p.Start-next)/e.level.Millis))
		next = p.Start + e.level.Millis
		head = codec.AppendUvarint(head, uint64(p.Instants))
		head = e.level.appendParts(head, p)
	}
	head = codec.AppendUvarint(head, uint64(len(e.types)))
	var buf []byte
	for _, t := range e.types {
		out.Dictionaries = append(out.Dictionaries, t.dictionary)
		head = append(codec.AppendText(head, t.dictionary.Key), t.dictionary.Hash[:]...)
		buf = t.appendTo(buf[:0])
		head = append(codec.AppendUvarint(head, uint64(len(buf))), buf...)
	}
	out.Head = head
	return out
}

// appendParts appends what a period was made of.
func (l Level) appendParts(dst []byte, p *Period) []byte {
	finer, coarse := l.Finer()
	if !coarse {
		return codec.AppendUvarint(dst, 0)
	}
	dst = codec.AppendUvarint(dst, uint64(len(p.Parts)))
	next := p.Start
	for _, part := range p.Parts {
		dst = codec.AppendUvarint(dst, uint64((part.Start-next)/finer.Millis))
		dst = codec.AppendUvarint(dst, uint64(part.Instants))
		next = part.Start + finer.Millis
	}
	return dst
}

// appendTo appends what the head says of the type after its dictionary.
func (t *runType) appendTo(dst []byte) []byte {
	dst = codec.AppendUvarint(dst, uint64(len(t.states)))
	var packed, n byte
	for _, s := range t.states {
		packed |= s << n
		if n += stateBits; n == 8 {
			dst, packed, n = append(dst, packed), 0, 0
		}
	}
	if n > 0 {
		dst = append(dst, packed)
	}
	dst = codec.AppendUvarint(dst, uint64(len(t.pieces)))
	next := 0
	for m := range t.states {
		rows := t.pieces[m]
		if rows == nil {
			continue
		}
		dst = codec.AppendUvarint(codec.AppendUvarint(dst, uint64(m-next)), uint64(len(rows)-1))
		next = m + 1
		before := int32(0)
		for _, row := range rows {
			dst = codec.AppendGap(dst, before, row)
			before = row
		}
	}
	return appendLive(dst, t.live)
}

// appendLive appends for each period the most frequent count, and the rows that have others.
func appendLive(dst []byte, live [][]uint32) []byte {
	usual := make([]uint32, len(live))
	rows := 0
	for slot, counts := range live {
		usual[slot] = mostFrequent(counts)
		dst = codec.AppendUvarint(dst, uint64(usual[slot]))
		rows = max(rows, len(counts))
	}
	var others []byte
	n, next := 0, 0
	for row := range rows {
		usually, none := true, true
		for slot, counts := range live {
			if counts != nil {
				usually = usually && counts[row] == usual[slot]
				none = none && counts[row] == 0
			}
		}
		if usually {
			continue
		}
		n++
		gap := uint64(row-next) << 1
		if none {
			others = codec.AppendUvarint(others, gap)
		} else {
			others = codec.AppendUvarint(others, gap|1)
			for slot, counts := range live {
				c := uint32(0)
				if counts != nil {
					c = counts[row]
				}
				others = codec.AppendSvarint(others, int64(c)-int64(usual[slot]))
			}
		}
		next = row + 1
	}
	return append(codec.AppendUvarint(dst, uint64(n)), others...)
}

// mostFrequent returns the most frequent count, the higher of two that are as frequent; 0 if there
// is none.
func mostFrequent(counts []uint32) uint32 {
	if len(counts) == 0 {
		return 0
	}
	uniform := true
	for _, n := range counts {
		if uniform = n == counts[0]; !uniform {
			break
		}
	}
	if uniform {
		return counts[0]
	}
	frequent := map[uint32]int{}
	usual, most := uint32(0), 0
	for _, n := range counts {
		frequent[n]++
		if f := frequent[n]; f > most || f == most && n > usual {
			usual, most = n, f
		}
	}
	return usual
}
