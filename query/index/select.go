package index

import (
	"context"
	"errors"
	"iter"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/prometheus/model/labels"
)

// ErrLoading says that nothing is known of an account yet, not even which nodes it has. A moment
// later there is.
var ErrLoading = errors.New("series: the list of nodes is being loaded")

// ErrTooLarge says that a query's selectors are too many for the account's number of series.
var ErrTooLarge = errors.New("series: the request has too many selectors and regular expressions " +
	"for so many series: use fewer at a time")

// maxSelectorBytes bounds what a query takes to look at each text, list and set once.
const maxSelectorBytes = 64 << 20

// Query says which series.
type Query struct {
	// From and To, both inclusive and in milliseconds since the Unix epoch, are widened to whole
	// days, and to the day before in a day's first minutes.
	From, To int64
	// Selectors are alternatives, each of matchers that must all match, on every label. None: all
	// series.
	Selectors [][]*labels.Matcher
	// Metrics leaves out the metrics of which it says false to a selector, by its number; nil:
	// none.
	Metrics func(selector int, m Metric) bool
	// Context bounds the work of Select and of its Selection, see Selection.Err; nil: nothing does.
	Context context.Context
	// Owns limits the answer to clusters; nil: all of the account's.
	Owns func(cluster string) bool
}

// nextDayAfter is how far into a day the day before still counts: a day's dictionaries come when
// its first window is closed.
const nextDayAfter = 15 * time.Minute

// Selection is what a Query selects, as it was when Select was called. It is for one goroutine.
// Nothing is computed before it is asked for, and then node by node.
type Selection struct {
	// Missing is how much the answer may lack: nodes that are not loaded yet, and dictionaries
	// that could not be read.
	Missing int

	canceled    canceled
	tables      tables
	selectors   []*selector
	nodes       []nodeRef
	first, last uint16
	answers     []*answer             // by history, if no selector asks for a node's id
	byID        map[answerKey]*answer // else
	computed    int
	recorded    *Selection // of what rules record; nil: they record nothing
	isRecorded  bool       // it is such a one itself
	// by ordinal of a metric's name: the last answer, counted from 1, in which it is
	seen []int
}

// Err returns why the selection is not whole: the error of the query's context, if that has ended
// while series were looked for. Who has asked for what is selected asks for this, too.
func (s *Selection) Err() error {
	if s.recorded != nil && s.recorded.canceled.err != nil {
		return s.recorded.canceled.err
	}
	return s.canceled.err
}

