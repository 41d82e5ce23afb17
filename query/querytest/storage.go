// Package querytest runs Prometheus's own tests of PromQL on Ringwatch's storage path: what a test
// appends becomes frames, and what it selects is read as users' queries are.
package querytest

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/util/annotations"
	"github.com/prometheus/prometheus/util/teststorage"

	"github.com/ringwatch/ringwatch/frame"
)

// Frames are frames by node, in order of time.
type Frames map[uuid.UUID][][]byte

// Sink takes frames and returns what they are read by.
type Sink func(Frames) (storage.Queryable, error)

// Storage is a storage.Storage for promqltest. Each series is a node of its own, so that a gap in
// one is no news of another. Values that frames do not have (exponential histograms, NaN, parts
// of observations) are kept aside in Prometheus's own storage, and aside is told whose they are.
type Storage struct {
	sink    Sink
	shift   int64 // is added to a test's times, which begin in 1970
	cluster string
	aside   func(series, reason string)

	mu      sync.Mutex
	series  map[string]*given
	changed bool
	read    storage.Queryable
	other   storage.Storage // of what is kept aside; nil until something is
	open    func() storage.Storage
}

// given is a series as a test has appended it.
type given struct {
	labels  labels.Labels
	samples []sample
	node    uuid.UUID
	kept    int    // samples that are aside
	reason  string // why frames do not have it; empty: they do
}

type sample struct {
	t, st int64
	v     float64
	h     *histogram.FloatHistogram
}

// New returns an empty storage, whose nodes are in the cluster. shift, in ms, is added to all
// times and must be a window's begin. aside is told of series that frames cannot hold.
func New(
	t testing.TB, shift int64, cluster string, sink Sink, aside func(series, reason string),
) *Storage {
	return &Storage{sink: sink, shift: shift, cluster: cluster, aside: aside,
		series: map[string]*given{}, open: func() storage.Storage {
			return teststorage.New(t, func(o *tsdb.Options) {
				o.EnableSTStorage, o.FloatChunkEncoding = true, chunkenc.EncXOR2
				o.EnableHistogramSTEncoding = true
			})
		}}
}

// AppenderV2 implements storage.AppendableV2.
func (s *Storage) AppenderV2(context.Context) storage.AppenderV2 { return appender{s} }

// Appender implements storage.Appendable; promqltest does not use it.
func (s *Storage) Appender(context.Context) storage.Appender { panic("querytest: not used") }

// ChunkQuerier implements storage.ChunkQueryable; promqltest does not use it.
func (s *Storage) ChunkQuerier(int64, int64) (storage.ChunkQuerier, error) {
	panic("querytest: not used")
}

// StartTime implements storage.Storage.
func (s *Storage) StartTime() (int64, error) { return 0, nil }

// Close implements storage.Storage.
func (s *Storage) Close() error {
	if s.other == nil {
		return nil
	}
	return s.other.Close()
}

type appender struct{ *Storage }

// Append implements storage.AppenderV2.
func (a appender) Append(
	_ storage.SeriesRef, l labels.Labels, st, t int64, v float64, h *histogram.Histogram,
	fh *histogram.FloatHistogram, _ storage.AppendV2Options,
) (storage.SeriesRef, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.changed = true
	key := l.String()
	g := a.series[key]
	if g == nil {
		sum := sha256.Sum256([]byte(a.cluster + key))
		g = &given{labels: l, node: uuid.UUID(sum[:16])}
		a.series[key] = g
	}
	if h != nil {
		fh = h.ToFloat(nil)
	}
	if fh != nil {
		fh = fh.Copy()
	}
	g.samples = append(g.samples, sample{t, st, v, fh})
	return 1, nil
}

// SetOptions implements storage.AppenderTransaction.
func (a appender) SetOptions(*storage.AppendOptions) {}

// Commit implements storage.AppenderTransaction.
func (a appender) Commit() error { return nil }

// Rollback implements storage.AppenderTransaction.
func (a appender) Rollback() error { return nil }

