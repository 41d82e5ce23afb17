package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	gocql "github.com/apache/cassandra-gocql-driver/v2"
	"github.com/google/uuid"
	"github.com/prometheus/prometheus/model/labels"
	"golang.org/x/sync/errgroup"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/memory"
	"github.com/ringwatch/ringwatch/rollup"
	"github.com/ringwatch/ringwatch/window"
)

// Frames are expected up to 15 minutes late, and a window is closed again a grace later.
const settleMillis = 20 * 60_000

// For two days a coarser rollup that is not there may be computed yet, so its finer ones are asked.
const pendingMillis = 2 * dayMillis

// ReadRollup returns the rollups of a node's series that match, for periods that hold instants from ≤ at ≤ to (milliseconds since the Unix epoch), sorted by labels. Periods
// that are not over, or so lately that late frames may come, or that have some, are computed from the finer level, five minutes that are not closed from their frames: so
// the answer has what Read's has. What cannot be decoded is left out and reported; the error is Cassandra's.
func (s *Store) ReadRollup(ctx context.Context, account string, node uuid.UUID, level rollup.Level, from, to int64, matchers ...*labels.Matcher) ([]rollup.Series, ReadReport, error) {
	ctx = dashboard(ctx, account)
	var report ReadReport
	now := s.millis()
	ttl := s.config.rollupTable(level).ttl.Milliseconds()
	from = level.Start(max(from, now-ttl))
	to = min(to, now+frame.WindowMillis)
	if from > to {
		return nil, report, nil
	}
	r := rollupReader{Store: s, account: account, node: node, now: now, matchers: matchers, report: &report}
	var err error
	if r.late, err = s.lateMarks(ctx, account, node, from-level.Millis, level.Start(to)+level.Millis); err != nil {
		return nil, report, err
	}
	// The period before, too: increases are from the last sample in it.
	found, err := r.level(ctx, level, from-level.Millis, level.Start(to))
	if err != nil {
		return nil, report, fmt.Errorf("store: read rollups: %w", err)
	}
	s.metrics.Damaged.Add(float64(report.Damaged))
	list := make([]*rollup.Rollup, 0, len(found))
	for _, x := range found {
		list = append(list, x)
	}
	selected, err := rollup.SelectContext(ctx, list, from, to, matchers...)
	if err != nil {
		return nil, report, fmt.Errorf("store: read rollups: %w", err)
	}
	return selected, report, nil
}

// rollupReader is one ReadRollup.
type rollupReader struct {
	*Store
	account  string
	node     uuid.UUID
	now      int64
	matchers []*labels.Matcher
	late     map[int64]int64 // windows with late frames, and when they were marked, ms
	report   *ReadReport
}

// level returns the rollups of the periods that begin at from ≤ start ≤ to.
func (r *rollupReader) level(ctx context.Context, level rollup.Level, from, to int64) (map[int64]*rollup.Rollup, error) {
	found, damage, err := r.rollups(ctx, r.account, r.node, level, from, to, r.matchers)
	if err != nil {
		return nil, err
	}
	r.report.damage(damage...)
	r.report.Raw += len(found)
	finer, coarse := level.Finer()
	if !coarse {
		return found, r.open(ctx, found, from, to)
	}
	// One reading of the finer level for neighbours that need it: mostly the newest periods.
	type run struct{ first, last int64 }
	var runs []run
	for start := from; start <= to; start += level.Millis {
		if !r.pending(level, start, found) {
			continue
		}
		if n := len(runs); n > 0 && runs[n-1].last == start-level.Millis {
			runs[n-1].last = start
		} else {
			runs = append(runs, run{start, start})
		}
	}
	for _, n := range runs {
		parts, err := r.level(ctx, finer, n.first, n.last+level.Millis-finer.Millis)
		if err != nil {
			return nil, err
		}
		for start := n.first; start <= n.last; start += level.Millis {
			var of []*rollup.Rollup
			for at := start; at < start+level.Millis; at += finer.Millis {
				if p := parts[at]; p != nil {
					of = append(of, p)
				}
			}
			if len(of) > 0 {
				found[start] = rollup.Merge(level, start, of)
			}
		}
	}
	return found, nil
}

// pending reports whether a period's stored rollup may not be what its finer ones give.
func (r *rollupReader) pending(level rollup.Level, start int64, found map[int64]*rollup.Rollup) bool {
	if start+level.Millis > r.now-settleMillis || found[start] == nil && start >= level.Start(r.now-pendingMillis) {
		return true
	}
	for w := range r.late {
		if w >= start && w < start+level.Millis {
			return true
		}
	}
	return false
}

