package store

import (
	"context"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"math"
	"strconv"
	"sync"

	gocql "github.com/apache/cassandra-gocql-driver/v2"
	"golang.org/x/sync/errgroup"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/window"
)

// rows is what v1 and v2 have in common: a row per sample, in partitions of one window, and a row per window with its meta blob, written last.
//
// A sample's value is a double in base units, as Prometheus has it, so that others can read the table. What a double does not hold exactly is there
// a second time: integers beyond 2^53, or whose decimal scaling does not round-trip, as the integer. A histogram's buckets are one blob: a series is
// one row at an instant here as everywhere; a row per bucket would be 165 of them, and then no fleet could have afforded these layouts.
type rows struct {
	*Store
	samples, windows string // tables
	rowLayout
}

// rowLayout is where v1 and v2 differ.
type rowLayout interface {
	// batches returns how many batches of a window are written at once, and how many bytes at most one has.
	batches() (inFlight, bytes int)
	// joins reports whether rows of two services may be in one batch.
	joins() bool
	// read calls take for the rows of a window. services are those that are wanted, names the prefixes of them all.
	read(ctx context.Context, g *rows, q Query, start int64, services map[string]*window.Series, names []string, take func(service string, r *sampleRow)) error
}

// sampleRow is a row as it is read; what is null stays empty.
type sampleRow struct {
	at     int64
	value  *float64
	exact  *int64
	counts []byte
	state  *string
}

// maxService is how long a service's name may get: Cassandra's keys end at 65,535 bytes. What is longer is hashed.
const maxService = 60_000

// prefixOf returns what the services of one metric begin with. No other metric's begin so: "{" is in no metric's name.
func prefixOf(metricKey string) string { return metricKey + "{" }

