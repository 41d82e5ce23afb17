package window

import "github.com/prometheus/prometheus/model/labels"

// Series is one entity's metric at some instants, in ascending order of time, each at most once.
// Which of the value slices is set follows from Metric.Kind; it is as long as At.
type Series struct {
	Labels     labels.Labels // __name__, cluster, datacenter, rack, node and the entity's own
	Metric     *Metric
	At         []int64 // milliseconds since the Unix epoch
	Ints       []int64 // counter, gauge
	Doubles    []float64
	Histograms []Histogram
	Strings    []string
}

// Between returns the values i to j-1 of a series, which share its memory.
func (s *Series) Between(i, j int) Series {
	between := *s
	between.At = s.At[i:j]
	switch {
	case s.Ints != nil:
		between.Ints = s.Ints[i:j]
	case s.Doubles != nil:
		between.Doubles = s.Doubles[i:j]
	case s.Histograms != nil:
		between.Histograms = s.Histograms[i:j]
	case s.Strings != nil:
		between.Strings = s.Strings[i:j]
	}
	return between
}

// Union returns the instants of both; s wins where both have one.
func (s *Series) Union(o *Series) Series {
	if len(o.At) == 0 {
		return *s
	}
	if len(s.At) == 0 || s.At[len(s.At)-1] < o.At[0] { // windows in order: the usual case
		u := *s
		u.appendFrom(o, 0, len(o.At))
		return u
	}
	u := Series{Labels: s.Labels, Metric: s.Metric, At: make([]int64, 0, len(s.At)+len(o.At))}
	for i, j := 0, 0; i < len(s.At) || j < len(o.At); {
		switch {
		case j == len(o.At) || i < len(s.At) && s.At[i] < o.At[j]:
			u.appendFrom(s, i, i+1)
			i++
		case i == len(s.At) || o.At[j] < s.At[i]:
			u.appendFrom(o, j, j+1)
			j++
		default:
			u.appendFrom(s, i, i+1)
			i, j = i+1, j+1
		}
	}
	return u
}

// Clip sees to it that appending to the series copies it.
func (s *Series) Clip() {
	n := len(s.At)
	s.At = s.At[:n:n]
	s.Ints, s.Doubles = s.Ints[:len(s.Ints):len(s.Ints)], s.Doubles[:len(s.Doubles):len(s.Doubles)]
	s.Histograms, s.Strings = s.Histograms[:len(s.Histograms):len(s.Histograms)], s.Strings[:len(
		s.Strings):len(s.Strings)]
}

// take appends values i … j−1 of o, which is of the same metric.
func (s *Series) appendFrom(o *Series, i, j int) {
	s.At = append(s.At, o.At[i:j]...)
	switch {
	case o.Ints != nil:
		s.Ints = append(s.Ints, o.Ints[i:j]...)
	case o.Doubles != nil:
		s.Doubles = append(s.Doubles, o.Doubles[i:j]...)
	case o.Histograms != nil:
		s.Histograms = append(s.Histograms, o.Histograms[i:j]...)
	case o.Strings != nil:
		s.Strings = append(s.Strings, o.Strings[i:j]...)
	}
}

// What series take, in bytes. A list that grows has as much again.
const (
	seriesBytes    = 2 * 192 // without labels and values
	labelBytes     = 24      // of one label, without its text
	pointBytes     = 2 * 16
	histogramBytes = 2*80 + 96
	filledBytes    = 10
)

// LabelsBytes returns what labels take in memory.
func LabelsBytes(l labels.Labels) (n int64) {
	l.Range(func(l labels.Label) { n += labelBytes + int64(len(l.Name)+len(l.Value)) })
	return n
}

// Bytes returns what a series takes, its labels and values among it.
func (s *Series) Bytes() int64 {
	n := seriesBytes + pointBytes*int64(len(s.At))
	n += LabelsBytes(s.Labels)
	for i := range s.Histograms {
		n += histogramBytes
		if h := &s.Histograms[i]; i == 0 ||
			len(h.Counts) > 0 &&
				(len(s.Histograms[i-1].Counts) == 0 ||
					&h.Counts[0] != &s.Histograms[i-1].Counts[0]) {
			n += filledBytes * int64(len(h.Counts))
		}
	}
	for _, text := range s.Strings {
		n += int64(len(text))
	}
	return n
}