// open adds windows that are not closed, from their frames, and puts those with late frames in the place of what is stored of them.
func (r *rollupReader) open(ctx context.Context, found map[int64]*rollup.Rollup, from, to int64) error {
	horizon := frame.WindowOf(r.now - r.config.FreshTTL.Milliseconds() - frame.WindowMillis)
	var missing []int64
	for start := max(from, horizon); start <= to; start += frame.WindowMillis {
		if _, late := r.late[start]; found[start] == nil && !late {
			missing = append(missing, start)
		}
	}
	missing, err := r.havingFrames(ctx, r.account, r.node, missing)
	if err != nil {
		return err
	}
	for start := range r.late {
		if start >= from && start <= to {
			missing = append(missing, start)
		}
	}
	var mu sync.Mutex
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(readsInFlight)
	for _, start := range missing {
		g.Go(func() error {
			frames, err := r.freshFrames(gctx, r.account, r.node, start)
			if err != nil || len(frames) == 0 {
				return err
			}
			lease := memory.Of(gctx)
			w, rep, err := window.BuildWithin(lease, window.Node{Account: r.account, ID: r.node}, frames)
			if errors.Is(err, frame.ErrMemory) {
				return err
			}
			var damage []error
			if err != nil {
				damage = []error{err}
			} else if _, late := r.late[start]; late {
				if w, damage, err = r.closedWith(gctx, w); err != nil {
					return err
				}
			}
			mu.Lock()
			defer mu.Unlock()
			r.report.Fresh++
			r.report.Lost += rep.Lost()
			r.report.damage(damage...)
			// What is stored may be made of more, where its columns have expired or cannot be read.
			if stored := found[start]; w != nil && len(w.Times) > 0 && (stored == nil || len(w.Times) >= stored.Instants) {
				of, err := rollup.FromWindowWithin(lease, w)
				if err != nil {
					return err
				}
				found[start] = of
			}
			return nil
		})
	}
	return g.Wait()
}

// closedWith returns what a window that is made of frames and its columns, if it is closed, say together.
func (r *rollupReader) closedWith(ctx context.Context, w *window.Window) (*window.Window, []error, error) {
	gen, err := r.generationAt(ctx, w.Start)
	if err != nil {
		return nil, nil, err
	}
	k, err := readOne(ctx, gen, Query{Account: r.account, Node: r.node, From: w.Start, To: w.Start, Matchers: r.matchers}, false)
	if err != nil || k.Window == nil {
		return w, k.Damage, err
	}
	w, from := k.with(w)
	if from == fromFrames {
		return w, nil, nil
	}
	return w, k.Damage, nil
}

// rollupMetas returns the meta rows of periods that begin at from ≤ start ≤ to. One that cannot be decoded is nil and in damage.
func (s *Store) rollupMetas(ctx context.Context, account string, node uuid.UUID, level rollup.Level, from, to int64) (metas map[int64]*rollup.Meta, damage []error, err error) {
	t := s.config.rollupTable(level)
	metas = map[int64]*rollup.Meta{}
	for bucket := t.bucketOf(from); bucket <= to; bucket += t.bucket {
		err := s.each(ctx, func(scan func(...any) bool) bool {
			var start int64
			var b []byte
			if !scan(&start, &b) {
				return false
			}
			meta, err := rollup.DecodeMeta(level, start, b)
			if err != nil {
				damage = append(damage, fmt.Errorf("meta of %s from %d: %w", level.Name, start, err))
			}
			metas[start] = meta
			return true
		}, "SELECT start, blob FROM "+s.table(t.name)+" WHERE account = ? AND node = ? AND bucket = ? AND entity_type = '' AND metric = '' AND start >= ? AND start <= ?",
			account, gocql.UUID(node), bucket, from, to)
		if err != nil {
			return nil, nil, err
		}
	}
	return metas, damage, nil
}

// rollups returns what is stored of a level's periods that begin at from ≤ start ≤ to, with the metrics that can match. What is not there or cannot be decoded is in damage.
func (s *Store) rollups(ctx context.Context, account string, node uuid.UUID, level rollup.Level, from, to int64, matchers []*labels.Matcher) (map[int64]*rollup.Rollup, []error, error) {
	t := s.config.rollupTable(level)
	found := map[int64]*rollup.Rollup{}
	var damage []error
	var mu sync.Mutex
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(readsInFlight)
	for bucket := t.bucketOf(from); bucket <= to; bucket += t.bucket {
		g.Go(func() error {
			b := rollupBucket{Store: s, rollupTable: t, account: account, node: node, start: bucket, matchers: matchers}
			list, bad, err := b.read(gctx, max(from, bucket), min(to, bucket+t.bucket-1))
			mu.Lock()
			defer mu.Unlock()
			for _, r := range list {
				found[r.Start] = r
			}
			damage = append(damage, bad...)
			return err
		})
	}
	err := g.Wait()
	return found, damage, err
}

// rollupCost is what a byte of a rollup's column comes to when it is decoded.
const rollupCost = 32

