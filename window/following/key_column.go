package following

import (
	"math"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/window"
	"github.com/ringwatch/ringwatch/window/numbering"
)

// keyColumn is a key frame's values of one metric, by entity.
type keyColumn struct {
	words      []int64
	texts      []string
	buckets    []*frame.Buckets
	histograms []window.Histogram // of buckets, made when first asked for
}

// keyColumnOf spreads a column's values over the entities of a key frame.
func keyColumnOf(col *frame.Column, r *numbering.Entities, kind frame.Kind) *keyColumn {
	k := &keyColumn{}
	switch kind {
	case frame.String:
		k.texts = make([]string, r.KeyEntities)
		for i, e := range r.Selected(col) {
			k.texts[e] = col.Strings[i]
		}
	case frame.Histogram, frame.GaugeHistogram:
		k.buckets = make([]*frame.Buckets, r.KeyEntities)
		k.histograms = make([]window.Histogram, r.KeyEntities)
		for i, e := range r.Selected(col) {
			k.buckets[e] = &col.Histograms[i]
		}
	default:
		k.words = make([]int64, r.KeyEntities)
		for i, e := range r.Selected(col) {
			if kind == frame.GaugeDouble {
				k.words[e] = int64(math.Float64bits(col.Doubles[i]))
			} else {
				k.words[e] = col.Ints[i]
			}
		}
	}
	return k
}
