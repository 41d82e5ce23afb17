package read

import (
	"context"
	"sync"

	"github.com/google/uuid"
	"github.com/prometheus/prometheus/model/labels"
	"golang.org/x/sync/errgroup"

	"github.com/ringwatch/ringwatch/query/series"
	"github.com/ringwatch/ringwatch/window"
)

// selectsUp selects the up that watched nodes send.
var selectsUp = [][]*labels.Matcher{{labels.MustNewMatcher(labels.MatchEqual, labels.MetricName,
	series.MetricUp)}}

// Unanswering returns those of the nodes that are read from outside and did not answer when that
// was last tried: their newest frame says that up is 0. Only these nodes' newest states are read,
// and kept as those that selectors ask for are. A node whose state cannot be read is not among
// them.
func (r *Reader) Unanswering(ctx context.Context, account string, nodes []window.Node,
) map[uuid.UUID]bool {
	var watched []window.Node
	for i := range nodes {
		if nodes[i].Watched() {
			watched = append(watched, nodes[i])
		}
	}
	if len(watched) == 0 {
		return nil
	}
	q := r.Ask(account, selectsUp)
	var mu sync.Mutex
	down := map[uuid.UUID]bool{}
	var g errgroup.Group
	g.SetLimit(StatesAtOnce)
	for i, known := range r.Current(ctx, q, watched) {
		g.Go(func() error {
			if known == nil {
				ctx, end := r.Shared.Scope(ctx, account)
				defer end()
				var err error
				if known, err = r.LatestSeries(ctx, q, &watched[i]); err != nil {
					return nil // what the list says of it then is when it was heard of
				}
			}
			if known.saysZero() {
				mu.Lock()
				defer mu.Unlock()
				down[watched[i].ID] = true
			}
			return nil
		})
	}
	_ = g.Wait() // no error is returned
	return down
}
