package index

import (
	"iter"

	"github.com/prometheus/prometheus/model/labels"
)

// tally is how many series of a Selection have what, by the numbers of its tables.
type tally struct {
	*Selection
	series   uint64
	names    []uint64            // by symbol of a metric's name
	places   []uint64            // by place
	entities []uint64            // by entity
	order    []uint32            // the entities that have series, by schema
	columns  map[uint32][]column // by symbol of a label's name
	counts   []uint64            // by symbol, of one label at a time
	touched  []uint32            // the symbols that have a count
}

// column says where the values of a label are: the at-th value of each of the entities
// order[from:to].
type column struct{ from, to, at int }

// sums adds up by list. Nodes that have the same list share its memory, so the address of its
// first element identifies it.
type sums map[sumKey]*sum

type sumKey struct {
	first *uint32
	len   int
}

// sum is how many series each member of a list has through it.
type sum struct {
	ids []uint32
	n   uint64
}

func (m sums) add(ids []uint32, n uint64) {
	k := sumKey{&ids[0], len(ids)}
	if m[k] == nil {
		m[k] = &sum{ids: ids}
	}
	m[k].n += n
}

// tally counts by node, and then by list.
func (s *Selection) tally() *tally {
	t := &tally{Selection: s, places: make([]uint64, len(s.tables.places)),
		columns: map[uint32][]column{}, names: make([]uint64, len(s.tables.symbols)),
		counts: make([]uint64, len(s.tables.symbols))}
	nodes := map[*answer]uint64{}
	for _, n := range s.nodes {
		nodes[s.answerFor(n)]++
	}
	metrics, entities := sums{}, sums{}
	for a, n := range nodes {
		for _, b := range a.products {
			m, e := uint64(len(b.metrics)), uint64(len(b.entities))
			metrics.add(b.metrics, n*e)
			entities.add(b.entities, n*m)
			t.places[b.place] += n * m * e
			t.series += n * m * e
		}
	}
	for _, of := range metrics {
		for _, id := range of.ids {
			t.names[s.tables.metrics[id].name] += of.n
		}
	}
	t.countEntities(entities)
	return t
}

// countEntities adds up by entity, and sorts those that there are by schema.
func (t *tally) countEntities(lists sums) {
	t.entities = make([]uint64, len(t.tables.entities))
	for _, of := range lists {
		if t.canceled.check() {
			return
		}
		for _, id := range of.ids {
			t.entities[id] += of.n
		}
	}
	// where a schema's entities begin, and then where they end
	ends := make([]int, len(t.tables.schemas)+1)
	for id, n := range t.entities {
		if n > 0 {
			ends[t.tables.entities[id].schema+1]++
		}
	}
	for i := range t.tables.schemas {
		ends[i+1] += ends[i]
		for at, label := range t.tables.schemas[i] {
			if ends[i] < ends[i+1] {
				t.columns[label] = append(t.columns[label], column{ends[i], ends[i+1], at})
			}
		}
	}
	t.order = make([]uint32, ends[len(t.tables.schemas)])
	for id, n := range t.entities {
		if n > 0 {
			schema := t.tables.entities[id].schema
			t.order[ends[schema]] = uint32(id)
			ends[schema]++
		}
	}
}

// labels returns the names of the labels that the series have. One may be twice there.
func (t *tally) labels() []string {
	if t.series == 0 {
		return nil
	}
	list := []string{labels.MetricName}
	if !t.isRecorded {
		list = append(list, "cluster", "datacenter", "rack", "node")
	}
	for label := range t.columns {
		list = append(list, t.tables.symbols[label])
	}
	return list
}

// values iterates over the values of a label, each with how many series have it.
func (t *tally) values(label string) iter.Seq2[string, uint64] {
	return func(yield func(string, uint64) bool) {
		switch {
		case label == labels.MetricName:
			for i, n := range t.names {
				if n > 0 && !yield(t.tables.symbols[i], n) {
					return
				}
			}
		case t.isRecorded || !isNodeLabel(label):
			t.countValues(label)
			for _, i := range t.touched {
				if !yield(t.tables.symbols[i], t.counts[i]) {
					return
				}
			}
		case label == "node":
			for _, n := range t.nodes {
				if of := t.answerFor(n).series; of > 0 && !yield(n.id.String(), uint64(of)) {
					return
				}
			}
		default:
			t.placeValues(label, yield)
		}
	}
}

func (t *tally) placeValues(label string, yield func(string, uint64) bool) {
	counts := map[string]uint64{}
	for i, n := range t.places {
		if value := t.tables.places[i].label(label); n > 0 && value != "" {
			counts[value] += n
		}
	}
	for value, n := range counts {
		if !yield(value, n) {
			return
		}
	}
}

// countValues counts the values of a label that entities have.
func (t *tally) countValues(label string) {
	for _, i := range t.touched {
		t.counts[i] = 0
	}
	t.touched = t.touched[:0]
	for symbol, columns := range t.columns {
		if t.tables.symbols[symbol] != label {
			continue
		}
		for _, c := range columns {
			if t.canceled.check() {
				return
			}
			for _, id := range t.order[c.from:c.to] {
				value := t.tables.values[int(t.tables.entities[id].at)+c.at]
				if t.counts[value] == 0 {
					t.touched = append(t.touched, value)
				}
				t.counts[value] += t.entities[id]
			}
		}
	}
}
