package samples

import (
	"context"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/ringwatch/ringwatch/store/rows"
	"github.com/ringwatch/ringwatch/store/spans"
	"github.com/ringwatch/ringwatch/window"
)

// v1 is the first layout of fleets like ours: a partition of some 500 bytes per series and window.
// Writing a node takes as many batches as it has series, and reading one takes as many queries; its
// partition index is nearly as large as its data.
type v1 struct{}

// v1InFlight is how many of its small partitions are written or read at once.
const v1InFlight = 64

func (v1) batches() (int, int) { return v1InFlight, batchBytes }
func (v1) joins() bool         { return false }

func (v1) read(ctx context.Context, g Generation, q spans.Query, start int64,
	services map[string]*window.Series, _ []string, take func(string, *sampleRow)) error {
	var mu sync.Mutex
	eg, gctx := errgroup.WithContext(ctx)
	eg.SetLimit(v1InFlight / spans.ReadsInFlight)
	for service := range services {
		eg.Go(func() error {
			var found []sampleRow
			query := rows.Query{Table: g.tables.Samples,
				Key:     []any{q.Account, q.Node, start, service},
				Columns: []string{"time", "value", "exact", "counts", "state"}, Page: samplesInPage}
			err := g.task.Engine.Read(gctx, g.task.Work, query, func(scan func(...any) bool) bool {
				var r sampleRow
				if !scan(&r.at, &r.value, &r.exact, &r.counts, &r.state) {
					return false
				}
				found = append(found, r)
				return true
			})
			mu.Lock()
			defer mu.Unlock()
			for i := range found {
				take(service, &found[i])
			}
			return err
		})
	}
	return eg.Wait()
}
