package index

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"strings"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/window"
)

// tables are the symbol table and the lists of one account. Each thing is there once and has a
// number. Slices only grow and no element changes, so a copy of the struct can be read without a
// lock while the original grows.
type tables struct {
	symbols   []string
	schemas   [][]uint32 // symbols of label names, ascending by name
	entities  []entity
	values    []uint32 // symbols of label values: those of an entity, in its schema's order
	metrics   []metric
	bounds    []*frame.Bounds
	ordinals  []uint32    // by metric: the number of its name among the metrics' names
	names     int         // how many of those there are
	lists     [][]uint32  // metrics, ascending by their name's symbol
	sets      []entitySet // entities
	contents  []content
	places    []place
	histories []history
}

// entity is a set of labels without empty values: one entity, whatever the type and the node.
type entity struct{ schema, at uint32 } // at: where its values begin

type metric struct {
	name, unit uint32 // symbols
	kind       frame.Kind
	hasSum     bool
	bounds     uint32 // of a histogram: their number, from 1 on; 0: it has none
}

type entitySet struct {
	ids    []uint32 // ascending
	schema uint32   // of all, or mixed
}

const mixed = ^uint32(0)

// content is what a dictionary says without whose it is: an entity type, a list of metrics and a
// set of entities. Its series are each metric for each entity. Nodes that have the same share one.
type content struct{ typ, list, set uint32 }

type place struct{ cluster, datacenter, rack string }

// interner adds to the tables: it finds the number of a thing, or gives it the next one.
type interner struct {
	tables
	symbolOf  map[string]uint32
	schemaOf  map[string]uint32 // by ids in bytes
	entityOf  map[string]uint32
	metricOf  map[metric]uint32
	boundsOf  map[string]uint32 // by their bytes
	listOf    map[digest]uint32
	setOf     map[digest]uint32
	contentOf map[content]uint32
	placeOf   map[place]uint32
	nameOf    map[uint32]uint32 // ordinals by symbol

	historyOf map[digest]uint32

	bytes int // an estimate of what all this takes
}

// digest stands for a list of numbers: 128 bits of its SHA-256.
type digest [16]byte

func newInterner() *interner {
	return &interner{
		symbolOf: map[string]uint32{}, schemaOf: map[string]uint32{}, entityOf: map[string]uint32{},
		metricOf: map[metric]uint32{}, boundsOf: map[string]uint32{},
		listOf: map[digest]uint32{}, setOf: map[digest]uint32{}, contentOf: map[content]uint32{},
		placeOf: map[place]uint32{}, nameOf: map[uint32]uint32{}, historyOf: map[digest]uint32{},
	}
}

// What things take beside their content: headers, map entries at their usual load, rounding.
// BenchmarkSelect compares their sum with the heap.
const (
	symbolBytes  = 16 + 40
	entityBytes  = 8 + 56
	listBytes    = 28 + 40
	contentBytes = 12 + 32
	placeBytes   = 48 + 100
)

// intern returns the number of a thing, and adds it if it is new.
func intern[K comparable](m map[K]uint32, k K, add func() int) uint32 {
	n, found := m[k]
	if !found {
		n = uint32(add())
		m[k] = n
	}
	return n
}

func (p *interner) symbol(s string) uint32 {
	n, found := p.symbolOf[s]
	if found {
		return n
	}
	s = strings.Clone(s) // what it came in may be large
	n = uint32(len(p.symbols))
	p.symbols = append(p.symbols, s)
	p.symbolOf[s] = n
	p.bytes += len(s) + symbolBytes
	return n
}

// appendIDs appends numbers as a map's key.
func appendIDs(b []byte, ids ...uint32) []byte {
	for _, id := range ids {
		b = binary.LittleEndian.AppendUint32(b, id)
	}
	return b
}

func digestOf(ids []uint32) digest {
	sum := sha256.Sum256(appendIDs(make([]byte, 0, 4*len(ids)), ids...))
	return digest(sum[:16])
}

// contentFrom returns the content of a dictionary.
func (p *interner) contentFrom(d *window.Dictionary) uint32 {
	return p.content(content{typ: p.symbol(d.Type), list: p.list(p.metricsFrom(d)),
		set: p.set(p.entitiesFrom(d))})
}

func (p *interner) content(s content) uint32 {
	return intern(p.contentOf, s, func() int {
		p.contents = append(p.contents, s)
		p.bytes += contentBytes
		return len(p.contents) - 1
	})
}

func (p *interner) metricsFrom(d *window.Dictionary) []uint32 {
	ids := make([]uint32, 0, len(d.Metrics))
	for i := range d.Metrics {
		m := &d.Metrics[i]
		ids = append(ids, p.metric(metric{name: p.symbol(m.Name), unit: p.symbol(m.Unit),
			kind: m.Kind, hasSum: m.HasSum, bounds: p.boundsFrom(m.Bounds)}))
	}
	return ids
}

// boundsFrom returns the number of a histogram's bounds; b may be nil.
func (p *interner) boundsFrom(b *frame.Bounds) uint32 {
	if b == nil {
		return 0
	}
	k := binary.AppendVarint(nil, int64(b.Exponent))
	for _, of := range b.Upper {
		k = binary.AppendVarint(k, of)
	}
	return 1 + intern(p.boundsOf, string(k), func() int {
		p.tables.bounds = append(p.tables.bounds,
			&frame.Bounds{Exponent: b.Exponent, Upper: slices.Clone(b.Upper)})
		p.bytes += len(k) + 8*len(b.Upper) + listBytes
		return len(p.tables.bounds) - 1
	})
}

