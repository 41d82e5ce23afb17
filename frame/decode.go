package frame

import (
	"fmt"
	"hash/maphash"
	"slices"
	"sync"
)

// Allowance is asked before memory is taken: so many bytes more. Its error ends the decoding.
// A *memory.Lease is one.
type Allowance interface{ Take(bytes int64) error }

// Decode reads one whole frame. A delta frame needs the key frame it names; a key frame ignores
// key. The error wraps one of the package's sentinels.
func Decode(b []byte, key *Frame) (*Frame, error) { return DecodeWithin(nil, b, key) }

// DecodeWithin is Decode, with as much memory as the allowance gives; nil gives any. What the frame
// takes is asked for as the dictionary and the lists announce it, before it is taken. An error that
// wraps ErrMemory wraps the allowance's, too.
func DecodeWithin(allow Allowance, b []byte, key *Frame) (*Frame, error) {
	return DecodeWanted(allow, b, key, nil)
}

// DecodeWanted is DecodeWithin without events, without the columns of metrics that are not wanted,
// and without the entities of templates that have no other metrics: they are passed over and not
// looked at, which takes a fraction of the time and no memory. nil wants all. A delta frame is
// decoded for the metrics that its key frame was decoded for.
func DecodeWanted(allow Allowance, b []byte, key *Frame, want *Wanted) (*Frame, error) {
	d := decoder{key: key, allow: allow, want: want}
	if want != nil {
		d.known = want.known
	}
	return d.decode(b)
}

// DecodeKnown is DecodeWithin of a key frame, whose dictionary is not read again if known has it.
func DecodeKnown(allow Allowance, b []byte, known *Dictionaries) (*Frame, error) {
	d := decoder{allow: allow, known: known}
	return d.decode(b)
}

// Outline returns a number that tells key frames apart by what they say beside their values: the
// cluster, the identity, and which series there are. The numbers of another process differ.
func Outline(allow Allowance, b []byte, known *Dictionaries) (uint64, error) {
	d := decoder{allow: allow, known: known, outline: true}
	f, err := d.decode(b)
	if err != nil {
		return 0, err
	}
	if !f.IsKey() {
		return 0, fmt.Errorf("%w: a delta frame does not say which series there are", ErrKey)
	}
	var h maphash.Hash
	h.SetSeed(uniqueSeed)
	maphash.WriteComparable(&h, d.sum)
	h.WriteString(f.Cluster)
	return h.Sum64(), nil
}

// decode reads a frame.
func (d *decoder) decode(b []byte) (*Frame, error) {
	h, packed, err := Parse(b)
	if err != nil {
		return nil, err
	}
	if h.IsKey() {
		d.key = nil
	} else if err := h.names(d.key); err != nil {
		return nil, err
	}
	f := &Frame{Header: h}
	if d.want != nil && d.want.nothing {
		return f, nil
	}
	d.f = f
	if h.Compression != None {
		d.take(int64(h.RawLength))
	}
	if d.err != nil {
		return nil, d.err
	}
	room := rooms.Get().(*room)
	defer rooms.Put(room)
	if d.b, err = unpackInto(room.payload, &h, packed); err != nil {
		return nil, err
	}
	d.templates = room.templates
	raw := d.b
	d.payload()
	if d.outline {
		d.sum = maphash.Bytes(uniqueSeed, d.state[:len(d.state)-len(d.b)])
	}
	if h.Compression == Zstd && cap(raw) <= maxPooled { // nothing points into it: texts are copies
		room.payload = raw[:0]
	}
	clear(d.templates) // the room outlives what they point to
	room.templates = d.templates[:0]
	if d.err != nil {
		return nil, d.err
	}
	if len(d.b) > 0 && !d.enough {
		return nil, fmt.Errorf("%w: %d bytes after the last section", ErrMalformed, len(d.b))
	}
	return f, nil
}

// room is what decoding takes for as long as it lasts. A larger payload than maxPooled is not
// kept; of templates there are MaxTemplates at most.
type room struct {
	payload   []byte
	templates []tpl
}

var rooms = sync.Pool{New: func() any { return new(room) }}

const maxPooled = 1 << 20

// Check reads a whole frame as far as that is possible without its key frame: a key frame
// entirely, a delta frame to the end of its compression, and its events. It is what a receiver that
// keeps no state can promise. maxRaw bounds the payload in bytes beyond MaxRawBytes.
func Check(b []byte, maxRaw int) (Header, error) {
	h, packed, err := Parse(b)
	if err != nil {
		return h, err
	}
	if h.RawLength > maxRaw {
		return h, fmt.Errorf("%w: a payload of %d bytes where %d are allowed", ErrTooLarge,
			h.RawLength, maxRaw)
	}
	if h.IsKey() {
		_, err = Decode(b, nil)
		return h, err
	}
	if _, err = unpack(&h, packed); err == nil {
		_, err = Events(b)
	}
	return h, err
}

