package index

import (
	"context"
	"slices"

	"github.com/google/uuid"
	"github.com/prometheus/prometheus/model/labels"
)

// result is whether something matches, kept so that it is matched once.
type result uint8

const (
	unknown result = iota
	matched
	differs
)

func resultOf(matches bool) result {
	if matches {
		return matched
	}
	return differs
}

// selector is one selector's matchers, sorted by the labels they look at, and their results so
// far: every text, list and set is matched once.
type selector struct {
	tables *tables
	*canceled

	name, node []*labels.Matcher
	fixed      [3][]*labels.Matcher // cluster, datacenter, rack
	rest       []entityMatcher
	owns       func(cluster string) bool
	wanted     func(Metric) bool // metrics; nil: all

	places, contents []result
	lists            memo // by list: the metrics that match
	sets             memo // by set: the entities that match
}

// memo keeps which members of a list match, by the list's number. There may be tens of thousands
// of lists, of which a query looks at a few.
type memo struct {
	at    []uint32 // where in found, counted from 1
	found [][]uint32
}

func (m *memo) get(n uint32, find func() []uint32) []uint32 {
	if m.at[n] == 0 {
		m.found = append(m.found, find())
		m.at[n] = uint32(len(m.found))
	}
	return m.found[m.at[n]-1]
}

// entityMatcher is a matcher of an entity's label.
type entityMatcher struct {
	*labels.Matcher
	canceled *canceled
	columns  []int8   // by schema: which value; lacking if it has none
	absent   bool     // whether entities without the label match
	values   []result // of a regular expression, by symbol; nil: see symbol
	symbol   uint32   // the value to compare with; unused if no entity has it
}

const (
	noColumn = -1
	noSymbol = ^uint32(0)
)

// canceled is whether a selection has to end early. Matching asks it for each text, since one may
// take milliseconds.
type canceled struct {
	ctx context.Context // nil: it never has
	err error
}

func (e *canceled) check() bool {
	if e.err == nil && e.ctx != nil {
		e.err = e.ctx.Err()
	}
	return e.err != nil
}

// compile makes a selector. Of what rules recorded, all labels but the name are the entities'. The
// caller holds the account's lock.
func (p *interner) compile(v *tables, matchers []*labels.Matcher, owns func(string) bool,
	end *canceled,
	recorded bool) *selector {
	s := &selector{tables: v, canceled: end, owns: owns, places: make([]result, len(v.places)),
		contents: make([]result, len(v.contents)), lists: memo{at: make([]uint32, len(v.lists))},
		sets: memo{at: make([]uint32, len(v.sets))}}
	for _, m := range matchers {
		if recorded && m.Name != labels.MetricName {
			s.rest = append(s.rest, p.compileEntity(v, m, end))
			continue
		}
		switch m.Name {
		case labels.MetricName:
			s.name = append(s.name, m)
		case "cluster":
			s.fixed[0] = append(s.fixed[0], m)
		case "datacenter":
			s.fixed[1] = append(s.fixed[1], m)
		case "rack":
			s.fixed[2] = append(s.fixed[2], m)
		case "node":
			s.node = append(s.node, m)
		default:
			s.rest = append(s.rest, p.compileEntity(v, m, end))
		}
	}
	return s
}

// selectorBytes returns what compile takes for matchers.
func (v *tables) selectorBytes(matchers []*labels.Matcher) int {
	n := len(v.places) + len(v.contents) + 4*(len(v.lists)+len(v.sets))
	for _, m := range matchers {
		if n += len(v.schemas); isRegexp(m) {
			n += len(v.symbols)
		}
	}
	return n
}

func (p *interner) compileEntity(v *tables, m *labels.Matcher, end *canceled) entityMatcher {
	e := entityMatcher{Matcher: m, canceled: end, columns: make([]int8, len(v.schemas)),
		absent: m.Matches(""), symbol: noSymbol}
	label, known := p.symbolOf[m.Name]
	for i, names := range v.schemas {
		e.columns[i] = noColumn
		if known {
			e.columns[i] = int8(slices.Index(names, label))
		}
	}
	if isRegexp(m) {
		e.values = make([]result, len(v.symbols))
	} else if symbol, found := p.symbolOf[m.Value]; found {
		e.symbol = symbol
	}
	return e
}

func isRegexp(m *labels.Matcher) bool {
	return m.Type == labels.MatchRegexp || m.Type == labels.MatchNotRegexp
}