// service returns a series' name with its entity's labels in the dictionary's order; who is asked for (cluster, node) is the partition's.
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
func (g *rows) Write(ctx context.Context, w *window.Window, rep window.Report, stamp int64) error {
	enc := w.Columns(rep)
	if err := g.writeDictionaries(ctx, w, enc.Dictionaries); err != nil {
		return err
	}
	session, err := g.cql()
	if err != nil {
		return err
	}
	insert := "INSERT INTO " + g.table(g.samples) + " (account, host, bucket_time, service, time, "
	node := gocql.UUID(w.Node.ID)
	inFlight, limit := g.batches()
	eg, gctx := errgroup.WithContext(ctx)
	eg.SetLimit(inFlight)
	var batch *gocql.Batch
	size := 0
	flush := func() {
		if b := batch; b != nil {
			eg.Go(func() error {
				err := b.ExecContext(gctx)
				g.note(err)
				return err
			})
		}
		batch, size = nil, 0
	}
	samples := 0
	w.Walk(func(d *window.Dictionary, metric, row int, s *window.Series) {
		if gctx.Err() != nil {
			return
		}
		name := service(d, prefixOf(d.MetricKey(metric)), row)
		if !g.joins() {
			flush()
		}
		for i, at := range s.At {
			if batch == nil {
				batch = session.Batch(gocql.UnloggedBatch).WithTimestamp(stamp)
			}
			columns, values := sampleColumns(s, i)
			args := append([]any{w.Node.Account, node, w.Start, name, at}, values...)
			batch.Query(insert+columns+") VALUES (?, ?, ?, ?, ?"+", ?, ?"[:3*len(values)]+")", args...)
			if size += len(name) + 64; len(values) > 0 {
				if b, is := values[0].([]byte); is {
					size += len(b)
				}
			}
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
	err = g.exec(ctx, "INSERT INTO "+g.table(g.windows)+" (account, host, bucket_time, meta) VALUES (?, ?, ?, ?) USING TIMESTAMP ?",
		w.Node.Account, node, w.Start, enc.Meta, stamp)
	if err != nil {
		return fmt.Errorf("store: write meta of window %d: %w", w.Start, err)
	}
	return nil
}

// Read reads the meta rows, then the samples of the series that the windows' dictionaries say can match.
func (g *rows) Read(ctx context.Context, q Query, take func(Kept)) error {
	metas, err := g.metas(ctx, q)
	if err != nil {
		return err
	}
	eg, gctx := errgroup.WithContext(ctx)
	eg.SetLimit(readsInFlight)
	for _, k := range metas {
		if q.Bare || k.Meta == nil {
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

func (g *rows) metas(ctx context.Context, q Query) ([]Kept, error) {
	var list []Kept
	err := g.each(ctx, func(scan func(...any) bool) bool {
		var k Kept
		var b []byte
		if !scan(&k.Start, &b) {
			return false
		}
		var err error
		if k.Meta, err = window.DecodeMeta(k.Start, b); err != nil {
			k.Damage = []error{fmt.Errorf("meta of window %d: %w", k.Start, err)}
		}
		list = append(list, k)
		return true
	}, "SELECT bucket_time, meta FROM "+g.table(g.windows)+" WHERE account = ? AND host = ? AND bucket_time >= ? AND bucket_time <= ?",
		q.Account, gocql.UUID(q.Node), q.From, q.To)
	return list, err
}

// readWindow fills in a window.
func (g *rows) readWindow(ctx context.Context, q Query, k *Kept) error {
	f := g.finder(ctx, q.Account, q.Node, dayOf(k.Start))
	services := map[string]*window.Series{}
	metrics := map[*window.Dictionary]map[int]string{} // prefixes of the metrics that can match
	var names []string
	narrow := *k.Meta
	narrow.Types = nil
	for i := range k.Meta.Types {
		t := &k.Meta.Types[i]
		d, err := f.find(t.Key, t.Hash)
		if f.err != nil {
			return f.err
		}
		if err != nil {
			narrow.Types = append(narrow.Types, *t) // FromSamples will say so
			continue
		}
		matching := d.MatchMetrics(q.Matchers...)
		if len(matching) == 0 {
			continue
		}
		narrow.Types = append(narrow.Types, *t)
		metrics[d] = map[int]string{}
		found := d.MatchRows(q.Matchers...)
		for _, m := range matching {
			prefix := prefixOf(d.MetricKey(m))
			metrics[d][m] = prefix
			names = append(names, prefix)
			for _, row := range found {
				services[service(d, prefix, int(row))] = &window.Series{Metric: &d.Metrics[m]}
			}
		}
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
	w, damage := window.FromSamples(q.Account, &narrow, f.find,
		func(d *window.Dictionary, m int) bool { return metrics[d][m] != "" },
		func(d *window.Dictionary, m, row int) *window.Series { return services[service(d, metrics[d][m], row)] })
	w.Node.ID = q.Node
	k.Window, k.Damage = w, append(k.Damage, damage...)
	return f.err
}

// scale is 10^exponent's inverse as a float, for exponents at or below 0, else 1 over it.
func scaled(v int64, exponent int) float64 {
	switch {
	case exponent == 0:
		return float64(v)
	case exponent < 0:
		return float64(v) / math.Pow10(-exponent)
	}
	return float64(v) * math.Pow10(exponent)
}

// unscaled is the way back; exact says that it is one.
func unscaled(value float64, exponent int) (v int64, exact bool) {
	f := math.Round(value * math.Pow10(-exponent))
	if exponent > 0 {
		f = math.Round(value / math.Pow10(exponent))
	}
	if !(math.Abs(f) <= 1<<53) {
		return 0, false
	}
	v = int64(f)
	return v, true
}

// sampleColumns returns the columns and values of a sample. Nothing is written as null, which Cassandra would keep as a tombstone.
func sampleColumns(s *window.Series, i int) (string, []any) {
	switch s.Metric.Kind {
	case frame.Counter, frame.Gauge:
		v := s.Ints[i]
		value := scaled(v, s.Metric.Exponent)
		if back, ok := unscaled(value, s.Metric.Exponent); ok && back == v {
			return "value", []any{value}
		}
		return "value, exact", []any{value, v}
	case frame.GaugeDouble:
		return "value", []any{s.Doubles[i]}
	case frame.String:
		return "state", []any{s.Strings[i]}
	}
	return "counts", []any{appendHistogram(nil, &s.Histograms[i])}
}

// appendTo adds the row's value to its series. Rows of a service come in ascending order of time.
func (r *sampleRow) appendTo(s *window.Series) error {
	switch s.Metric.Kind {
	case frame.Counter, frame.Gauge:
		if r.value == nil {
			return errSample
		}
		// An integer that stands there from an earlier writing counts only if it is the one meant.
		v, ok := unscaled(*r.value, s.Metric.Exponent)
		if r.exact != nil && (!ok || scaled(*r.exact, s.Metric.Exponent) == *r.value) {
			v, ok = *r.exact, true
		}
		if !ok {
			return errSample
		}
		s.Ints = append(s.Ints, v)
	case frame.GaugeDouble:
		if r.value == nil {
			return errSample
		}
		s.Doubles = append(s.Doubles, *r.value)
	case frame.String:
		if r.state == nil {
			return errSample
		}
		s.Strings = append(s.Strings, *r.state)
	default:
		h, err := decodeHistogram(r.counts, len(s.Metric.Bounds.Upper)+1)
		if err != nil {
			return err
		}
		s.Histograms = append(s.Histograms, h)
	}
	s.At = append(s.At, r.at)
	return nil
}

var errSample = fmt.Errorf("%w: a sample without a value of its kind", window.ErrMalformed)

// appendHistogram appends the sum and, for each bucket that is not empty, its distance to the one before and its count.
func appendHistogram(dst []byte, h *window.Histogram) []byte {
	dst = binary.AppendVarint(dst, h.Sum)
	last := -1
	for i, n := range h.Counts {
		if n != 0 {
			dst = binary.AppendVarint(binary.AppendUvarint(dst, uint64(i-last-1)), n)
			last = i
		}
	}
	return dst
}

func decodeHistogram(b []byte, buckets int) (window.Histogram, error) {
	h := window.Histogram{Counts: make([]int64, buckets)}
	sum, n := binary.Varint(b)
	if n <= 0 {
		return h, errSample
	}
	h.Sum, b = sum, b[n:]
	for next := uint64(0); len(b) > 0; next++ {
		gap, n := binary.Uvarint(b)
		if n <= 0 || gap >= uint64(buckets) || next+gap >= uint64(buckets) {
			return h, errSample
		}
		count, m := binary.Varint(b[n:])
		if m <= 0 {
			return h, errSample
		}
		next += gap
		h.Counts[next] = count
		b = b[n+m:]
	}
	return h, nil
}