// names reports why key is not the key frame that a delta frame's header names.
func (h *Header) names(key *Frame) error {
	switch {
	case key == nil:
		return fmt.Errorf("%w: a delta frame at %d needs its key frame at %d", ErrKey, h.At,
			h.KeyAt())
	case !key.IsKey() || key.Node != h.Node || key.At != h.KeyAt() || key.Check != h.KeyCheck ||
		key.Cluster != h.Cluster:
		return fmt.Errorf("%w: the frame at %d names another key frame than the one given",
			ErrKey, h.At)
	}
	return nil
}

// decoder reads a payload in the light of the key frame's dictionary.
type decoder struct {
	reader
	allow     Allowance
	want      *Wanted
	known     *Dictionaries // of key frames that were read before, or nil
	f, key    *Frame
	bounds    int    // sets known
	templates []tpl  // key frame's and added ones
	enough    bool   // what is left of the payload is of metrics that nobody wants
	outline   bool   // only what comes before the values is read
	state     []byte // the payload behind its events
	sum       uint64 // of what comes before the values
}

// tpl is what the decoder must know of a template.
type tpl struct {
	*Template
	sizes   []int  // buckets of each metric's histograms
	wanted  []bool // by metric; nil if none is. Only with a want
	keyed   int    // entities of the key frame
	total   int    // with those added
	removed int    // of the key frame's
	gone    []bool // which, only if there are any
}

// What decoded things take, in bytes: what Go's types of them do, and for texts and maps what their
// parts are rounded up to.
const (
	columnSize  = 136 // Column
	bucketsSize = 56  // Buckets
	bucketSize  = 12  // of Index and Count
	metricSize  = 192 // Metric, its texts, its name among all names
	rowSize     = 24  // of Entities.Rows
	valueSize   = 40  // a label's value, without its text
	uniqueSize  = 64  // a row among those that have been seen
	boundSize   = 8
	numberSize  = 8
	textSize    = 32 // without its bytes
)

// take asks for memory that is about to be taken.
func (d *decoder) take(bytes int64) {
	if d.allow == nil || d.err != nil {
		return
	}
	if err := d.allow.Take(bytes); err != nil {
		d.err = fmt.Errorf("%w: %w", ErrMemory, err)
		d.b = nil
	}
}

func (t *tpl) live() int { return t.total - t.removed }

// passed reports whether nobody wants anything of a template.
func (d *decoder) passed(t *tpl) bool { return d.outline || d.want != nil && t.wanted == nil }

// wants reports whether a metric of a template is wanted.
func (d *decoder) wants(t *tpl, metric int) bool {
	return d.want == nil || t.wanted != nil && t.wanted[metric]
}

func (d *decoder) payload() {
	if d.f.HasEvents {
		if d.want != nil || d.outline {
			d.eventsSection()
		} else {
			d.events()
		}
	}
	d.state = d.b
	if d.key == nil {
		d.identity()
	} else {
		d.know(d.key)
	}
	d.dictionary()
	d.entities()
	if d.outline {
		d.enough = true
		return
	}
	if d.key != nil {
		d.removed()
	}
	d.unique()
	if d.want != nil && d.key == nil {
		d.f.counts = make([]int, len(d.templates))
		for i := range d.templates {
			d.f.counts[i] = d.templates[i].total
		}
	}
	d.f.Presence = d.groups(false)
	d.f.Values = d.groups(true)
}

func (d *decoder) identity() {
	id := &d.f.Identity
	id.Datacenter = d.text("datacenter", MaxLabelBytes)
	id.Rack = d.text("rack", MaxLabelBytes)
	n := d.count("facts", MaxFacts, 2)
	for i := 0; i < n && d.err == nil; i++ {
		f := Fact{Name: d.text("a fact's name", MaxNameBytes),
			Value: d.text("a fact", MaxTextBytes)}
		if i > 0 && f.Name <= id.Facts[i-1].Name {
			d.fail(ErrMalformed, "facts are not in order")
		}
		id.Facts = append(id.Facts, f)
	}
}

// know takes over the key frame's dictionary.
func (d *decoder) know(key *Frame) {
	d.bounds = len(key.Bounds)
	d.templates = slices.Grow(d.templates, len(key.Templates))[:len(key.Templates)]
	for i := range key.Templates {
		t := &d.templates[i]
		t.Template = &key.Templates[i]
		if key.shared != nil {
			t.sizes = key.shared.sizes[i]
		} else {
			t.sizes = d.sizes(t.Template)
		}
		if d.want != nil && key.shared == nil {
			t.wanted = d.want.choose(t.Template)
		}
		if key.counts != nil {
			t.keyed, t.total = key.counts[i], key.counts[i]
		}
	}
	if key.shared != nil {
		d.chooseKnown(key.shared)
	}
	for _, g := range key.Added {
		d.templates[g.Template].keyed = len(g.Rows)
		d.templates[g.Template].total = len(g.Rows)
	}
}

// boundsSet returns set i of the key frame's and this frame's sets.
func (d *decoder) boundsSet(i int) *Bounds {
	if d.key != nil {
		if i < len(d.key.Bounds) {
			return &d.key.Bounds[i]
		}
		i -= len(d.key.Bounds)
	}
	return &d.f.Bounds[i]
}

