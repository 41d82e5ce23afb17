package rules

import (
	"slices"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/query/live"
	"github.com/ringwatch/ringwatch/window"
)

// memSeries is one series in memory, as far as rules look back. Prometheus's head has a type of
// the same name.
type memSeries struct {
	window.Series
	ends  []int64   // instants at which it was found to be there no more
	keep  int64     // ms
	pass  uint64    // the node's pass that had it last
	line  *timeline // the node's; nil: the instants are none of a node's frames
	first int       // which instant of line is the series' first one, or ownTimes
	views []*seriesView

	saysMode bool // it is the node's operation mode
}

// seriesView is a memSeries as one selector sees it.
type seriesView struct {
	*live.View
	*memSeries
	selector *selector
}

// sampleValue is the value of a series at an instant.
type sampleValue struct {
	number    int64
	double    float64
	histogram window.Histogram
	text      string
}

// add enters a value. Values may come late; of two of an instant the first counts. What
// evaluations from an instant on do not look back to is forgotten now and then.
func (c *memSeries) add(at int64, v sampleValue, from int64) {
	i := len(c.At)
	if i > 0 && at <= c.At[i-1] {
		var found bool
		if i, found = slices.BinarySearch(c.At, at); found {
			return
		}
	}
	if j, found := slices.BinarySearch(c.ends, at); found {
		c.ends = slices.Delete(c.ends, j, j+1)
	}
	c.enter(i, at, from)
	switch c.Metric.Kind {
	case frame.String:
		c.Strings = put(c.Strings, i, v.text)
	case frame.GaugeDouble:
		c.Doubles = put(c.Doubles, i, v.double)
	case frame.Histogram, frame.GaugeHistogram:
		if i > 0 && i == len(c.Histograms) && same(&c.Histograms[i-1], &v.histogram) {
			v.histogram = c.Histograms[i-1] // most do not move
		}
		c.Histograms = put(c.Histograms, i, v.histogram)
	default:
		c.Ints = put(c.Ints, i, v.number)
	}
	if c.At[0] < from-c.keep-c.keep/trimPart {
		c.trim(from - c.keep)
	}
}

// trimPart: values are forgotten when this part of what rules look back to is too old.
const trimPart = 8

func same(a, b *window.Histogram) bool {
	return a.Sum == b.Sum && slices.Equal(a.Filled, b.Filled) && slices.Equal(a.Counts, b.Counts)
}

// put puts a value at a place. Lists grow by a quarter, since they end at the length that rules
// look back: doubling would leave a third of all memory empty.
func put[T any](list []T, i int, v T) []T {
	if len(list) == cap(list) {
		more := make([]T, len(list), len(list)+max(4, len(list)/4))
		copy(more, list)
		list = more
	}
	if i == len(list) {
		return append(list, v)
	}
	return slices.Insert(list, i, v)
}

// end notes that the series was found to be there no more at an instant. It reports whether that
// is new.
func (c *memSeries) end(at int64) bool {
	i, found := slices.BinarySearch(c.At, at)
	if found || i == 0 {
		return false
	}
	j, found := slices.BinarySearch(c.ends, at)
	if found || j > 0 && c.ends[j-1] > c.At[i-1] { // it has ended before
		return false
	}
	c.ends = slices.Insert(c.ends, j, at)
	return true
}

// over reports whether the series has ended.
func (c *memSeries) over() bool {
	return len(c.ends) > 0 && c.ends[len(c.ends)-1] > c.At[len(c.At)-1]
}

// gone reports whether nothing is left of the series that rules look back to at an instant.
func (c *memSeries) gone(at int64) bool {
	n := len(c.At)
	return n == 0 || c.over() && c.At[n-1] < at-c.keep
}

// trim forgets what was before an instant. It moves values, so nobody may be reading.
func (c *memSeries) trim(before int64) {
	n, _ := slices.BinarySearch(c.At, before)
	c.forget(n)
	c.Ints = slices.Delete(c.Ints, 0, min(n, len(c.Ints)))
	c.Doubles = slices.Delete(c.Doubles, 0, min(n, len(c.Doubles)))
	c.Histograms = slices.Delete(c.Histograms, 0, min(n, len(c.Histograms)))
	c.Strings = slices.Delete(c.Strings, 0, min(n, len(c.Strings)))
	e, _ := slices.BinarySearch(c.ends, before)
	c.ends = slices.Delete(c.ends, 0, e)
}

// What a memSeries takes, in bytes: an estimate, told to the budget before it is made.
const (
	seriesCost    = 700
	pointCost     = 24
	histogramCost = 200
)

// costOf is what a memSeries takes that keeps values for so many ms, one every interval.
func costOf(kind frame.Kind, keep, interval int64) int64 {
	points := 3 * keep / 2 / max(interval, 1000) // more than are there before they are trimmed
	if kind.IsHistogram() {
		return seriesCost + points*histogramCost
	}
	return seriesCost + points*pointCost
}