// Querier implements storage.Queryable. What was appended since the last one goes to the sink
// first.
func (s *Storage) Querier(from, to int64) (storage.Querier, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.changed || s.read == nil {
		frames := Frames{}
		for _, key := range sortedKeys(s.series) {
			g := s.series[key]
			slices.SortStableFunc(g.samples, func(a, b sample) int { return int(a.t - b.t) })
			list, reason := g.frames(s.shift, s.cluster)
			if reason == "" {
				frames[g.node] = list
				continue
			}
			if g.reason == "" {
				s.aside(key, reason)
			}
			g.reason = reason
			if err := s.keep(g); err != nil {
				return nil, err
			}
		}
		var err error
		if s.read, err = s.sink(frames); err != nil {
			return nil, err
		}
		s.changed = false
	}
	q, err := s.read.Querier(from+s.shift, to+s.shift)
	if err != nil {
		return nil, err
	}
	return &querier{Storage: s, of: q, from: from, to: to}, nil
}

// keep puts a series aside, as far as it is not there yet.
func (s *Storage) keep(g *given) error {
	if s.other == nil {
		s.other = s.open()
	}
	a := s.other.AppenderV2(context.Background())
	for ; g.kept < len(g.samples); g.kept++ {
		of := g.samples[g.kept]
		if _, err := a.Append(0, g.labels, of.st, of.t, of.v, nil, of.h,
			storage.AppendV2Options{}); err != nil {
			return err
		}
	}
	return a.Commit()
}

func sortedKeys(m map[string]*given) []string {
	var list []string
	for k := range m {
		list = append(list, k)
	}
	slices.Sort(list)
	return list
}

// place are the labels of a node's place, which a test may use as it likes.
var place = []string{"cluster", "datacenter", "rack", "node"}

const prefix = "test_"

// stored returns a label's name as frames have it: le and names that begin with __ are no entity's,
// but for the metric's own.
func stored(name string) string {
	if name != labels.MetricName && (slices.Contains(place,
		name) || name == labels.BucketLabel || strings.HasPrefix(name, "__") ||
		strings.HasPrefix(name, prefix)) {
		return prefix + name
	}
	return name
}

// frames returns a series' samples as key frames, or why that cannot be.
func (g *given) frames(shift int64, cluster string) ([][]byte, string) {
	name := g.labels.Get(labels.MetricName)
	if name == "" {
		return nil, "a series without a name"
	}
	t := frame.Template{Type: "test",
		Metrics: []frame.Metric{{Name: name, Kind: frame.GaugeDouble}}}
	var row []string
	g.labels.Range(func(l labels.Label) {
		if l.Name != labels.MetricName {
			t.Labels, row = append(t.Labels, stored(l.Name)), append(row, l.Value)
		}
	})
	sortTogether(t.Labels, row)
	var list [][]byte
	for i, s := range g.samples {
		f := frame.Frame{
			Header: frame.Header{Node: g.node, Cluster: cluster, Started: 1, Sequence: uint64(i),
				At: s.t + shift, Interval: 3_600_000, Compression: frame.Zstd},
		}
		of := t
		of.Metrics = slices.Clone(t.Metrics)
		column := frame.Column{All: true}
		there := true
		if s.st != 0 {
			return nil, "a time since when a counter counts, which frames do not have"
		}
		switch {
		case s.h != nil && value.IsStaleNaN(s.h.Sum) || s.h == nil && value.IsStaleNaN(s.v):
			there = false
		case s.h == nil && math.IsNaN(s.v):
			return nil, "NaN, which is no value in a frame"
		case s.h == nil:
			column.Doubles = []float64{s.v}
		default:
			m, bounds, buckets, reason := asBuckets(name, s.h)
			if reason != "" {
				return nil, reason
			}
			of.Metrics[0], f.Bounds, column.Histograms = m, []frame.Bounds{bounds},
				[]frame.Buckets{buckets}
		}
		f.Templates = []frame.Template{of}
		if there {
			f.Added = []frame.Entities{{Rows: [][]string{row}}}
			if column.Doubles == nil || column.Doubles[0] != 0 || math.Signbit(column.Doubles[0]) {
				if h := column.Histograms; h == nil || h[0].Sum != 0 || len(h[0].Index) > 0 {
					f.Values = []frame.Group{{Columns: []frame.Column{column}}}
				}
			}
		}
		b, err := f.Append(nil, nil)
		if err != nil {
			return nil, "frames refuse it: " + err.Error()
		}
		list = append(list, b)
	}
	return list, ""
}

