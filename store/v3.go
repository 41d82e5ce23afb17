package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	gocql "github.com/apache/cassandra-gocql-driver/v2"
	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"github.com/ringwatch/ringwatch/memory"
	"github.com/ringwatch/ringwatch/window"
)

// v3 keeps a window as columns: a row per metric that has something to say, and a meta row. See window/COLUMNS.md for the blobs and bucket.go for which
// partition a window is in.
type v3 struct{ *Store }

// batchBytes bounds the batches that columns are written in; a longer column goes alone.
const batchBytes = 40 << 10

// batchesInFlight is how many batches of one window are written at once. All go to one partition's replicas, so more would only queue there.
const batchesInFlight = 4

// Write writes dictionaries, then columns, then meta: who sees meta finds the rest.
func (g v3) Write(ctx context.Context, w *window.Window, rep window.Report, stamp int64) error {
	enc := w.Columns(rep)
	if err := g.writeDictionaries(ctx, w, enc.Dictionaries); err != nil {
		return err
	}
	session, err := g.cql()
	if err != nil {
		return err
	}
	size := sizeOf(&enc)
	bucket, err := g.bucketFor(ctx, w, size)
	if err != nil {
		return fmt.Errorf("store: find the bucket of window %d: %w", w.Start, err)
	}
	account, node := w.Node.Account, gocql.UUID(w.Node.ID)
	insert := "INSERT INTO " + g.table(rawTable) + " (account, node, bucket, entity_type, metric, window, blob) VALUES (?, ?, ?, ?, ?, ?, ?) USING TTL ?"
	ttl := timeLeft(w.Start+windowMillis, stamp, g.config.RawTTL)
	eg, gctx := errgroup.WithContext(ctx)
	eg.SetLimit(batchesInFlight)
	write := func(columns []window.EncodedColumn) {
		eg.Go(func() error {
			batch := session.Batch(gocql.UnloggedBatch).WithTimestamp(stamp)
			for _, c := range columns {
				batch.Query(insert, account, node, bucket, c.Key, c.Metric, w.Start, c.Blob, ttl)
			}
			return g.run(gctx, rawTable, batch.ExecContext)
		})
	}
	slices.SortFunc(enc.Columns, func(a, b window.EncodedColumn) int {
		return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.Metric, b.Metric))
	})
	bytes, from := 0, 0
	for i, c := range enc.Columns {
		if i > from && bytes+len(c.Blob) > batchBytes {
			write(enc.Columns[from:i])
			bytes, from = 0, i
		}
		bytes += len(c.Blob)
		g.metrics.ColumnBytes.Add(float64(len(c.Blob)))
	}
	if from < len(enc.Columns) {
		write(enc.Columns[from:])
	}
	if err := eg.Wait(); err != nil {
		return fmt.Errorf("store: write columns of window %d: %w", w.Start, err)
	}
	g.metrics.Columns.Add(float64(len(enc.Columns)))
	err = g.exec(ctx, "INSERT INTO "+g.table(rawTable)+" (account, node, bucket, entity_type, metric, window, blob, bytes) VALUES (?, ?, ?, '', '', ?, ?, ?) USING TIMESTAMP ? AND TTL ?",
		account, node, bucket, w.Start, enc.Meta, size, stamp, ttl)
	if err != nil {
		return fmt.Errorf("store: write meta of window %d: %w", w.Start, err)
	}
	return nil
}

// v3Meta is a meta row and where it was found.
type v3Meta struct {
	bucket int64
	meta   *window.Meta // nil: it cannot be decoded
	stamp  int64
	damage []error
}

// Read reads the meta rows, finds in the dictionaries which columns can match, and reads those.
func (g v3) Read(ctx context.Context, q Query, take func(Kept)) error {
	buckets, err := g.buckets(ctx, q.Account, q.Node, q.From, q.To)
	if err != nil || len(buckets) == 0 {
		return err
	}
	metas, err := g.metas(ctx, q, buckets)
	if err != nil {
		return err
	}
	byBucket := map[int64]map[int64]*window.Meta{}
	stamps := map[int64]int64{} // by window
	for start, m := range metas {
		if m.meta == nil || q.Bare {
			take(Kept{Start: start, Stamp: m.stamp, Meta: m.meta, Damage: m.damage})
			continue
		}
		if byBucket[m.bucket] == nil {
			byBucket[m.bucket] = map[int64]*window.Meta{}
		}
		byBucket[m.bucket][start] = m.meta
		stamps[start] = m.stamp
	}
	eg, gctx := errgroup.WithContext(ctx)
	eg.SetLimit(readsInFlight)
	for bucket, metas := range byBucket {
		eg.Go(func() error {
			kept, err := g.readBucket(gctx, q, bucket, metas)
			for _, k := range kept {
				k.Stamp = stamps[k.Start]
				take(k)
			}
			return err
		})
	}
	return eg.Wait()
}