func (d *decoder) sizes(t *Template) []int {
	sizes := make([]int, len(t.Metrics))
	for i := range t.Metrics {
		if t.Metrics[i].Kind.IsHistogram() {
			sizes[i] = len(d.boundsSet(t.Metrics[i].Bounds).Upper) + 1
		}
	}
	return sizes
}

// eachGroup reads a group list and calls content for each group's template.
func (d *decoder) eachGroup(what string, content func(template int, t *tpl)) {
	n := d.count(what, len(d.templates), 2)
	previous := -1
	for i := 0; i < n && d.err == nil && !d.enough; i++ {
		previous = d.gap("a template", previous, len(d.templates))
		if d.err == nil {
			content(previous, &d.templates[previous])
		}
	}
}

func (d *decoder) entities() {
	entities, cells := 0, 0
	for i := range d.templates {
		entities += d.templates[i].total
		cells += d.templates[i].total * len(d.templates[i].Metrics)
	}
	d.eachGroup("groups of entities", func(template int, t *tpl) {
		limit := min(MaxEntities-entities, (MaxCells-cells)/len(t.Metrics))
		if len(t.Labels) == 0 {
			limit = min(limit, 1)
		}
		n := d.count("entities", limit, max(1, len(t.Labels)))
		if n == 0 && d.err == nil {
			d.fail(ErrMalformed, "a group of entities is empty")
		}
		if d.passed(t) {
			for i := n * len(t.Labels); i > 0 && d.err == nil; i-- {
				length := d.count("bytes of a label value", MaxLabelBytes, 1)
				d.b = d.b[length:]
			}
			t.total += n
			entities += n
			cells += n * len(t.Metrics)
			return
		}
		if d.take(int64(n) * int64(rowSize+uniqueSize+valueSize*len(t.Labels))); d.err != nil {
			return
		}
		rows := make([][]string, 0, n)
		values := make([]string, 0, n*len(t.Labels))
		for i := 0; i < n && d.err == nil; i++ {
			for range t.Labels {
				values = append(values, d.text("a label value", MaxLabelBytes))
				d.take(int64(len(values[len(values)-1])))
			}
			rows = append(rows, values[len(values)-len(t.Labels):len(values):len(values)])
		}
		t.total += n
		entities += n
		cells += n * len(t.Metrics)
		d.f.Added = append(d.f.Added, Entities{template, rows})
	})
}

func (d *decoder) removed() {
	d.eachGroup("groups of removed entities", func(template int, t *tpl) {
		n := d.count("removed entities", t.keyed, 1)
		if n == 0 {
			d.fail(ErrMalformed, "a group of removed entities is empty")
		}
		if t.removed = n; d.passed(t) {
			d.passOver(n)
			return
		}
		list := d.indexes("an entity", n, t.keyed)
		if d.take(int64(t.total)); d.err != nil {
			return
		}
		t.gone = make([]bool, t.total)
		for _, e := range list {
			t.gone[e] = true
		}
		d.f.Removed = append(d.f.Removed, Removed{template, list})
	})
}

// uniqueSeed keeps senders from making rows of one hash.
var uniqueSeed = maphash.MakeSeed()

// unique checks that no two live entities of a template have the same labels; only templates that
// gained entities can.
func (d *decoder) unique() {
	for _, g := range d.f.Added {
		if d.err != nil {
			return
		}
		t := &d.templates[g.Template]
		if len(t.Labels) == 0 {
			if t.live() > 1 {
				d.fail(ErrMalformed, "type %q has no labels and %d entities", t.Type, t.live())
			}
			continue
		}
		rows := make([][]string, 0, t.live())
		seen := make(map[uint64]int, t.live()) // the last row of a hash
		before := make([]int, 0, t.live())     // by row: the one before it of the same hash, or -1
		check := func(row []string) {
			var h maphash.Hash
			h.SetSeed(uniqueSeed)
			// a label value may hold any byte, so lengths keep ("a","b") and ("ab","") apart
			for _, v := range row {
				maphash.WriteComparable(&h, len(v))
				h.WriteString(v)
			}
			k := h.Sum64()
			last, found := seen[k]
			if !found {
				last = -1
			}
			for i := last; i >= 0; i = before[i] {
				if slices.Equal(rows[i], row) {
					d.fail(ErrMalformed, "two entities of type %q have the labels %q", t.Type, row)
				}
			}
			seen[k] = len(rows)
			rows, before = append(rows, row), append(before, last)
		}
		if d.key != nil {
			for _, kg := range d.key.Added {
				if kg.Template == g.Template {
					for e, row := range kg.Rows {
						if t.gone == nil || !t.gone[e] {
							check(row)
						}
					}
				}
			}
		}
		for _, row := range g.Rows {
			check(row)
		}
	}
}

// indexes reads an index list of n numbers below limit.
func (d *decoder) indexes(what string, n, limit int) []int {
	if d.take(int64(n) * numberSize); d.err != nil {
		return nil
	}
	list := make([]int, 0, n)
	previous := -1
	for i := 0; i < n && d.err == nil; i++ {
		previous = d.gap(what, previous, limit)
		list = append(list, previous)
	}
	return list
}
