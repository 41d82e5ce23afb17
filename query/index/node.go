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
	hashes []window.Hash // of the dictionaries, by the profile's spans
}

// nodeRef is what a reader needs of a node: few bytes in a row, because each query looks at all
// of them.
type nodeRef struct {
	id      uuid.UUID
	history uint32
}

// profile is what a node had when, apart from its name: nodes alike in what they have, since when
// and where have one. That is most of a cluster's rack.
type history struct {
	periods     []period // newest day first
	first, last uint16   // days
}

// span says that a shape was there at a place on the days first to last. A node has some 40 for
// all the days on which nothing changes.
type period struct {
	content, place uint32
	first, last    uint16
}

// entry is a span with the dictionary that says so.
type dictionaryPeriod struct {
	hash window.Hash
	period
}

// What a node takes beside its hashes: itself, its places in a map and a list.
const nodeBytes = 48 + 84

const dayMillis = 24 * 60 * 60_000

// dayOf returns the number of a day since the Unix epoch, as far as 16 bits go: 2149.
func dayOf(millis int64) uint16 { return uint16(min(max(millis/dayMillis, 0), 1<<16-1)) }

// node returns a node with these entries, of which there is at least one.
func (p *interner) node(id uuid.UUID, entries []dictionaryPeriod) *node {
	// By hash last: nodes alike have their spans in the same order, and two readings of one node
	// its hashes.
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

// entries returns what a node has; nothing of no node.
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

// withDays returns the entries of one dictionary with more days, neighbouring days as one entry.
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

// since returns the entries without what was before a day.
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