func sortTogether(names, values []string) {
	order := make([]int, len(names))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return strings.Compare(names[a], names[b]) })
	n, v := slices.Clone(names), slices.Clone(values)
	for i, of := range order {
		names[i], values[i] = n[of], v[of]
	}
}

// asBuckets writes a histogram with custom buckets as frames have them, if whole numbers and
// decimal fractions suffice.
func asBuckets(
	name string, h *histogram.FloatHistogram,
) (m frame.Metric, b frame.Bounds, out frame.Buckets, reason string) {
	if h.Schema != histogram.CustomBucketsSchema {
		return m, b, out, "an exponential histogram"
	}
	if len(h.CustomValues) == 0 {
		return m, b, out, "a histogram without bounds"
	}
	exponent, upper, ok := decimals(h.CustomValues)
	if !ok {
		return m, b, out, "bounds that are no decimal fractions"
	}
	sumExponent, sum, ok := decimals([]float64{h.Sum})
	if !ok {
		return m, b, out, "a sum that is no decimal fraction"
	}
	m = frame.Metric{Name: name, Kind: frame.Histogram, Exponent: sumExponent, HasSum: true}
	if h.CounterResetHint == histogram.GaugeType {
		m.Kind = frame.GaugeHistogram
	}
	b = frame.Bounds{Exponent: exponent, Upper: upper}
	out.Sum = sum[0]
	total := 0.0
	for it := h.PositiveBucketIterator(); it.Next(); {
		bucket := it.At()
		if bucket.Count != math.Trunc(bucket.Count) || bucket.Count < 0 {
			return m, b, out, "a part of an observation"
		}
		if total += bucket.Count; bucket.Count > 0 {
			out.Index, out.Count = append(out.Index, bucket.Index), append(out.Count,
				int64(bucket.Count))
		}
	}
	if total != h.Count {
		return m, b, out, "a count that its buckets do not have"
	}
	return m, b, out, ""
}

// decimals returns values as whole numbers times a power of ten.
func decimals(values []float64) (exponent int, list []int64, ok bool) {
next:
	for ; exponent >= -9; exponent-- {
		list = list[:0]
		for _, v := range values {
			n, err := strconv.ParseInt(
				strings.TrimSuffix(strconv.FormatFloat(v*math.Pow10(-exponent), 'f',
					-1, 64), ".0"), 10, 64)
			if err != nil || frame.Scale(n, exponent) != v {
				continue next
			}
			list = append(list, n)
		}
		return exponent, list, true
	}
	return 0, nil, false
}

// querier asks the storage path, and what was kept aside.
type querier struct {
	*Storage
	of       storage.Querier
	from, to int64
	others   []storage.Querier
}

// Close implements storage.Querier.
func (q *querier) Close() error {
	err := q.of.Close()
	for _, o := range q.others {
		err = errors.Join(err, o.Close())
	}
	return err
}

