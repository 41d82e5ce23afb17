package store

import (
	"context"
	"fmt"
	"hash/fnv"
	"strconv"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/ringwatch/ringwatch/store/calendar"
	"github.com/ringwatch/ringwatch/store/rows"
	"github.com/ringwatch/ringwatch/store/spans"
	"github.com/ringwatch/ringwatch/window"
	"github.com/ringwatch/ringwatch/window/blobs"
	"github.com/ringwatch/ringwatch/window/selecting"
)

// sampled is what v1 and v2 have in common: a row per sample, in partitions of one window, and a
// row per window with its meta blob, written last.
//
// A sample's value is a double in base units, as Prometheus has it, so that others can read the
// table. What a double does not hold exactly is there a second time: integers beyond 2^53, or whose
// decimal scaling does not round-trip, as the integer. A histogram's buckets are one blob: a series
// is one row at an instant here as everywhere; a row per bucket would be 165 of them, and then no
// fleet could have afforded these layouts.
type sampled struct {
	task
	samples, windows string // tables
	rowLayout
}

// rowLayout is where v1 and v2 differ.
type rowLayout interface {
	// batches returns how many batches of a window are written at once, and how many bytes at most
	// one has.
	batches() (inFlight, bytes int)
	// joins reports whether rows of two services may be in one batch.
	joins() bool
	// read calls take for the rows of a window. services are those that are wanted, names the
	// prefixes of them all.
	read(ctx context.Context, g *sampled, q spans.Query, start int64, services map[string]*window.Series,
		names []string, take func(service string, r *sampleRow)) error
}

// maxService is how long a service's name may get: Cassandra's keys end at 65,535 bytes. What is
// longer is hashed.
const maxService = 60_000

// prefixOf returns what the services of one metric begin with. No other metric's begin so: "{" is
// in no metric's name.
func prefixOf(metricKey string) string { return metricKey + "{" }

// service returns a series' name with its entity's labels in the dictionary's order; who is asked
// for (cluster, node) is the partition's.
func service(d *window.Dictionary, prefix string, row int) string {
	b := []byte(prefix)
	for i, name := range d.Labels {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(b, name...), '=')
		b = strconv.AppendQuote(b, d.Rows[row][i])
	}
	if b = append(b, '}'); len(b) <= maxService {
		return string(b)
	}
	h := fnv.New128a()
	h.Write(b)
	return fmt.Sprintf("%s#%x}", prefix, h.Sum(nil))
}

// Write writes dictionaries, then a row per sample, then meta.
func (g *sampled) Write(ctx context.Context, w *window.Window, rep window.Report,
	stamp int64) error {
	enc := blobs.Encode(w, rep)
	if err := g.series.Write(ctx, g.work, w.Node, w.Start, enc.Dictionaries); err != nil {
		return err
	}
	ttl := calendar.TimeLeft(w.Start+calendar.WindowMillis, stamp, g.config.RawTTL)
	table := g.byName[g.samples]
	inFlight, limit := g.batches()
	eg, gctx := errgroup.WithContext(ctx)
	eg.SetLimit(inFlight)
	var list []rows.Row
	size := 0
	flush := func() {
		if some := list; len(some) > 0 {
			eg.Go(func() error { return g.session.Put(gctx, g.work, table, some...) })
		}
		list, size = nil, 0
	}
	samples := 0
	selecting.Walk(w, func(d *window.Dictionary, metric, row int, s *window.Series) {
		if gctx.Err() != nil {
			return
		}
		name := service(d, prefixOf(d.MetricKey(metric)), row)
		if !g.joins() {
			flush()
		}
		for i, at := range s.At {
			values := sampleValues(s, i)
			list = append(list, rows.Row{Key: []any{w.Node.Account, w.Node.ID, w.Start, name, at},
				Values: values, Stamp: stamp, TTL: ttl})
			counts, _ := values[2].([]byte)
			size += len(name) + 64 + len(counts)
			if size >= limit {
				flush()
			}
		}
		samples += len(s.At)
	})
	flush()
	if err := eg.Wait(); err != nil {
		return fmt.Errorf("store: write samples of window %d: %w", w.Start, err)
	}
	g.metrics.Samples.Add(float64(samples))
	head := rows.Row{Key: []any{w.Node.Account, w.Node.ID, w.Start}, Values: []any{enc.Head},
		Stamp: stamp, TTL: ttl}
	err := g.session.Put(ctx, g.work, g.byName[g.windows], head)
	if err != nil {
		return fmt.Errorf("store: write meta of window %d: %w", w.Start, err)
	}
	return nil
}