// metas returns the newest meta row of each window.
func (g v3) metas(ctx context.Context, q Query, buckets []bucket) (map[int64]v3Meta, error) {
	var mu sync.Mutex
	metas := map[int64]v3Meta{}
	eg, gctx := errgroup.WithContext(ctx)
	eg.SetLimit(readsInFlight)
	for _, start := range partitionsOf(buckets) {
		eg.Go(func() error {
			return g.each(gctx, func(scan func(...any) bool) bool {
				var at, stamp int64
				var b []byte
				if !scan(&at, &b, &stamp) {
					return false
				}
				m := v3Meta{bucket: start, stamp: stamp}
				var err error
				if m.meta, err = window.DecodeMeta(at, b); err != nil {
					m.damage = []error{fmt.Errorf("meta of window %d: %w", at, err)}
				}
				mu.Lock()
				defer mu.Unlock()
				if known, found := metas[at]; !found || known.stamp < stamp {
					metas[at] = m
				}
				return true
			}, "SELECT window, blob, WRITETIME(blob) FROM "+g.table(rawTable)+" WHERE account = ? AND node = ? AND bucket = ? AND entity_type = '' AND metric = '' AND window >= ? AND window <= ?",
				q.Account, gocql.UUID(q.Node), start, q.From, q.To)
		})
	}
	return metas, eg.Wait()
}

// readBucket reads windows of one partition.
func (g v3) readBucket(ctx context.Context, q Query, bucket int64, metas map[int64]*window.Meta) ([]Kept, error) {
	finders := map[int64]*finder{}
	queries := map[string]*columnQuery{}
	wanted := map[columnKey]bool{}
	types := map[int64][]window.MetaType{} // by window: only those that can match are opened
	for w, meta := range metas {
		day := dayOf(w)
		if finders[day] == nil {
			finders[day] = g.finder(ctx, q.Account, q.Node, day)
		}
		for i := range meta.Types {
			t := &meta.Types[i]
			d, err := finders[day].find(t.Key, t.Hash)
			if finders[day].err != nil {
				return nil, finders[day].err
			}
			if err != nil {
				types[w] = append(types[w], *t) // FromColumns will say so
				continue
			}
			matching := d.MatchMetrics(ctx, q.Matchers...)
			if len(matching) > 0 {
				types[w] = append(types[w], *t)
			}
			for _, m := range matching {
				if !t.Stored(m) {
					continue
				}
				cq := queries[t.Key]
				if cq == nil {
					cq = &columnQuery{key: t.Key, metrics: map[string]bool{}, from: w, to: w}
					queries[t.Key] = cq
				}
				key := d.MetricKey(m)
				cq.metrics[key] = true
				cq.from, cq.to = min(cq.from, w), max(cq.to, w)
				wanted[columnKey{w, t.Key, key}] = true
			}
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, err // not all were matched
	}
	columns := map[int64][]window.StoredColumn{}
	lease := memory.Of(ctx)
	var full error
	for _, cq := range queries {
		err := g.columns(ctx, q.Account, q.Node, bucket, *cq, func(metric string, w int64, b []byte) {
			if cq.metrics[metric] && metas[w] != nil && full == nil {
				full = lease.Take(columnCost * int64(len(b)))
				columns[w] = append(columns[w], window.StoredColumn{Key: cq.key, Blob: b})
				delete(wanted, columnKey{w, cq.key, metric})
			}
		})
		if err := errors.Join(err, full); err != nil {
			return nil, err
		}
	}
	missing := map[int64][]error{}
	for k := range wanted {
		missing[k.window] = append(missing[k.window], fmt.Errorf("column %s of type %s in window %d is not there", k.metric, k.key, k.window))
	}
	var kept []Kept
	for w, meta := range metas {
		f := finders[dayOf(w)]
		narrow := *meta
		narrow.Types = types[w]
		win, damage := window.FromColumns(q.Account, &narrow, f.find, columns[w])
		if f.err != nil {
			return nil, f.err
		}
		win.Node.ID = q.Node
		kept = append(kept, Kept{Start: w, Meta: meta, Window: win, Damage: append(damage, missing[w]...)})
	}
	return kept, nil
}

// columnCost is what a byte of a column comes to when it is decoded: 6 to 12 in recorded windows.
const columnCost = 16

type columnKey struct {
	window      int64
	key, metric string
}

// columnQuery is which columns of a type are read.
type columnQuery struct {
	key      string
	metrics  map[string]bool
	from, to int64 // windows
}

// metricsInQuery is up to how many metrics of a type are named in a query; beyond it all of the type are read.
const metricsInQuery = 64

// columns reads columns of one partition.
func (g v3) columns(ctx context.Context, account string, node uuid.UUID, bucket int64, q columnQuery, take func(metric string, window int64, blob []byte)) error {
	statement := "SELECT metric, window, blob FROM " + g.table(rawTable) + " WHERE account = ? AND node = ? AND bucket = ? AND entity_type = ?"
	args := []any{account, gocql.UUID(node), bucket, q.key}
	if len(q.metrics) <= metricsInQuery {
		names := make([]string, 0, len(q.metrics))
		for m := range q.metrics {
			names = append(names, m)
		}
		statement += " AND metric IN ? AND window >= ? AND window <= ?"
		args = append(args, names, q.from, q.to)
	}
	return g.each(ctx, func(scan func(...any) bool) bool {
		var metric string
		var start int64
		var b []byte
		if !scan(&metric, &start, &b) {
			return false
		}
		if start >= q.from && start <= q.to {
			take(metric, start, b)
		}
		return true
	}, statement, args...)
}
