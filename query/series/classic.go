package series

import (
	"math"
	"strconv"
	"strings"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/ringwatch/ringwatch/frame"
)

// A histogram is one series here. A Prometheus that scrapes us keeps it as the series NAME_bucket,
// NAME_sum and NAME_count; who asks by these names gets them, from the same buckets.
const (
	SuffixBucket = "_bucket"
	SuffixSum    = "_sum"
	SuffixCount  = "_count"
)

var Suffixes = [...]string{SuffixBucket, SuffixSum, SuffixCount}

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

// BucketText returns a bucket's bound as Prometheus 3 keeps it in the label le.
func BucketText(b *frame.Bounds, bucket int) string {
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

// TextLabel returns the label in which a text's series has it: an entity's own label of that name
// keeps it, as Prometheus makes room.
func TextLabel(l labels.Labels) string {
	name := ValueLabel
	for l.Has(name) {
		name = "exported_" + name
	}
	return name
}

// HistogramName returns the name of the histogram whose classic series has the name, if the name
// can be such a one.
func HistogramName(name string) (string, bool) {
	for _, s := range Suffixes {
		if of, ok := strings.CutSuffix(name, s); ok && of != "" {
			return of, true
		}
	}
	return "", false
}

// View says as what a series' values are shown.
type View struct {
	Suffix string // of the classic name; empty: the series itself
	Bucket int    // with _bucket: the last bucket that counts
}