// Read reads the head rows, then the samples of the series that the windows' dictionaries say can
// match.
func (g *sampled) Read(ctx context.Context, q spans.Query, take func(spans.Span)) error {
	metas, err := g.metas(ctx, q)
	if err != nil {
		return err
	}
	eg, gctx := errgroup.WithContext(ctx)
	eg.SetLimit(spans.ReadsInFlight)
	for _, k := range metas {
		if q.HeadsOnly || k.Head == nil {
			take(k)
			continue
		}
		eg.Go(func() error {
			err := g.readWindow(gctx, q, &k)
			if err == nil {
				take(k)
			}
			return err
		})
	}
	return eg.Wait()
}

// samplesInPage is how many rows come at once: they are some 100 bytes each.
const samplesInPage = 5000

func (g *sampled) metas(ctx context.Context, q spans.Query) ([]spans.Span, error) {
	var list []spans.Span
	query := rows.Query{Table: g.byName[g.windows], Key: []any{q.Account, q.Node}, From: q.From,
		To: q.To, Columns: []string{"bucket_time", "meta"}}
	err := g.session.Read(ctx, g.work, query, func(scan func(...any) bool) bool {
		k := spans.Span{Length: calendar.WindowMillis}
		var b []byte
		if !scan(&k.Start, &b) {
			return false
		}
		var err error
		if k.Head, err = blobs.DecodeHead(k.Start, b); err != nil {
			k.Damage = []error{fmt.Errorf("head of window %d: %w", k.Start, err)}
		}
		list = append(list, k)
		return true
	})
	return list, err
}

// readWindow fills in a window.
func (g *sampled) readWindow(ctx context.Context, q spans.Query, k *spans.Span) error {
	f := g.series.Finder(ctx, g.work, q.Account, q.Node, calendar.Day(k.Start))
	services := map[string]*window.Series{}
	metrics := map[*window.Dictionary]map[int][]*window.Series{} // by metric that can match and row
	var names []string
	for i := range k.Head.Types {
		t := &k.Head.Types[i]
		d, err := f.Find(t.Key, t.Hash)
		if f.Err != nil {
			return f.Err
		}
		if err != nil {
			continue // FromSamples will say so
		}
		matching := d.MatchMetrics(ctx, q.Matchers...)
		if len(matching) == 0 {
			continue
		}
		metrics[d] = map[int][]*window.Series{}
		found := d.MatchRows(ctx, q.Matchers...)
		for _, m := range matching {
			prefix := prefixOf(d.MetricKey(m))
			names = append(names, prefix)
			rows := make([]*window.Series, len(d.Rows))
			for _, row := range found {
				rows[row] = &window.Series{Metric: &d.Metrics[m]}
				services[service(d, prefix, int(row))] = rows[row]
			}
			metrics[d][m] = rows
		}
	}
	if err := ctx.Err(); err != nil {
		return err // not all were matched
	}
	if len(services) > 0 {
		var mu sync.Mutex
		err := g.read(ctx, g, q, k.Start, services, names, func(service string, r *sampleRow) {
			if s := services[service]; s != nil {
				mu.Lock()
				defer mu.Unlock()
				if err := r.appendTo(s); err != nil {
					k.Damage = append(k.Damage, fmt.Errorf("%s at %d: %w", service, r.at, err))
				}
			}
		})
		if err != nil {
			return err
		}
	}
	w, damage := blobs.FromSamples(q.Account, k.Head, f.Find,
		func(d *window.Dictionary, m int) bool { return metrics[d][m] != nil },
		func(d *window.Dictionary, m, row int) *window.Series { return metrics[d][m][row] })
	w.Node.ID = q.Node
	k.Window, k.Damage = w, append(k.Damage, damage...)
	return f.Err
}
