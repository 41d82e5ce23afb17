package index

import (
	"maps"
	"slices"

	"github.com/prometheus/prometheus/model/labels"
)

// Cardinality says what series are made of. Of each list it has the largest, in descending order.
type Cardinality struct {
	From   int64  // the begin of the first day that counts, in milliseconds since the Unix epoch
	Series uint64 // how many there are
	Pairs  uint64 // different pairs of a label and a value

	Metrics   []Count // series by metric's name
	Values    []Count // different values by label
	TextBytes []Count // the length of these values together, by label
	ByPair    []Count // series by "label=value"
}

// Count is how often something is there.
type Count struct {
	Name string
	N    uint64
}

// CardinalityBytes returns what Cardinality takes at most while it counts.
func (s *Selection) CardinalityBytes() int64 {
	n := 12*len(s.tables.entities) + 12*len(s.tables.symbols) + 8*len(s.tables.places)
	if s.recorded != nil { // whose values are merged by their texts
		n += int(s.recorded.CardinalityBytes()) + 64*len(s.recorded.tables.symbols)
	}
	return int64(n)
}

// Cardinality counts what is selected; its lists have at most limit entries each. It costs what
// nodes have in common and not the number of series: each list of metrics and set of entities is
// looked at once, however many nodes have it. Err says whether it is whole.
func (s *Selection) Cardinality(limit int) Cardinality {
	c := Cardinality{From: int64(s.first) * dayMillis}
	own, recorded := s.tally(), &tally{Selection: &Selection{}}
	if s.recorded != nil {
		recorded = s.recorded.tally()
	}
	c.Series = own.series + recorded.series
	metrics, values, bytes, pairs := top{limit: limit}, top{limit: limit}, top{limit: limit},
		top{limit: limit}
	all := append(own.labels(), recorded.labels()...)
	slices.Sort(all)
	for _, label := range slices.Compact(all) {
		different, size := uint64(0), uint64(0)
		count := func(value string, n uint64) {
			different++
			size += uint64(len(value))
			pairs.push(pair{label, value, n})
			if label == labels.MetricName {
				metrics.push(pair{value, "", n})
			}
		}
		others := maps.Collect(recorded.values(label))
		for value, n := range own.values(label) {
			count(value, n+others[value])
			delete(others, value)
		}
		for value, n := range others {
			count(value, n)
		}
		if different == 0 {
			continue
		}
		c.Pairs += different
		values.push(pair{label, "", different})
		bytes.push(pair{label, "", size})
	}
	c.Metrics, c.Values, c.TextBytes, c.ByPair = metrics.counts(""), values.counts(""),
		bytes.counts(""), pairs.counts("=")
	return c
}

// pair is a label and a value that n series have.
type pair struct {
	label, value string
	n            uint64
}

// before orders pairs as lists have them: the largest first.
func (p pair) before(o pair) bool {
	switch {
	case p.n != o.n:
		return p.n > o.n
	case p.label != o.label:
		return p.label < o.label
	}
	return p.value < o.value
}

// top keeps the first of all pairs: a heap with the last of them at its root.
type top struct {
	limit int
	pairs []pair
}

func (t *top) push(p pair) {
	if len(t.pairs) < t.limit {
		t.pairs = append(t.pairs, p)
		for i := len(t.pairs) - 1; i > 0 && t.pairs[(i-1)/2].before(t.pairs[i]); i = (i - 1) / 2 {
			t.pairs[i], t.pairs[(i-1)/2] = t.pairs[(i-1)/2], t.pairs[i]
		}
		return
	}
	if t.limit == 0 || !p.before(t.pairs[0]) {
		return
	}
	t.pairs[0] = p
	for i := 0; ; {
		last := i
		for _, child := range [2]int{2*i + 1, 2*i + 2} {
			if child < len(t.pairs) && t.pairs[last].before(t.pairs[child]) {
				last = child
			}
		}
		if last == i {
			return
		}
		t.pairs[i], t.pairs[last] = t.pairs[last], t.pairs[i]
		i = last
	}
}

// counts ends the list. between stands between label and value.
func (t *top) counts(between string) []Count {
	slices.SortFunc(t.pairs, func(a, b pair) int {
		if a.before(b) {
			return -1
		}
		return 1 // no two are alike
	})
	list := make([]Count, 0, len(t.pairs))
	for _, p := range t.pairs {
		list = append(list, Count{p.label + between + p.value, p.n})
	}
	return list
}
