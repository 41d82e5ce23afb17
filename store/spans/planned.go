package spans

import (
	"context"
	"math"

	"github.com/ringwatch/ringwatch/store/dictionaries"
	"github.com/ringwatch/ringwatch/store/layout"
	"github.com/ringwatch/ringwatch/window/blobs"
)

// Planned is a span of a partition that is to be read.
type Planned struct {
	Head   *Head
	Types  Types
	Finder *dictionaries.Finder
	Plan   *Plan
}

// ReadPlanned reads the spans of one partition into their plans: what of them can match and is not
// kept. cost is as Parts has it.
func (t Task) ReadPlanned(ctx context.Context, k *Cached, spans []Planned, m *Matches,
	facets []blobs.Facet, cost int64) error {
	var want layout.Wanted
	byRows := map[int64]*Plan{} // by where their rows are
	from, to := int64(math.MaxInt64), int64(math.MinInt64)
	for _, h := range spans {
		byRows[h.Head.At()] = h.Plan
		if k.Answered(h.Plan.Span) {
			continue
		}
		h.Plan.NeedTypes(Choose(h.Types, h.Finder.Find, m, facets,
			func(key, metric string, small bool, ids []blobs.PartID) {
				if h.Plan.NeedParts(ids) {
					want.Add(h.Head.At(), key, metric, small, ids...)
					from, to = min(from, h.Head.Start), max(to, h.Head.Start)
				}
			}))
		if h.Finder.Err != nil {
			return h.Finder.Err
		}
	}
	if err := ctx.Err(); err != nil {
		return err // not all were matched
	}
	return t.Parts(ctx, spans[0].Head.Place, from, to, &want, cost,
		func(at int64, part blobs.StoredPart) {
			byRows[at].Parts = append(byRows[at].Parts, part)
		}, func(at int64, err error) { byRows[at].Damage = append(byRows[at].Damage, err) })
}
