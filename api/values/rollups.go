package values

import (
	"context"

	"github.com/ringwatch/ringwatch/api/budget"
	"github.com/ringwatch/ringwatch/api/payload"
	"github.com/ringwatch/ringwatch/query/read"
	"github.com/ringwatch/ringwatch/window"
)

// RollupHeader names the level of an answer's rollups: step= chooses it where rollup= does not.
const RollupHeader = "Ringwatch-Rollup"

// writeRollups answers a question for rollups.
func (a *asking) writeRollups(entries *entries) error {
	q := a.question
	size := budget.New(a.config.Limits, "rollup",
		"ask for fewer metrics, less time or a coarser rollup")
	a.w.Header().Set(RollupHeader, q.level.Name)
	err := a.stream(size, nil, func(ctx context.Context, n *window.Node) element {
		if !q.hasSeries() {
			return entries.addTo(n, element{})
		}
		list, missing, err := a.config.Rollups.Rollups(ctx, a.who.Account, n, q.level, q.time.From,
			q.time.To, read.AllFacets(q.selectors))
		if q.time.Step > 0 {
			for i := range list {
				list[i].Widen(q.time.Step)
			}
		}
		return entries.addTo(n, element{
			size: payload.RollupsSize(list), series: len(list), missing: missing, err: err,
			append: func(b []byte, i int) []byte { return payload.AppendRollup(b, &list[i]) },
		})
	})
	if err != nil {
		a.w.Header().Del(RollupHeader)
	}
	return err
}
