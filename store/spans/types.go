package spans

import (
	"github.com/ringwatch/ringwatch/window"
	"github.com/ringwatch/ringwatch/window/blobs"
	"github.com/ringwatch/ringwatch/window/rollup"
)

// columnType is a type of entities in a span's head, which says what is stored of its metrics.
type columnType interface {
	Stored(metric int) bool
	Small(metric int) bool
}

// spanType is such a type.
type spanType struct {
	columnType
	key  string
	hash window.Hash
}

// Types are the types of a span. parts returns the parts of a metric's column of type number t
// that hold these rows (nil: all), of these facets.
type Types struct {
	list  []spanType
	parts func(t int, d *window.Dictionary, metric int, rows []int32,
		facets ...blobs.Facet) []blobs.PartID
}

// HeadTypes are those of a window or an hour.
func HeadTypes(head *blobs.Head) Types {
	list := make([]spanType, len(head.Types))
	for i := range list {
		t := &head.Types[i]
		list[i] = spanType{t, t.Key, t.Hash}
	}
	return Types{list, head.PartsOf}
}

// RunTypes are those of a run of rollups.
func RunTypes(head *rollup.RunHead) Types {
	list := make([]spanType, len(head.Types))
	for i := range list {
		t := &head.Types[i]
		list[i] = spanType{t, t.Key, t.Hash}
	}
	return Types{list, head.PartsOf}
}

// Choose calls want for the parts of a span that can match, and returns which types those are of.
func Choose(
	types Types, find window.Dictionaries, m *Matches, facets []blobs.Facet,
	want func(key, metric string, small bool, ids []blobs.PartID),
) []int {
	chosen := []int{} // not nil, which is all
	for i := range types.list {
		t := &types.list[i]
		d, err := find(t.key, t.hash)
		if err != nil {
			chosen = append(chosen, i) // who opens the span will say so
			continue
		}
		match := m.of(d)
		if len(match.metrics) == 0 {
			continue
		}
		chosen = append(chosen, i)
		for j, metric := range match.metrics {
			if t.Stored(metric) {
				want(t.key, match.keys[j], t.Small(metric),
					types.parts(i, d, metric, match.rows, facets...))
			}
		}
	}
	return chosen
}