// boundsOfMetric returns a histogram's bounds, nil of all others.
func (v *tables) boundsOfMetric(m *metric) *frame.Bounds {
	if m.bounds == 0 {
		return nil
	}
	return v.bounds[m.bounds-1]
}

func (p *interner) metric(m metric) uint32 {
	return intern(p.metricOf, m, func() int {
		p.metrics = append(p.metrics, m)
		p.ordinals = append(p.ordinals,
			intern(p.nameOf, m.name, func() int { p.names++; return p.names - 1 }))
		p.bytes += listBytes
		return len(p.metrics) - 1
	})
}

// list returns the number of a list of metrics. Of those with one name, because the definition
// changed within a window, the last stays.
func (p *interner) list(ids []uint32) uint32 {
	slices.SortStableFunc(ids, func(a, b uint32) int {
		return cmp.Compare(p.metrics[a].name, p.metrics[b].name)
	})
	unique := ids[:0]
	for i, id := range ids {
		if i+1 == len(ids) || p.metrics[ids[i+1]].name != p.metrics[id].name {
			unique = append(unique, id)
		}
	}
	return intern(p.listOf, digestOf(unique), func() int {
		p.lists = append(p.lists, slices.Clone(unique))
		p.bytes += 4*len(unique) + listBytes
		return len(p.lists) - 1
	})
}

// entitiesFrom returns the entities of a dictionary.
func (p *interner) entitiesFrom(d *window.Dictionary) []uint32 {
	columns := make([]int, 0, len(d.Labels)) // in the order of label names
	for i, name := range d.Labels {
		if (frame.IsRecorder(d.Node) || !isNodeLabel(name)) &&
			!slices.Contains(d.Labels[:i], name) {
			columns = append(columns, i)
		}
	}
	slices.SortFunc(columns, func(a, b int) int {
		return strings.Compare(d.Labels[a], d.Labels[b])
	})
	ids := make([]uint32, 0, len(d.Rows))
	var names, values []uint32
	for _, row := range d.Rows {
		names, values = names[:0], values[:0]
		for _, c := range columns {
			if row[c] != "" { // to Prometheus an empty label is none
				names, values = append(names, p.symbol(d.Labels[c])), append(values,
					p.symbol(row[c]))
			}
		}
		ids = append(ids, p.entity(p.schema(names), values))
	}
	return ids
}

func (p *interner) schema(names []uint32) uint32 {
	k := appendIDs(nil, names...)
	n, found := p.schemaOf[string(k)]
	if !found {
		n = uint32(len(p.schemas))
		p.schemas = append(p.schemas, slices.Clone(names))
		p.schemaOf[string(k)] = n
		p.bytes += 2*len(k) + listBytes
	}
	return n
}

func (p *interner) entity(schema uint32, values []uint32) uint32 {
	var buffer [72]byte
	k := appendIDs(appendIDs(buffer[:0], schema), values...)
	n, found := p.entityOf[string(k)]
	if !found {
		n = uint32(len(p.entities))
		p.entities = append(p.entities, entity{schema, uint32(len(p.values))})
		p.values = append(p.values, values...)
		p.entityOf[string(k)] = n
		p.bytes += len(k) + 4*len(values) + entityBytes
	}
	return n
}

// set returns the number of a set of entities.
func (p *interner) set(ids []uint32) uint32 {
	slices.Sort(ids)
	ids = slices.Compact(ids)
	return intern(p.setOf, digestOf(ids), func() int {
		s := entitySet{ids: slices.Clone(ids), schema: mixed}
		for i, id := range ids {
			if i == 0 {
				s.schema = p.entities[id].schema
			} else if s.schema != p.entities[id].schema {
				s.schema = mixed
				break
			}
		}
		p.sets = append(p.sets, s)
		p.bytes += 4*len(ids) + listBytes
		return len(p.sets) - 1
	})
}

func (p *interner) place(at place) uint32 {
	n, found := p.placeOf[at]
	if !found {
		at = place{strings.Clone(at.cluster), strings.Clone(at.datacenter), strings.Clone(at.rack)}
		n = uint32(len(p.places))
		p.places = append(p.places, at)
		p.placeOf[at] = n
		p.bytes += len(at.cluster) + len(at.datacenter) + len(at.rack) + placeBytes
	}
	return n
}

// copyContent copies a content from other tables.
func (p *interner) copyContent(from *tables, n uint32) uint32 {
	s := from.contents[n]
	metrics := make([]uint32, 0, len(from.lists[s.list]))
	for _, id := range from.lists[s.list] {
		m := from.metrics[id]
		metrics = append(metrics,
			p.metric(metric{name: p.symbol(from.symbols[m.name]),
				unit: p.symbol(from.symbols[m.unit]), kind: m.kind, hasSum: m.hasSum,
				bounds: p.boundsFrom(from.boundsOfMetric(&m))}))
	}
	set := from.sets[s.set].ids
	entities := make([]uint32, 0, len(set))
	var names, values []uint32
	for _, id := range set {
		e := from.entities[id]
		names, values = names[:0], values[:0]
		for i, name := range from.schemas[e.schema] {
			names, values = append(names, p.symbol(from.symbols[name])), append(values,
				p.symbol(from.symbols[from.values[int(e.at)+i]]))
		}
		entities = append(entities, p.entity(p.schema(names), values))
	}
	return p.content(content{typ: p.symbol(from.symbols[s.typ]), list: p.list(metrics),
		set: p.set(entities)})
}

// isNodeLabel reports whether a label is the node's and not an entity's.
func isNodeLabel(name string) bool {
	switch name {
	case "__name__", "cluster", "datacenter", "rack", "node":
		return true
	}
	return false
}
