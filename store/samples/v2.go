package samples

import (
	"context"
	"maps"
	"slices"

	"github.com/ringwatch/ringwatch/store/rows"
	"github.com/ringwatch/ringwatch/store/spans"
	"github.com/ringwatch/ringwatch/window"
)

// v2 is v1 with the series among the clustering columns: a partition of some MB per node and
// window, whose rows compress side by side.
type v2 struct{}

// Rows of samples are written in batches of so many bytes, so many at once: all go to one
// partition's replicas, and more would only queue there.
const (
	batchBytes      = 40 << 10
	batchesInFlight = 4
)

// servicesInQuery is up to how many series, and metrics, of a window are asked for one by one;
// beyond it the partition is read whole.
const (
	servicesInQuery = 64
	prefixesInQuery = 8
)

func (v2) batches() (int, int) { return batchesInFlight, batchBytes }
func (v2) joins() bool         { return true }

func (v2) read(ctx context.Context, g Generation, q spans.Query, start int64,
	services map[string]*window.Series, names []string, take func(string, *sampleRow)) error {
	query := rows.Query{Table: g.tables.Samples, Key: []any{q.Account, q.Node, start},
		Columns: []string{"service", "time", "value", "exact", "counts", "state"},
		Page:    samplesInPage}
	read := func() error {
		return g.task.Engine.Read(ctx, g.task.Work, query, func(scan func(...any) bool) bool {
			var service string
			var r sampleRow
			if !scan(&service, &r.at, &r.value, &r.exact, &r.counts, &r.state) {
				return false
			}
			take(service, &r)
			return true
		})
	}
	switch {
	case len(services) <= servicesInQuery:
		query.In = slices.Collect(maps.Keys(services))
	case len(names) <= prefixesInQuery:
		for _, prefix := range names { // one metric's series are neighbours
			query.From, query.To = prefix, prefix[:len(prefix)-1]+"|" // which is none's name
			if err := read(); err != nil {
				return err
			}
		}
		return nil
	}
	return read()
}
