package store

import (
	"context"
	"errors"
	"fmt"
	"sync"

	gocql "github.com/apache/cassandra-gocql-driver/v2"
	"github.com/google/uuid"
	"github.com/prometheus/prometheus/model/labels"
	"golang.org/x/sync/errgroup"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/window"
)

// ReadReport says what an answer was made of.
type ReadReport struct {
	Raw, Fresh int     // windows answered from each layer
	Damage     []error // blobs that could not be decoded or were not there; at most maxDamage are kept
	Damaged    int     // their number
	Lost       int     // frames in fresh that could not be read, as yet: a key frame may be late
}

// Partial reports whether something that is stored is missing in the answer.
func (r *ReadReport) Partial() bool { return r.Damaged > 0 }

const maxDamage = 10

func (r *ReadReport) damage(errs ...error) {
	r.Damaged += len(errs)
	r.Damage = append(r.Damage, errs[:min(len(errs), maxDamage-len(r.Damage))]...)
}

// readsInFlight is how many partitions one Read asks at once.
const readsInFlight = 8

// metricsInQuery is up to how many metrics of a type are named in a query; beyond it all of the type are read.
const metricsInQuery = 64

// Read returns the series of a node that match, with their values at instants from ≤ at ≤ to (milliseconds since the Unix epoch), sorted by labels, each
// instant once. Windows that are closed come from raw, others from fresh if they lie within its TTL. What cannot be decoded is left out and reported;
// the error is Cassandra's.
func (s *Store) Read(ctx context.Context, account string, node uuid.UUID, from, to int64, matchers ...*labels.Matcher) ([]window.Series, ReadReport, error) {
	var report ReadReport
	now := s.millis()
	from = max(from, now-s.config.RawTTL.Milliseconds())
	to = min(to, now+frame.WindowMillis)
	if from > to {
		return nil, report, nil
	}
	r := reader{Store: s, account: account, node: node, from: from, to: to, matchers: matchers, parts: map[int64][]window.Series{}, report: &report}
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(readsInFlight)
	var freshWindows []int64
	for _, b := range bucketsIn(frame.WindowOf(from), to) {
		g.Go(func() error { return r.bucket(gctx, b) })
	}
	if err := g.Wait(); err != nil {
		return nil, report, fmt.Errorf("store: read raw: %w", err)
	}
	horizon := now - s.config.FreshTTL.Milliseconds() - frame.WindowMillis
	for _, w := range windowsIn(max(from, horizon), to) {
		if !r.closed[w] {
			freshWindows = append(freshWindows, w)
		}
	}
	g, gctx = errgroup.WithContext(ctx)
	g.SetLimit(readsInFlight)
	for _, w := range freshWindows {
		g.Go(func() error { return r.fresh(gctx, w) })
	}
	if err := g.Wait(); err != nil {
		return nil, report, fmt.Errorf("store: read fresh: %w", err)
	}
	s.metrics.ReadWindows.WithLabelValues("raw").Add(float64(report.Raw))
	s.metrics.ReadWindows.WithLabelValues("fresh").Add(float64(report.Fresh))
	s.metrics.Damaged.Add(float64(report.Damaged))
	var parts [][]window.Series
	for _, w := range windowsIn(from, to) {
		if p := r.parts[w]; p != nil {
			parts = append(parts, p)
		}
	}
	return window.Join(parts...), report, nil
}

// reader is one Read.
type reader struct {
	*Store
	account  string
	node     uuid.UUID
	from, to int64
	matchers []*labels.Matcher

	mu     sync.Mutex
	closed map[int64]bool            // windows that have a meta row
	parts  map[int64][]window.Series // by window
	report *ReadReport
}

func (r *reader) take(start int64, part []window.Series, fresh bool, lost int, damage []error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if fresh {
		r.report.Fresh++
	} else {
		r.report.Raw++
	}
	r.report.Lost += lost
	r.report.damage(damage...)
	r.parts[start] = part
}

// bucket reads one partition of raw.
func (r *reader) bucket(ctx context.Context, bucket int64) error {
	var damage []error
	metas, err := r.metas(ctx, r.account, r.node, bucket, frame.WindowOf(r.from), r.to, &damage)
	if err != nil {
		return err
	}
	r.mu.Lock()
	if r.closed == nil {
		r.closed = map[int64]bool{}
	}
	for w, meta := range metas {
		r.closed[w] = meta != nil // one that cannot be decoded may still be in fresh
	}
	r.report.damage(damage...)
	r.mu.Unlock()
	if len(metas) == 0 {
		return nil
	}
	// Which columns of which windows?
	finders := map[int64]*finder{}
	queries := map[string]*columnQuery{}
	wanted := map[columnKey]bool{}
	types := map[int64][]window.MetaType{} // by window: only those that can match are opened
	for w, meta := range metas {
		if meta == nil {
			continue
		}
		day := dayOf(w)
		if finders[day] == nil {
			finders[day] = r.finder(ctx, r.account, r.node, day)
		}
		for i := range meta.Types {
			t := &meta.Types[i]
			d, err := finders[day].find(t.Key, t.Hash)
			if finders[day].err != nil {
				return finders[day].err
			}
			if err != nil {
				types[w] = append(types[w], *t) // FromColumns will say so
				continue
			}
			matching := d.MatchMetrics(r.matchers...)
			if len(matching) > 0 {
				types[w] = append(types[w], *t)
			}
			for _, m := range matching {
				if !t.Stored(m) {
					continue
				}
				q := queries[t.Key]
				if q == nil {
					q = &columnQuery{key: t.Key, metrics: map[string]bool{}, from: w, to: w}
					queries[t.Key] = q
				}
				key := d.MetricKey(m)
				q.metrics[key] = true
				q.from, q.to = min(q.from, w), max(q.to, w)
				wanted[columnKey{w, t.Key, key}] = true
			}
		}
	}
	columns := map[int64][]window.StoredColumn{}
	for _, q := range queries {
		err := r.columns(ctx, r.account, r.node, bucket, *q, func(metric string, w int64, b []byte) {
			if q.metrics[metric] && metas[w] != nil {
				columns[w] = append(columns[w], window.StoredColumn{Key: q.key, Blob: b})
				delete(wanted, columnKey{w, q.key, metric})
			}
		})
		if err != nil {
			return err
		}
	}
	missing := map[int64][]error{}
	for k := range wanted {
		missing[k.window] = append(missing[k.window], fmt.Errorf("column %s of type %s in window %d is not there", k.metric, k.key, k.window))
	}
	for w, meta := range metas {
		if meta == nil {
			continue
		}
		f := finders[dayOf(w)]
		narrow := *meta
		narrow.Types = types[w]
		win, damage := window.FromColumns(r.account, &narrow, f.find, columns[w])
		if f.err != nil {
			return f.err
		}
		r.take(w, win.Select(r.from, r.to, r.matchers...), false, 0, append(damage, missing[w]...))
	}
	return nil
}