// rollupBucket is one partition that is read.
type rollupBucket struct {
	*Store
	rollupTable
	account  string
	node     uuid.UUID
	start    int64
	matchers []*labels.Matcher
}

func (b *rollupBucket) read(ctx context.Context, from, to int64) (list []*rollup.Rollup, damage []error, err error) {
	metas, damage, err := b.rollupMetas(ctx, b.account, b.node, b.Level, from, to)
	if err != nil {
		return nil, nil, err
	}
	f := b.finder(ctx)
	metrics := map[string]map[string]bool{} // by type
	wanted := map[columnKey]bool{}
	narrow := map[int64]*rollup.Meta{}
	for start, meta := range metas {
		if meta == nil {
			continue
		}
		n := *meta
		n.Types = nil
		for i := range meta.Types {
			mt := &meta.Types[i]
			d, err := f.find(mt.Key, mt.Hash)
			if f.err != nil {
				return nil, nil, f.err
			}
			if err != nil {
				n.Types = append(n.Types, *mt) // FromColumns will say so
				continue
			}
			matching := d.MatchMetrics(ctx, b.matchers...)
			if len(matching) > 0 {
				n.Types = append(n.Types, *mt)
			}
			for _, m := range matching {
				if !mt.Stored(m) {
					continue
				}
				if metrics[mt.Key] == nil {
					metrics[mt.Key] = map[string]bool{}
				}
				key := d.MetricKey(m)
				metrics[mt.Key][key] = true
				wanted[columnKey{start, mt.Key, key}] = true
			}
		}
		narrow[start] = &n
	}
	if err := ctx.Err(); err != nil {
		return nil, nil, err // not all were matched
	}
	columns := map[int64][]window.StoredColumn{}
	lease := memory.Of(ctx)
	var full error
	for key, names := range metrics {
		sorted := make([]string, 0, len(names))
		for m := range names {
			sorted = append(sorted, m)
		}
		slices.Sort(sorted)
		// Always by name: a level's partition holds many periods of each metric.
		for some := range slices.Chunk(sorted, metricsInQuery) {
			err := b.each(ctx, func(scan func(...any) bool) bool {
				var metric string
				var start int64
				var blob []byte
				if !scan(&metric, &start, &blob) {
					return false
				}
				if k := (columnKey{start, key, metric}); wanted[k] {
					if full = lease.Take(rollupCost * int64(len(blob))); full != nil {
						return false
					}
					columns[start] = append(columns[start], window.StoredColumn{Key: key, Blob: blob})
					delete(wanted, k)
				}
				return true
			}, "SELECT metric, start, blob FROM "+b.table(b.name)+" WHERE account = ? AND node = ? AND bucket = ? AND entity_type = ? AND metric IN ? AND start >= ? AND start <= ?",
				b.account, gocql.UUID(b.node), b.start, key, some, from, to)
			if err := errors.Join(err, full); err != nil {
				return nil, nil, err
			}
		}
	}
	for k := range wanted {
		damage = append(damage, fmt.Errorf("column %s of type %s in %s from %d is not there", k.metric, k.key, b.Name, k.window))
	}
	for start, meta := range narrow {
		r, bad := rollup.FromColumns(meta, f.find, columns[start])
		if f.err != nil {
			return nil, nil, f.err
		}
		damage = append(damage, bad...)
		list = append(list, r)
	}
	return list, damage, nil
}

// finder finds the partition's dictionaries, as Store.finder does those of raw.
func (b *rollupBucket) finder(ctx context.Context) *finder {
	f := &finder{}
	f.find = func(key string, hash window.Hash) (*window.Dictionary, error) {
		k := dictionaryKey{b.account, b.node, hash}
		if d, found := b.dictionaries.get(k); found {
			return d, nil
		}
		var blob []byte
		err := b.each(ctx, func(scan func(...any) bool) bool { return scan(&blob) },
			"SELECT blob FROM "+b.table(b.name)+" WHERE account = ? AND node = ? AND bucket = ? AND entity_type = '' AND metric = ? AND start = ?",
			b.account, gocql.UUID(b.node), b.start, hash.String(), b.start)
		if err != nil {
			f.err = errors.Join(f.err, err)
			return nil, err
		}
		d, err := decodeDictionary(key, hash, blob)
		if err == nil {
			b.dictionaries.put(k, d, 10+len(d.Metrics)+len(d.Rows)*(1+len(d.Labels)))
		}
		return d, err
	}
	return f
}

// decodeDictionary reads a dictionary's blob, nil if there is none.
func decodeDictionary(key string, hash window.Hash, blob []byte) (*window.Dictionary, error) {
	if blob == nil {
		return nil, fmt.Errorf("%w: %s of type %s", window.ErrDictionary, hash, key)
	}
	if window.HashOf(blob) != hash {
		return nil, fmt.Errorf("%w: dictionary %s has other content", window.ErrMalformed, hash)
	}
	return window.DecodeDictionary(blob)
}
