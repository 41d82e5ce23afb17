package window

import (
	"cmp"
	"slices"

	"github.com/prometheus/prometheus/model/labels"
)

// Join joins the series of several windows: those with equal labels become one, ascending in
// time, each instant once. Where two parts know an instant the earlier part in the argument list
// wins. Each part must be sorted by labels, as Select returns it, and so is the result.
//
// Series with equal labels whose metrics differ in kind, unit, exponent or bounds cannot be one;
// they follow each other in the result, by the time of their first value.
func Join(parts ...[]Series) []Series {
	filled, last := 0, 0
	for i, p := range parts {
		if len(p) > 0 {
			filled, last = filled+1, i
		}
	}
	if filled <= 1 {
		if filled == 0 {
			return nil
		}
		return parts[last]
	}
	// By hash, so that only what is left is sorted: many windows of the same series are the usual
	// case.
	out := make([]Series, 0, len(parts[last]))
	first, next := make(map[uint64]int32, len(parts[last])), []int32{}
	for _, p := range parts {
	series:
		for i := range p {
			h := p[i].Labels.Hash()
			j, found := first[h]
			for ; found && j >= 0; j = next[j] {
				if out[j].Metric.Same(p[i].Metric) && labels.Equal(out[j].Labels, p[i].Labels) {
					out[j] = out[j].union(&p[i])
					continue series
				}
			}
			before := int32(-1)
			if found {
				before = first[h]
			}
			first[h] = int32(len(out))
			next = append(next, before)
			s := p[i]
			s.clip()
			out = append(out, s)
		}
	}
	slices.SortFunc(out, func(a, b Series) int {
		return cmp.Or(labels.Compare(a.Labels, b.Labels), cmp.Compare(a.At[0], b.At[0]))
	})
	return out
}

// joinSorted joins neighbours with equal labels, in place.
func joinSorted(all []Series) []Series {
	out := all[:0]
	for i := 0; i < len(all); {
		end := i + 1
		for end < len(all) && labels.Equal(all[i].Labels, all[end].Labels) {
			end++
		}
		if end == i+1 {
			out = append(out, all[i])
		} else {
			out = appendJoined(out, slices.Clone(all[i:end]))
		}
		i = end
	}
	return out
}

// appendJoined appends series with equal labels as few series as can be.
func appendJoined(out, equal []Series) []Series {
	first := len(out)
next:
	for i := range equal {
		for j := first; j < len(out); j++ {
			if out[j].Metric.Same(equal[i].Metric) {
				out[j] = out[j].union(&equal[i])
				continue next
			}
		}
		s := equal[i]
		s.clip()
		out = append(out, s)
	}
	for i := first + 1; i < len(out); i++ { // few, and mostly one
		for j := i; j > first && out[j].At[0] < out[j-1].At[0]; j-- {
			out[j], out[j-1] = out[j-1], out[j]
		}
	}
	return out
}

// clip sees to it that appending to the series copies it.
func (s *Series) clip() {
	n := len(s.At)
	s.At = s.At[:n:n]
	s.Ints, s.Doubles = s.Ints[:len(s.Ints):len(s.Ints)], s.Doubles[:len(s.Doubles):len(s.Doubles)]
	s.Histograms, s.Strings = s.Histograms[:len(s.Histograms):len(s.Histograms)], s.Strings[:len(
		s.Strings):len(s.Strings)]
}

// union returns the instants of both; s wins where both have one.
func (s *Series) union(o *Series) Series {
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
