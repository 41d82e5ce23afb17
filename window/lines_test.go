package window_test

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/prometheus/prometheus/model/labels"
	"pgregory.net/rapid"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/memory"
	"github.com/ringwatch/ringwatch/window"
	"github.com/ringwatch/ringwatch/window/selecting"
)

// readLines reads all values of lines, as series.
func readLines(t *rapid.T, list []selecting.Line, from, to int64, buckets bool) []window.Series {
	var out []window.Series
	var v selecting.Samples
	for i := range list {
		l := &list[i]
		l.Read(&v, from, to, buckets)
		if len(v.At) == 0 {
			continue
		}
		s := window.Series{Labels: l.Labels, Metric: l.Metric, At: slices.Clone(v.At)}
		switch l.Metric.Kind {
		case frame.Counter, frame.Gauge:
			s.Ints = slices.Clone(v.Words)
		case frame.GaugeDouble:
			for _, w := range v.Words {
				s.Doubles = append(s.Doubles, math.Float64frombits(uint64(w)))
			}
		case frame.String:
			s.Strings = slices.Clone(v.Texts)
		default:
			s.Histograms = histogramsOf(t, l.Metric, &v, buckets)
		}
		out = append(out, s)
	}
	slices.SortFunc(out, func(a, b window.Series) int {
		return cmp.Or(labels.Compare(a.Labels, b.Labels), cmp.Compare(a.At[0], b.At[0]))
	})
	return out
}

func histogramsOf(t *rapid.T, m *window.Metric, v *selecting.Samples,
	buckets bool) (list []window.Histogram) {
	if v.NoBuckets == buckets || v.NoBuckets && len(v.BucketEnd) > 0 {
		t.Fatalf("bare %v, buckets wanted %v", v.NoBuckets, buckets)
	}
	counts, from := make([]int64, m.Buckets()), int32(0)
	for i, sum := range v.Words {
		if v.NoBuckets {
			list = append(list, window.Histogram{Size: m.Buckets(), Sum: sum, Total: v.Counts[i]})
			continue
		}
		for j := from; j < v.BucketEnd[i]; j++ {
			counts[v.Bucket[j]] += v.Delta[j]
		}
		from = v.BucketEnd[i]
		h := window.NewHistogram(counts, sum)
		if h.Count() != v.Counts[i] {
			t.Fatalf("count %d, its buckets have %d", v.Counts[i], h.Count())
		}
		list = append(list, h)
	}
	return list
}

// bared returns the series as they are read without buckets.
func bared(list []window.Series) []window.Series {
	for i := range list {
		for j := range list[i].Histograms {
			h := &list[i].Histograms[j]
			*h = window.Histogram{Size: h.Size, Sum: h.Sum, Total: h.Count()}
		}
	}
	return list
}

// seriesDiffer says where two lists of series differ; nothing if they do not.
func seriesDiffer(got, want []window.Series) string {
	if len(got) != len(want) {
		return fmt.Sprintf("%d series, want %d", len(got), len(want))
	}
	for i := range got {
		a, b := &got[i], &want[i]
		if !labels.Equal(a.Labels, b.Labels) || !a.Metric.Equal(b.Metric) ||
			!slices.Equal(a.At, b.At) ||
			!slices.Equal(a.Ints, b.Ints) || !slices.Equal(a.Strings, b.Strings) ||
			!slices.EqualFunc(a.Doubles, b.Doubles, func(x, y float64) bool {
				return math.Float64bits(x) == math.Float64bits(y)
			}) ||
			!slices.EqualFunc(a.Histograms, b.Histograms, func(x, y window.Histogram) bool {
				return x.Size == y.Size && x.Sum == y.Sum && x.Total == y.Total &&
					slices.Equal(x.Filled, y.Filled) && slices.Equal(x.Counts, y.Counts)
			}) {
			return fmt.Sprintf("%+v\nwant %+v", *a, *b)
		}
	}
	return ""
}

// TestLinesAreSeries reads lines over windows of an hour, some of them late and by turns, and
// compares with what the windows' own series are when joined.
func TestLinesAreSeries(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pick := picker(t)
		list, _ := windowsOf(t, pick)
		slices.SortStableFunc(list, func(a, b *window.Window) int {
			return cmp.Compare(a.Times[0], b.Times[0])
		})
		from, to := int64(0), int64(1)<<60
		if pick(2) == 0 && len(list) > 0 {
			from = hour + int64(pick(window.HourMillis))
			to = from + int64(pick(window.HourMillis))
		}
		var by []*labels.Matcher
		if pick(3) == 0 {
			name := []string{"keyspace", "table", labels.MetricName, "node", "cluster"}[pick(5)]
			by = []*labels.Matcher{labels.MustNewMatcher(labels.MatchType(pick(2)), name,
				[]string{"a", "b", "m1", ""}[pick(4)])}
		}
		var parts [][]window.Series
		for _, w := range list {
			parts = append(parts, selecting.Select(w, from, to, by...))
		}
		want := selecting.Join(parts...)
		lines, err := selecting.Lines(context.Background(), memory.Bounded(1<<40), list, by...)
		if err != nil {
			t.Fatal(err)
		}
		got := readLines(t, lines, from, to, true)
		if d := seriesDiffer(got, want); d != "" {
			t.Fatal(d)
		}
		if d := seriesDiffer(readLines(t, lines, from, to, false), bared(want)); d != "" {
			t.Fatal("without buckets: " + d)
		}
	})
}