func matchesAll(matchers []*labels.Matcher, value string) bool {
	for _, m := range matchers {
		if !m.Matches(value) {
			return false
		}
	}
	return true
}

// place reports whether nodes at a place can match.
func (s *selector) place(n uint32) bool {
	if s.places[n] == unknown {
		if s.check() {
			return false
		}
		p := &s.tables.places[n]
		s.places[n] = resultOf((s.owns == nil || s.owns(p.cluster)) &&
			matchesAll(s.fixed[0], p.cluster) && matchesAll(s.fixed[1], p.datacenter) &&
			matchesAll(s.fixed[2], p.rack))
	}
	return s.places[n] == matched
}

// content returns the metrics of a content that match, ascending by their name's symbol, and its
// entities that match, ascending. ok is false if no series matches.
func (s *selector) content(n uint32) (metrics, entities []uint32, ok bool) {
	if s.contents[n] == differs {
		return nil, nil, false
	}
	sh := &s.tables.contents[n]
	if metrics = s.lists.get(sh.list, func() []uint32 { return s.metrics(sh.list) }); len(metrics) >
		0 {
		entities = s.sets.get(sh.set, func() []uint32 { return s.entities(sh.set) })
	}
	ok = len(entities) > 0
	s.contents[n] = resultOf(ok)
	return metrics, entities, ok
}

func (s *selector) metrics(list uint32) []uint32 {
	ids := s.tables.lists[list]
	if len(s.name) == 0 && s.wanted == nil {
		return ids
	}
	return slices.DeleteFunc(slices.Clone(ids), func(id uint32) bool {
		return s.check() || !matchesAll(s.name, s.tables.symbols[s.tables.metrics[id].name]) ||
			s.wanted != nil && !s.wanted(s.tables.metric(id))
	})
}

func (s *selector) entities(set uint32) []uint32 {
	ids := s.tables.sets[set].ids
	for i := range s.rest {
		if len(ids) > 0 {
			ids = s.rest[i].filter(s.tables, s.tables.sets[set].schema, ids)
		}
	}
	return ids
}

// filter returns the entities that match, which may be the slice it was given. schema is that of
// all of them, or mixed.
func (e *entityMatcher) filter(v *tables, schema uint32, ids []uint32) []uint32 {
	if schema != mixed && e.columns[schema] == noColumn {
		if e.absent {
			return ids
		}
		return nil
	}
	var kept []uint32
	for _, id := range ids {
		if e.matches(v, &v.entities[id]) {
			kept = append(kept, id)
		}
	}
	if len(kept) == len(ids) {
		return ids
	}
	return kept
}

func (e *entityMatcher) matches(v *tables, of *entity) bool {
	column := e.columns[of.schema]
	if column == noColumn {
		return e.absent
	}
	value := v.values[of.at+uint32(column)]
	if e.values == nil {
		return (value == e.symbol) == (e.Type == labels.MatchEqual)
	}
	if e.values[value] == unknown {
		if e.canceled.check() {
			return false
		}
		e.values[value] = resultOf(e.Matches(v.symbols[value]))
	}
	return e.values[value] == matched
}

// ids returns the ids of the only nodes that can match; ok is false if any may.
func (s *selector) ids() (list []uuid.UUID, ok bool) {
	for _, m := range s.node {
		var texts []string
		switch {
		case m.Type == labels.MatchEqual:
			texts = []string{m.Value}
		case m.Type == labels.MatchRegexp && len(m.SetMatches()) > 0:
			texts = m.SetMatches()
		default:
			continue
		}
		for _, text := range texts {
			if id, err := uuid.Parse(text); err == nil {
				list = append(list, id)
			}
		}
		return list, true
	}
	return nil, false
}

// candidates returns the nodes that can match any of the selectors, in order. The caller holds the
// lock.
func (a *account) candidates(selectors []*selector) []nodeRef {
	var named []uuid.UUID
	for _, s := range selectors {
		ids, ok := s.ids()
		if !ok {
			return a.ordered()
		}
		named = append(named, ids...)
	}
	var nodes []nodeRef
	for _, id := range named {
		if n := a.nodes[id]; n != nil {
			nodes = append(nodes, n.nodeRef)
		}
	}
	slices.SortFunc(nodes, a.interned.compare)
	return slices.Compact(nodes)
}
