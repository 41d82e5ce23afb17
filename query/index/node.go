package index

import (
	"cmp"
	"slices"

	"github.com/google/uuid"

	"github.com/ringwatch/ringwatch/window"
)

// node is what is known of one node. It is immutable: what becomes known makes a new one.
type node struct {
	nodeRef
	hashes []window.Hash // of the dictionaries, in the order of the history's periods
}

// nodeRef is what a query needs of a node. It is small and in one slice, because each query looks
// at all nodes.
type nodeRef struct {
	id      uuid.UUID
	history uint32
}

// history is which content a node had at which place on which days. Nodes with equal histories,
// such as most of a rack, share one.
type history struct {
	periods     []period // newest day first
	first, last uint16   // days
}

// period says that a node at a place had a content on the days from first to last. While nothing
// changes a node has about 40 periods, one for each entity type, however many days pass.
type period struct {
	content, place uint32
	first, last    uint16
}

// dictionaryPeriod is a period with the hash of the dictionary that says so.
type dictionaryPeriod struct {
	hash window.Hash
	period
}

// What a node takes beside its hashes: itself, its places in a map and a list.
const nodeBytes = 48 + 84

const dayMillis = 24 * 60 * 60_000

// dayOf returns the number of a day since the Unix epoch, as far as 16 bits go: 2149.
func dayOf(millis int64) uint16 { return uint16(min(max(millis/dayMillis, 0), 1<<16-1)) }

// node returns a node with these periods, of which there is at least one.
func (p *interner) node(id uuid.UUID, entries []dictionaryPeriod) *node {
	// The hash decides last. So nodes with equal periods have them in the same order, whatever
	// their hashes are, and what is read twice of one node gives its hashes in the same order.
	slices.SortFunc(entries, func(a, b dictionaryPeriod) int {
		return cmp.Or(cmp.Compare(b.last, a.last), cmp.Compare(b.first, a.first),
			cmp.Compare(a.content, b.content), cmp.Compare(a.place, b.place),
			slices.Compare(a.hash[:], b.hash[:]))
	})
	n := &node{nodeRef: nodeRef{id: id}, hashes: make([]window.Hash, len(entries))}
	spans := make([]period, len(entries))
	for i, e := range entries {
		n.hashes[i], spans[i] = e.hash, e.period
	}
	n.history = p.history(spans)
	return n
}

func (p *interner) history(spans []period) uint32 {
	numbers := make([]uint32, 0, 3*len(spans))
	for _, s := range spans {
		numbers = append(numbers, s.content, s.place, uint32(s.first)<<16|uint32(s.last))
	}
	return intern(p.historyOf, digestOf(numbers), func() int {
		of := history{periods: spans, first: spans[0].first, last: spans[0].last}
		for _, s := range spans {
			of.first = min(of.first, s.first)
		}
		p.histories = append(p.histories, of)
		p.bytes += 12*len(spans) + listBytes
		return len(p.histories) - 1
	})
}

func (n *node) bytes() int { return nodeBytes + len(window.Hash{})*len(n.hashes) }

// periods returns a node's periods; none if n is nil.
func (v *tables) periods(n *node) []dictionaryPeriod {
	if n == nil {
		return nil
	}
	list := make([]dictionaryPeriod, len(n.hashes))
	for i, s := range v.histories[n.history].periods {
		list[i] = dictionaryPeriod{n.hashes[i], s}
	}
	return list
}

// has reports whether a node is known to have had a dictionary on all these days. n may be nil.
func (v *tables) has(n *node, hash window.Hash, days ...uint16) bool {
	if n == nil {
		return false
	}
	spans := v.histories[n.history].periods
	return !slices.ContainsFunc(days, func(day uint16) bool {
		for i := range spans {
			if n.hashes[i] == hash && spans[i].first <= day && day <= spans[i].last {
				return false
			}
		}
		return true
	})
}

// knows reports whether a node is known to have had a dictionary on any day. n may be nil.
func (n *node) knows(hash window.Hash) bool { return n != nil && slices.Contains(n.hashes, hash) }

// addDays adds days to the periods of one dictionary. Neighbouring days become one period.
func addDays(entries []dictionaryPeriod, of dictionaryPeriod, days []uint16) []dictionaryPeriod {
	var ranges [][2]uint16
	rest := entries[:0:0]
	for _, e := range entries {
		if e.hash == of.hash {
			ranges = append(ranges, [2]uint16{e.first, e.last})
		} else {
			rest = append(rest, e)
		}
	}
	for _, d := range days {
		ranges = append(ranges, [2]uint16{d, d})
	}
	slices.SortFunc(ranges, func(a, b [2]uint16) int { return cmp.Compare(a[0], b[0]) })
	for i, r := range ranges {
		if last := len(rest) - 1; i > 0 && int(r[0]) <= int(rest[last].last)+1 {
			rest[last].last = max(rest[last].last, r[1])
			continue
		}
		of.first, of.last = r[0], r[1]
		rest = append(rest, of)
	}
	return rest
}

// since returns the periods without what was before a day.
func since(entries []dictionaryPeriod, day uint16) []dictionaryPeriod {
	kept := make([]dictionaryPeriod, 0, len(entries))
	for _, e := range entries {
		if e.last >= day {
			e.first = max(e.first, day)
			kept = append(kept, e)
		}
	}
	return kept
}