// Select implements storage.Querier.
func (q *querier) Select(
	ctx context.Context, sorted bool, hints *storage.SelectHints, matchers ...*labels.Matcher,
) storage.SeriesSet {
	var list []storage.Series
	asked := make([]*labels.Matcher, len(matchers))
	for i, m := range matchers {
		asked[i] = labels.MustNewMatcher(m.Type, stored(m.Name), m.Value)
	}
	var h *storage.SelectHints
	if hints != nil {
		copied := *hints
		h = &copied
		h.Start, h.End = h.Start+q.shift, h.End+q.shift
	}
	found := q.of.Select(ctx, sorted, h, asked...)
	nodes := map[string]*given{}
	for _, g := range q.series {
		nodes[g.node.String()] = g
	}
	for found.Next() {
		one := found.At()
		g := nodes[one.Labels().Get("node")]
		back := original(one.Labels())
		if g == nil || !labels.Equal(back, g.labels) {
			continue // a classic name of a native histogram, or a series of the node's own
		}
		list = append(list, shifted{Series: one, labels: back, by: q.shift})
	}
	if err := found.Err(); err != nil {
		return storage.ErrSeriesSet(err)
	}
	if q.other != nil {
		other, err := q.other.Querier(q.from, q.to)
		if err != nil {
			return storage.ErrSeriesSet(err)
		}
		q.others = append(q.others, other)
		rest := other.Select(ctx, sorted, hints, matchers...)
		for rest.Next() {
			list = append(list, rest.At())
		}
		if err := rest.Err(); err != nil {
			return storage.ErrSeriesSet(err)
		}
	}
	if sorted {
		slices.SortFunc(list, func(a, b storage.Series) int {
			return labels.Compare(a.Labels(),
				b.Labels())
		})
	}
	return &set{list: list, at: -1, warnings: found.Warnings()}
}

// original returns a series' labels as the test gave them.
func original(l labels.Labels) labels.Labels {
	b := labels.NewScratchBuilder(l.Len())
	l.Range(func(l labels.Label) {
		if slices.Contains(place, l.Name) {
			return
		}
		b.Add(strings.TrimPrefix(l.Name, prefix), l.Value)
	})
	b.Sort()
	return b.Labels()
}

// LabelValues implements storage.LabelQuerier from what was appended; only info() asks it.
func (q *querier) LabelValues(
	_ context.Context, name string, _ *storage.LabelHints, matchers ...*labels.Matcher,
) ([]string, annotations.Annotations, error) {
	var list []string
	for _, g := range q.series {
		if v := g.labels.Get(name); v != "" && !slices.ContainsFunc(matchers,
			func(m *labels.Matcher) bool { return !m.Matches(g.labels.Get(m.Name)) }) {
			list = append(list, v)
		}
	}
	slices.Sort(list)
	return slices.Compact(list), nil, nil
}

// LabelNames implements storage.LabelQuerier; promqltest does not ask it.
func (q *querier) LabelNames(
	context.Context, *storage.LabelHints, ...*labels.Matcher,
) ([]string, annotations.Annotations, error) {
	return nil, nil, fmt.Errorf("querytest: not used")
}

// set is a storage.SeriesSet of a list.
type set struct {
	list     []storage.Series
	at       int
	warnings annotations.Annotations
}

func (s *set) Next() bool                        { s.at++; return s.at < len(s.list) }
func (s *set) At() storage.Series                { return s.list[s.at] }
func (s *set) Err() error                        { return nil }
func (s *set) Warnings() annotations.Annotations { return s.warnings }

// shifted is a series at a test's own times.
type shifted struct {
	storage.Series
	labels labels.Labels
	by     int64
}

func (s shifted) Labels() labels.Labels { return s.labels }
func (s shifted) Iterator(chunkenc.Iterator) chunkenc.Iterator {
	return &backwards{s.Series.Iterator(nil), s.by}
}

type backwards struct {
	chunkenc.Iterator
	by int64
}

func (b *backwards) Seek(t int64) chunkenc.ValueType { return b.Iterator.Seek(t + b.by) }
func (b *backwards) At() (int64, float64) {
	t, v := b.Iterator.At()
	return t - b.by, v
}
func (b *backwards) AtFloatHistogram(
	into *histogram.FloatHistogram,
) (int64, *histogram.FloatHistogram) {
	t, h := b.Iterator.AtFloatHistogram(into)
	return t - b.by, h
}
func (b *backwards) AtT() int64 { return b.Iterator.AtT() - b.by }
