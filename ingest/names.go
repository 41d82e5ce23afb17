package ingest

import (
	"hash/maphash"
	"slices"

	"github.com/ringwatch/ringwatch/frame"
)

// Series count as new when a key frame names entities that its node's last one did not name. A hash
// is remembered of each name. Of a node with many entities, or when there are many nodes, one hash
// of all names is remembered: then any change makes all of the node's series count as new.
const (
	// nodeEntities is of how many entities of a node each is remembered: 200 KB.
	nodeEntities = 50_000
	// keptEntities bounds that for all nodes: 32 MB.
	keptEntities = 8_000_000
)

// names are the entities that a key frame names.
type names struct {
	sum      uint64   // of all; 0: none were named yet
	entities []uint32 // hashes, sorted; nil: only the sum is kept
}

var namesSeed = maphash.MakeSeed()

// named is what a key frame names, and how many series each entity has, by its hash.
type named struct {
	names
	series map[uint32]int64
}

// namesOf returns what a key frame names.
func namesOf(f *frame.Frame) *named {
	n := &named{series: map[uint32]int64{}}
	var all, h maphash.Hash
	all.SetSeed(namesSeed)
	h.SetSeed(namesSeed)
	for i := range f.Added {
		t := &f.Templates[f.Added[i].Template]
		h.Reset()
		say(&h, t.Type)
		for _, m := range t.Metrics {
			say(&h, m.Name)
		}
		template := h.Sum64()
		for _, row := range f.Added[i].Rows {
			h.Reset()
			maphash.WriteComparable(&h, template)
			for _, v := range row {
				say(&h, v)
			}
			sum := h.Sum64()
			maphash.WriteComparable(&all, sum)
			n.entities = append(n.entities, uint32(sum))
			n.series[uint32(sum)] += int64(len(t.Metrics))
		}
	}
	n.sum = max(1, all.Sum64())
	slices.Sort(n.entities)
	return n
}

func say(h *maphash.Hash, text string) {
	_, _ = h.WriteString(text)
	_ = h.WriteByte(0xff) // in no text: they are UTF-8
}

// added returns how many series of the frame the names before did not have.
func (n *names) added(now *named) (count int64) {
	if n.sum == now.sum {
		return 0
	}
	for entity, of := range now.series {
		if _, known := slices.BinarySearch(n.entities, entity); !known {
			count += of
		}
	}
	return count
}
