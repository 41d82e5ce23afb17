package relabel

import (
	"github.com/maypok86/otter/v2"
	"github.com/prometheus/prometheus/model/labels"
)

// Result is what a mapping makes of one label set.
type Result struct {
	Labels labels.Labels
	Keep   bool
}

// Cache remembers what a mapping made of the label sets of dictionaries, so that they are mapped
// once and not in every frame. K is a dictionary's key, for instance its hash: other label sets
// must have another key. Its methods may be called from many goroutines.
type Cache[K comparable] struct {
	mapping *Mapping
	kept    *otter.Cache[K, []Result]
}

// What a result takes beside its labels' text, by estimate.
const resultBytes = 96

// NewCache returns a cache of at most so many bytes, by estimate; what is used least goes first.
func NewCache[K comparable](m *Mapping, maxBytes int64) (*Cache[K], error) {
	kept, err := otter.New(&otter.Options[K, []Result]{
		MaximumWeight: uint64(max(maxBytes, 1)),
		Weigher: func(_ K, list []Result) uint32 {
			n := resultBytes
			for _, r := range list {
				n += resultBytes
				r.Labels.Range(func(l labels.Label) { n += len(l.Name) + len(l.Value) + 4 })
			}
			return uint32(min(n, 1<<31))
		},
	})
	if err != nil {
		return nil, err
	}
	return &Cache[K]{mapping: m, kept: kept}, nil
}

// Results returns what the mapping makes of the label sets of a dictionary, in their order. sets is
// asked for them only if the dictionary is not known. The list is shared: do not change it.
func (c *Cache[K]) Results(key K, sets func() []labels.Labels) []Result {
	if list, known := c.kept.GetIfPresent(key); known {
		return list
	}
	all := sets()
	list := make([]Result, len(all))
	for i, l := range all {
		list[i].Labels, list[i].Keep = c.mapping.Labels(l)
	}
	c.kept.Set(key, list)
	return list
}
