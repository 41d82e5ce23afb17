package series

import (
	"cmp"
	"slices"

	"github.com/google/uuid"

	"github.com/ringwatch/ringwatch/window"
)

// node is what is known of one node. It is immutable: what becomes known makes a new one.
type node struct {
	id          uuid.UUID
	entries     []entry // newest day first
	first, last uint16  // days
	moved       bool    // its entries are of more than one place
}

// entry says that a node had a dictionary on the days first to last. It is 20 bytes; a node has some 40 for all the days on which nothing changes.
type entry struct {
	hash         window.Hash
	shape, place uint32
	first, last  uint16
}

// What a node takes beside its entries: itself, its places in a map and a list.
const (
	nodeBytes  = 80 + 72
	entryBytes = 20
)

const dayMillis = 24 * 60 * 60_000

// dayOf returns the number of a day since the Unix epoch, as far as 16 bits go: 2149.
func dayOf(millis int64) uint16 { return uint16(min(max(millis/dayMillis, 0), 1<<16-1)) }

func newNode(id uuid.UUID, entries []entry) *node {
	slices.SortFunc(entries, func(a, b entry) int { // by hash last, so that what follows from the order is the same after a restart
		return cmp.Or(cmp.Compare(b.last, a.last), cmp.Compare(b.first, a.first), slices.Compare(a.hash[:], b.hash[:]))
	})
	n := &node{id: id, entries: entries, first: entries[0].first, last: entries[0].last}
	for i := range entries {
		n.first = min(n.first, entries[i].first)
		n.moved = n.moved || entries[i].place != entries[0].place
	}
	return n
}

func (n *node) bytes() int { return nodeBytes + entryBytes*cap(n.entries) }

// find returns an entry with that hash, nil if there is none. n may be nil.
func (n *node) find(hash window.Hash) *entry {
	if n == nil {
		return nil
	}
	for i := range n.entries {
		if n.entries[i].hash == hash {
			return &n.entries[i]
		}
	}
	return nil
}

// withDays returns the entries of one dictionary with more days, neighbouring days as one entry.
func withDays(entries []entry, of entry, days []uint16) []entry {
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

// since returns the node without what was before a day; nil if nothing is left.
func (n *node) since(day uint16) *node {
	if n.first >= day {
		return n
	}
	kept := make([]entry, 0, len(n.entries))
	for _, e := range n.entries {
		if e.last >= day {
			e.first = max(e.first, day)
			kept = append(kept, e)
		}
	}
	if len(kept) == 0 {
		return nil
	}
	return newNode(n.id, slices.Clip(kept))
}
