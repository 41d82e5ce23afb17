package store

import (
	"context"
	"sync"
	"time"

	gocql "github.com/apache/cassandra-gocql-driver/v2"
	"golang.org/x/sync/errgroup"

	"github.com/ringwatch/ringwatch/window"
)

// v1 is the first layout of fleets like ours: a partition of some 500 bytes per series and window. Writing a node takes as many batches as it has series, and reading
// one takes as many queries; its partition index is nearly as large as its data.
type v1 struct{}

const (
	v1Samples = "v1_samples"
	v1Windows = "v1_windows"
)

// v1InFlight is how many of its small partitions are written or read at once.
const v1InFlight = 64

func newV1(s *Store) *sampled { return &sampled{s, v1Samples, v1Windows, v1{}} }

func (v1) batches() (int, int) { return v1InFlight, batchBytes }
func (v1) joins() bool         { return false }

func (v1) read(ctx context.Context, g *sampled, q Query, start int64, services map[string]*window.Series, _ []string, take func(string, *sampleRow)) error {
	var mu sync.Mutex
	eg, gctx := errgroup.WithContext(ctx)
	eg.SetLimit(v1InFlight / readsInFlight)
	for service := range services {
		eg.Go(func() error {
			var found []sampleRow
			err := g.eachSample(gctx, func(scan func(...any) bool) bool {
				var r sampleRow
				if !scan(&r.at, &r.value, &r.exact, &r.counts, &r.state) {
					return false
				}
				found = append(found, r)
				return true
			}, "SELECT time, value, exact, counts, state FROM "+g.table(v1Samples)+" WHERE account = ? AND host = ? AND bucket_time = ? AND service = ?",
				q.Account, gocql.UUID(q.Node), start, service)
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
func (g *sampled) Tables(c *Config) []tableLayout {
	account, host := columnLayout{name: "account", kind: "text"}, columnLayout{name: "host", kind: "uuid"}
	bucket, service, at := columnLayout{name: "bucket_time", kind: "timestamp"}, columnLayout{name: "service", kind: "text"}, columnLayout{name: "time", kind: "timestamp"}
	samples := tableLayout{
		name:      g.samples,
		partition: []columnLayout{account, host, bucket, service},
		cluster:   []columnLayout{at},
		rest:      []columnLayout{{name: "value", kind: "double"}, {name: "exact", kind: "bigint"}, {name: "counts", kind: "blob"}, {name: "state", kind: "text"}},
		ttl:       c.RawTTL, unit: time.Hour, gcGrace: 3 * time.Hour, compression: lz4,
		comment: "Ringwatch " + g.samples[:2] + ": a row per sample in base units; exact where a double is not",
	}
	if g.joins() {
		samples.partition, samples.cluster = samples.partition[:3], []columnLayout{service, at}
	}
	return []tableLayout{samples, {
		name:      g.windows,
		partition: []columnLayout{account, host},
		cluster:   []columnLayout{bucket},
		rest:      []columnLayout{{name: "meta", kind: "blob"}},
		ttl:       c.RawTTL, unit: time.Hour, gcGrace: 3 * time.Hour, compression: zstd(3, 16),
		comment: "Ringwatch " + g.windows[:2] + ": the windows that are there, and their dictionaries; written last",
	}}
}