type columnKey struct {
	window      int64
	key, metric string
}

// fresh answers a window from its frames.
func (r *reader) fresh(ctx context.Context, start int64) error {
	frames, err := r.freshFrames(ctx, r.account, r.node, start)
	if err != nil || len(frames) == 0 {
		return err
	}
	w, rep, err := window.Build(window.Node{Account: r.account, ID: r.node}, frames)
	if err != nil {
		r.take(start, nil, true, rep.Corrupt, []error{err})
		return nil
	}
	r.take(start, w.Select(r.from, r.to, r.matchers...), true, rep.Corrupt+rep.MissingKey+rep.Excess, nil)
	return nil
}

// metas returns the meta rows of a partition's windows from … to. One that cannot be decoded is nil and reported in damage.
func (s *Store) metas(ctx context.Context, account string, node uuid.UUID, bucket, from, to int64, damage *[]error) (map[int64]*window.Meta, error) {
	metas := map[int64]*window.Meta{}
	err := s.each(ctx, func(scan func(...any) bool) bool {
		var start int64
		var b []byte
		if !scan(&start, &b) {
			return false
		}
		meta, err := window.DecodeMeta(start, b)
		if err != nil {
			*damage = append(*damage, fmt.Errorf("meta of window %d: %w", start, err))
		}
		metas[start] = meta
		return true
	}, "SELECT window, blob FROM "+s.table(rawTable)+" WHERE account = ? AND node = ? AND bucket = ? AND entity_type = '' AND metric = '' AND window >= ? AND window <= ?",
		account, gocql.UUID(node), bucket, from, to)
	return metas, err
}

// columnQuery is which columns of a type are read.
type columnQuery struct {
	key      string
	metrics  map[string]bool // nil: all
	from, to int64           // windows
}

// columns reads columns of one partition.
func (s *Store) columns(ctx context.Context, account string, node uuid.UUID, bucket int64, q columnQuery, take func(metric string, window int64, blob []byte)) error {
	statement := "SELECT metric, window, blob FROM " + s.table(rawTable) + " WHERE account = ? AND node = ? AND bucket = ? AND entity_type = ?"
	args := []any{account, gocql.UUID(node), bucket, q.key}
	if q.metrics != nil && len(q.metrics) <= metricsInQuery {
		names := make([]string, 0, len(q.metrics))
		for m := range q.metrics {
			names = append(names, m)
		}
		statement += " AND metric IN ? AND window >= ? AND window <= ?"
		args = append(args, names, q.from, q.to)
	}
	return s.each(ctx, func(scan func(...any) bool) bool {
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

// finder finds the dictionaries of a node's day. What it is told by Cassandra, other than that there is no such dictionary, stays in err.
type finder struct {
	find window.Dictionaries
	err  error
}

func (s *Store) finder(ctx context.Context, account string, node uuid.UUID, day int64) *finder {
	f := &finder{}
	f.find = func(key string, hash window.Hash) (*window.Dictionary, error) {
		k := dictionaryKey{account, node, hash}
		if d, found := s.dictionaries.get(k); found {
			return d, nil
		}
		var b []byte
		err := s.each(ctx, func(scan func(...any) bool) bool { return scan(&b) },
			"SELECT blob FROM "+s.table(seriesTable)+" WHERE account = ? AND node = ? AND day = ? AND entity_type = ? AND hash = ?",
			account, gocql.UUID(node), day, key, hash[:])
		if err != nil {
			f.err = errors.Join(f.err, err)
			return nil, err
		}
		if b == nil {
			return nil, fmt.Errorf("%w: %s of type %s", window.ErrDictionary, hash, key)
		}
		if window.HashOf(b) != hash {
			return nil, fmt.Errorf("%w: dictionary %s has other content", window.ErrMalformed, hash)
		}
		d, err := window.DecodeDictionary(b)
		if err == nil {
			s.dictionaries.put(k, d, 10+len(d.Metrics)+len(d.Rows)*(1+len(d.Labels)))
		}
		return d, err
	}
	return f
}
