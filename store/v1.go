package store

import (
	"context"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/ringwatch/ringwatch/store/rows"
	"github.com/ringwatch/ringwatch/store/spans"
	"github.com/ringwatch/ringwatch/window"
)

// v1 is the first layout of fleets like ours: a partition of some 500 bytes per series and window.
// Writing a node takes as many batches as it has series, and reading one takes as many queries; its
// partition index is nearly as large as its data.
type v1 struct{}

const (
	v1Samples = "v1_samples"
	v1Windows = "v1_windows"
)

// v1InFlight is how many of its small partitions are written or read at once.
const v1InFlight = 64

func newV1(s task) *sampled { return &sampled{s, v1Samples, v1Windows, v1{}} }

func (v1) batches() (int, int) { return v1InFlight, batchBytes }
func (v1) joins() bool         { return false }

func (v1) read(ctx context.Context, g *sampled, q spans.Query, start int64,
	services map[string]*window.Series, _ []string, take func(string, *sampleRow)) error {
	var mu sync.Mutex
	eg, gctx := errgroup.WithContext(ctx)
	eg.SetLimit(v1InFlight / spans.ReadsInFlight)
	for service := range services {
		eg.Go(func() error {
			var found []sampleRow
			query := rows.Query{Table: g.byName[v1Samples],
				Key:     []any{q.Account, q.Node, start, service},
				Columns: []string{"time", "value", "exact", "counts", "state"}, Page: samplesInPage}
			err := g.session.Read(gctx, g.work, query, func(scan func(...any) bool) bool {
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

// Tables returns v1's tables.
func (g *sampled) Tables(c *Config) []*rows.Table {
	samples := &rows.Table{
		Name: g.samples,
		Comment: "Ringwatch " + g.samples[:2] +
			": a row per sample in base units; exact where a double is not",
		Partition: []rows.Column{rows.TextColumn("account"), rows.IDColumn("host"),
			rows.TimeColumn("bucket_time"), rows.TextColumn("service")},
		Clustering: []rows.Column{rows.TimeColumn("time")},
		Values: []rows.Column{{Name: "value", Kind: rows.Double},
			{Name: "exact", Kind: rows.Int64}, {Name: "counts", Kind: rows.Blob},
			rows.TextColumn("state")},
		TTL: c.RawTTL, AgeUnit: time.Hour, Grace: 3 * time.Hour, Compression: rows.Fast,
	}
	if g.joins() {
		samples.Partition, samples.Clustering = samples.Partition[:3], []rows.Column{
			rows.TextColumn("service"), rows.TimeColumn("time"),
		}
	}
	return []*rows.Table{samples, {
		Name: g.windows,
		Comment: "Ringwatch " + g.windows[:2] +
			": the windows that are there, and their dictionaries; written last",
		Partition:  []rows.Column{rows.TextColumn("account"), rows.IDColumn("host")},
		Clustering: []rows.Column{rows.TimeColumn("bucket_time")},
		Values:     []rows.Column{{Name: "meta", Kind: rows.Blob}},
		TTL:        c.RawTTL, AgeUnit: time.Hour, Grace: 3 * time.Hour,
		Compression: rows.Zip(3, 16),
	}}
}
