package api

import (
	"github.com/prometheus/prometheus/model/labels"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/query/series"
	"github.com/ringwatch/ringwatch/window"
	"github.com/ringwatch/ringwatch/window/rollup"
)

// budget counts what an answer would have, before its first byte, against what the configuration
// allows.
type budget struct {
	config *Config
	// field and remedy are what a request with too many values should change.
	field, remedy string
	// fills, if it is set, tells how many steps of a series without a value are said to be NaN.
	fills func(*window.Series) int

	series, points int
	bytes          int64 // of the answer before it is packed, to about a fifth
}

// What JSON and exposition text take, in bytes.
const (
	headBytes    = 80  // of a series, apart from its labels
	valueBytes   = 62  // of a number and its time
	nanBytes     = 50  // of a step without a value
	summaryBytes = 190 // of a histogram's count, sum and quantiles
	bucketBytes  = 40
	rollupBytes  = 170
	lineBytes    = 40 // of exposition text, apart from the labels
)

// add counts series as getMetrics writes them.
func (b *budget) add(list []window.Series) error {
	b.addAll(list)
	return b.check()
}

// join counts what another has counted.
func (b *budget) join(of *budget) error {
	b.series += of.series
	b.points += of.points
	b.bytes += of.bytes
	return b.check()
}

func (b *budget) addAll(list []window.Series) {
	for i := range list {
		s := &list[i]
		b.bytes += headBytes + labelBytes(s.Labels)
		b.points += len(s.At)
		if b.fills != nil {
			n := b.fills(s)
			b.points += n
			b.bytes += nanBytes * int64(n)
		}
		switch {
		case s.Metric.Kind.IsHistogram():
			for j := range s.Histograms {
				b.bytes += valueBytes/2 + 2*summaryBytes +
					bucketBytes*int64(len(s.Histograms[j].Filled)+1)
			}
		case s.Metric.Kind == frame.String:
			for _, text := range s.Strings {
				b.bytes += valueBytes + jsonBytes(text)
			}
		default:
			b.bytes += valueBytes * int64(len(s.At))
		}
	}
	b.series += len(list)
}

// addLines counts series as writeExposition writes them.
func (b *budget) addLines(list []window.Series) error {
	b.addAllLines(list)
	return b.check()
}

func (b *budget) addAllLines(list []window.Series) {
	for i := range list {
		s, lines := &list[i], int64(1)
		if s.Metric.Kind.IsHistogram() {
			lines = int64(len(series.ExposedBuckets(s.Histograms[0].Size-1)) + 3)
		}
		b.bytes += lines * (lineBytes + labelBytes(s.Labels))
	}
	b.series += len(list)
	b.points += len(list)
}

// addRollups counts series as getRollups writes them.
func (b *budget) addRollups(list []rollup.Series) error {
	for i := range list {
		s := &list[i]
		b.bytes += headBytes + labelBytes(s.Labels)
		b.points += s.Len()
		for j := range s.Start {
			b.bytes += rollupBytes
			if s.Metric.Kind.IsHistogram() {
				b.bytes += bucketBytes * filled(s.Increases[j])
			}
		}
	}
	b.series += len(list)
	return b.check()
}

func (b *budget) check() error {
	switch {
	case b.series > b.config.MaxSeries:
		return bad("too_many_series", "metrics",
			"the answer would have more than %d series: ask for fewer metrics, or one node "+
				"at a time", b.config.MaxSeries)
	case b.points > b.config.MaxPoints:
		return bad("too_many_values", b.field, "the answer would have more than %d values: %s",
			b.config.MaxPoints, b.remedy)
	case b.bytes > b.config.MaxResponseBytes:
		return bad("too_large", b.field, "the answer would have more than %d MiB: %s",
			b.config.MaxResponseBytes>>20, b.remedy)
	}
	return nil
}

func labelBytes(l labels.Labels) (n int64) {
	l.Range(func(l labels.Label) { n += int64(len(l.Name)) + jsonBytes(l.Value) + 6 })
	return n
}

// jsonBytes returns what a text takes in JSON, where a control character becomes six bytes.
func jsonBytes(text string) int64 {
	if plain(text) {
		return int64(len(text))
	}
	n := int64(0)
	for i := range len(text) {
		switch c := text[i]; {
		case c < ' ' || c == 0x7f || c == '<' || c == '>' || c == '&':
			n += 6
		case c >= 0x80:
			n += 2 // of three bytes U+2028 makes six
		case c == '"' || c == '\\':
			n += 2
		default:
			n++
		}
	}
	return n
}

func filled(counts []int64) (n int64) {
	for _, c := range counts {
		if c != 0 {
			n++
		}
	}
	return n + 1
}