// Select prepares a query's answer. The error is ErrLoading or ErrTooLarge; an account of which
// the Loader knows that it has no nodes has no series.
func (x *Index) Select(accountName string, q Query) (*Selection, error) {
	a := x.account(accountName, false)
	if a == nil {
		return nil, ErrLoading
	}
	s, err := a.selection(q, false)
	if err != nil {
		return nil, err
	}
	if a = x.account(recorders(accountName), false); a != nil {
		if s.recorded, err = a.selection(q, true); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// selection prepares a query's answer of an account's nodes, or of its recorders.
func (a *account) selection(q Query, recorded bool) (*Selection, error) {
	alternatives := q.Selectors
	if len(alternatives) == 0 {
		alternatives = [][]*labels.Matcher{nil}
	}
	s := &Selection{isRecorded: recorded, canceled: canceled{ctx: q.Context},
		first: dayOf(q.From - nextDayAfter.Milliseconds()), last: dayOf(q.To)}
	a.mu.Lock()
	defer a.mu.Unlock()
	if !recorded && !a.listed && len(a.nodes) == 0 {
		return nil, ErrLoading
	}
	s.Missing = a.pending + len(a.missing)
	if !recorded && !a.listed {
		s.Missing++
	}
	s.tables = a.interned.tables
	bytes := 0
	for i, matchers := range alternatives {
		if bytes += s.tables.selectorBytes(matchers); bytes > maxSelectorBytes {
			return nil, ErrTooLarge
		}
		of := a.interned.compile(&s.tables, matchers, q.Owns, &s.canceled, recorded)
		if q.Metrics != nil {
			of.wanted = func(m Metric) bool { return q.Metrics(i, m) }
		}
		s.selectors = append(s.selectors, of)
	}
	s.nodes = a.candidates(s.selectors)
	s.seen = make([]int, s.tables.names)
	if slices.ContainsFunc(s.selectors, func(sel *selector) bool { return len(sel.node) > 0 }) {
		s.byID = map[answerKey]*answer{}
	} else {
		s.answers = make([]*answer, len(s.tables.histories))
	}
	return s, nil
}

// NodeSeries is some of the series of one node or recorder: each of the metrics for each of the
// entities.
type NodeSeries struct {
	// Where it is. A recorder's series do not have these as labels: see Place.
	Cluster, Datacenter, Rack string
	Node                      uuid.UUID
	Type                      string // of the entities

	tables            *tables
	metrics, entities []uint32
}

// Len returns how many series they are.
func (b *NodeSeries) Len() int { return len(b.metrics) * len(b.entities) }

// ByNode iterates over what is selected, by cluster, datacenter, rack and node. No series comes
// twice; a node may.
func (s *Selection) ByNode() iter.Seq[NodeSeries] {
	return func(yield func(NodeSeries) bool) {
		for _, n := range s.nodes {
			for _, b := range s.answerFor(n).products {
				p := &s.tables.places[b.place]
				if !yield(NodeSeries{p.cluster, p.datacenter, p.rack, n.id, s.tables.symbols[b.typ],
					&s.tables,
					b.metrics, b.entities}) {
					return
				}
			}
		}
		if s.recorded != nil {
			for b := range s.recorded.ByNode() {
				if !yield(b) {
					return
				}
			}
		}
	}
}

// answer is what is selected of nodes that share a history.
type answer struct {
	products []product
	series   int
}

// answerKey is a history with the selectors that the node's id matches, a bit each.
type answerKey struct {
	history uint32
	ids     uint64
}

// maxSelectors is how many selectors have a bit. With more, nothing is remembered.
const maxSelectors = 64

// product is a NodeSeries in numbers: the product of its metrics and its entities.
type product struct {
	typ, place        uint32
	metrics, entities []uint32
}

// answerFor returns what is selected of a node. Nodes that share a history share it.
func (s *Selection) answerFor(n nodeRef) *answer {
	if s.answers != nil {
		if s.answers[n.history] == nil {
			s.answers[n.history] = s.answer(&s.tables.histories[n.history], s.selectors)
		}
		return s.answers[n.history]
	}
	k := answerKey{history: n.history}
	var list []*selector
	id := n.id.String()
	for i, sel := range s.selectors {
		if len(sel.node) > 0 && s.canceled.check() {
			return &answer{}
		}
		if matchesAll(sel.node, id) {
			k.ids |= 1 << (i % maxSelectors)
			list = append(list, sel)
		}
	}
	if a := s.byID[k]; a != nil && len(s.selectors) <= maxSelectors {
		return a
	}
	a := s.answer(&s.tables.histories[n.history], list)
	s.byID[k] = a
	return a
}

// answer computes what selectors select of a history.
func (s *Selection) answer(p *history, selectors []*selector) *answer {
	a := &answer{}
	if p.last < s.first || p.first > s.last {
		return a
	}
	s.computed++
	for _, sel := range selectors {
		for i := range p.periods {
			of := &p.periods[i]
			if of.first > s.last || of.last < s.first || !sel.place(of.place) {
				continue
			}
			if metrics, entities, ok := sel.content(of.content); ok {
				a.products = s.add(a.products, product{s.tables.contents[of.content].typ,
					of.place, metrics,
					entities})
			}
		}
	}
	for _, b := range a.products {
		a.series += len(b.metrics) * len(b.entities)
	}
	return a
}

// add appends the part of a product that the others lack. Nearly always they have no metric's name
// in common, and then nothing is compared.
func (s *Selection) add(blocks []product, b product) []product {
	twice := false
	for _, m := range b.metrics {
		name := s.tables.ordinals[m]
		twice = twice || s.seen[name] == s.computed
		s.seen[name] = s.computed
	}
	if !twice {
		return append(blocks, b)
	}
	rest := []product{b}
	for _, other := range blocks {
		var left []product
		for _, r := range rest {
			left = s.tables.subtract(left, r, other)
		}
		if rest = left; len(rest) == 0 {
			break
		}
	}
	return append(blocks, rest...)
}

// subtract appends what a has and b lacks: the metrics that only a has with all of a's entities,
// and the common metrics with the entities that only a has.
func (v *tables) subtract(dst []product, a, b product) []product {
	if a.place != b.place {
		return append(dst, a)
	}
	name := func(m uint32) uint32 { return v.metrics[m].name }
	other, common := split(a.metrics, b.metrics, name)
	if len(common) == 0 {
		return append(dst, a)
	}
	if len(other) > 0 {
		dst = append(dst, product{a.typ, a.place, other, a.entities})
	}
	if left, _ := split(a.entities, b.entities, func(id uint32) uint32 {
		return id
	}); len(left) > 0 {
		dst = append(dst, product{a.typ, a.place, common, left})
	}
	return dst
}

// split returns which of a are not in b, and which are. Both ascend by key.
func split(a, b []uint32, key func(uint32) uint32) (other, common []uint32) {
	if len(a) == len(b) && &a[0] == &b[0] { // nearly always
		return nil, a
	}
	for _, v := range a {
		for len(b) > 0 && key(b[0]) < key(v) {
			b = b[1:]
		}
		if len(b) > 0 && key(b[0]) == key(v) {
			common = append(common, v)
		} else {
			other = append(other, v)
		}
	}
	return other, common
}

// Count returns how many series are selected, of how many nodes and recorders. Its cost is that of
// finding them, not of their number.
func (s *Selection) Count() (series, nodes int) {
	for _, n := range s.nodes {
		if a := s.answerFor(n); a.series > 0 {
			series += a.series
			nodes++
		}
	}
	if s.recorded != nil {
		n, of := s.recorded.Count()
		series, nodes = series+n, nodes+of
	}
	return series, nodes
}

// Nodes returns the nodes and recorders that have any of the series, in the order of ByNode.
func (s *Selection) Nodes() []uuid.UUID { return append(s.nodesOnly(), s.Recorders()...) }

// Recorders returns the recorders that have any of the series.
func (s *Selection) Recorders() []uuid.UUID {
	if s.recorded == nil {
		return nil
	}
	return s.recorded.nodesOnly()
}

func (s *Selection) nodesOnly() []uuid.UUID {
	list := make([]uuid.UUID, 0, len(s.nodes))
	for _, n := range s.nodes {
		if s.answerFor(n).series > 0 {
			list = append(list, n.id)
		}
	}
	return list
}
