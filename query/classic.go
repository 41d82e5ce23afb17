package query

import (
	"math"
	"strconv"
	"strings"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/window"
)

// A histogram is one series here. A Prometheus that scrapes us keeps it as the series NAME_bucket,
// NAME_sum and NAME_count; who asks by these names gets them, from the same buckets.
const (
	suffixBucket = "_bucket"
	suffixSum    = "_sum"
	suffixCount  = "_count"
)

var suffixes = [...]string{suffixBucket, suffixSum, suffixCount}

// ValueLabel is the label in which a text's series has the text; the series' value is 1.
const ValueLabel = "value"

// boundStep thins a histogram's buckets where each is a line or a series of its own: every eighth
// bound, the last one and +Inf. Counts are cumulative over buckets and so stay exact; with bounds a
// fifth apart a quantile is then known to a factor of four. A histogram of few bounds, such as
// those of Ringwatch's own processes, keeps them all: theirs are a factor of two apart, and of
// every eighth a quantile would be off by hundreds.
const (
	boundStep = 8
	fewBounds = 32
)

// ExposedBuckets returns the numbers of the buckets that a histogram has as a line or a series of
// its own, ascending, if it has so many bounds; the last one is +Inf.
func ExposedBuckets(bounds int) []int {
	last, step := bounds, boundStep // the last is +Inf
	if bounds <= fewBounds {
		step = 1
	}
	var list []int
	for i := step - 1; i < last-1; i += step {
		list = append(list, i)
	}
	if last > 0 {
		list = append(list, last-1)
	}
	return append(list, last)
}

// leText returns a bucket's bound as Prometheus 3 keeps it in the label le.
func leText(b *frame.Bounds, bucket int) string {
	if bucket == len(b.Upper) {
		return "+Inf"
	}
	v := frame.Scale(b.Upper[bucket], b.Exponent)
	text := strconv.FormatFloat(v, 'g', -1, 64)
	if !strings.ContainsAny(text, ".e") && !math.IsInf(v, 0) {
		text += ".0"
	}
	return text
}

// textLabel returns the label in which a text's series has it: an entity's own label of that name
// keeps it, as Prometheus makes room.
func textLabel(l labels.Labels) string {
	name := ValueLabel
	for l.Has(name) {
		name = "exported_" + name
	}
	return name
}

// histogramName returns the name of the histogram whose classic series has the name, if the name
// can be such a one.
func histogramName(name string) (string, bool) {
	for _, s := range suffixes {
		if of, ok := strings.CutSuffix(name, s); ok && of != "" {
			return of, true
		}
	}
	return "", false
}

// floats, bucketCounts and the like are views of a series' values: see samples.

// floats are the values of a counter or a gauge.
type floats struct{ *window.Series }

func (s floats) len() int          { return len(s.At) }
func (s floats) at(i int) int64    { return s.At[i] }
func (s floats) isHistogram() bool { return false }
func (s floats) float(i int) float64 {
	if s.Metric.Kind == frame.GaugeDouble {
		return s.Doubles[i]
	}
	return frame.Scale(s.Ints[i], s.Metric.Exponent)
}

// histograms are native histograms.
type histograms struct {
	*window.Series
	bounds []float64
}

func (s histograms) len() int          { return len(s.At) }
func (s histograms) at(i int) int64    { return s.At[i] }
func (s histograms) isHistogram() bool { return true }

// bucketCounts are how many observations lie in the buckets up to one.
type bucketCounts struct {
	*window.Series
	bucket uint16
}

func (s bucketCounts) len() int          { return len(s.At) }
func (s bucketCounts) at(i int) int64    { return s.At[i] }
func (s bucketCounts) isHistogram() bool { return false }
func (s bucketCounts) float(i int) float64 {
	h := &s.Histograms[i]
	var n int64
	for j, b := range h.Filled {
		if b > s.bucket {
			break
		}
		n += h.Counts[j]
	}
	return float64(n)
}

// counts are how many observations there are.
type counts struct{ *window.Series }

func (s counts) len() int            { return len(s.At) }
func (s counts) at(i int) int64      { return s.At[i] }
func (s counts) isHistogram() bool   { return false }
func (s counts) float(i int) float64 { return float64(s.Histograms[i].Count()) }

// sums are the sums of all observations.
type sums struct{ *window.Series }

func (s sums) len() int            { return len(s.At) }
func (s sums) at(i int) int64      { return s.At[i] }
func (s sums) isHistogram() bool   { return false }
func (s sums) float(i int) float64 { return frame.Scale(s.Histograms[i].Sum, s.Metric.Exponent) }

// ones are the instants of something that is there or not.
type ones []int64

func (s ones) len() int          { return len(s) }
func (s ones) at(i int) int64    { return s[i] }
func (s ones) isHistogram() bool { return false }
func (s ones) float(int) float64 { return 1 }
