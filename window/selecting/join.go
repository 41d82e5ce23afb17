package selecting

import (
	"cmp"
	"slices"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/ringwatch/ringwatch/window"
)

// Join joins the series of several windows: those with equal labels become one, ascending in
// time, each instant once. Where two parts know an instant the earlier part in the argument list
// wins. Each part must be sorted by labels, as Select returns it, and so is the result.
//
// Series with equal labels whose metrics differ in kind, unit, exponent or bounds cannot be one;
// they follow each other in the result, by the time of their first value.
func Join(parts ...[]window.Series) []window.Series {
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
	out := make([]window.Series, 0, len(parts[last]))
	first, next := make(map[uint64]int32, len(parts[last])), []int32{}
	for _, p := range parts {
	series:
		for i := range p {
			h := p[i].Labels.Hash()
			j, found := first[h]
			for ; found && j >= 0; j = next[j] {
				if out[j].Metric.Equal(p[i].Metric) && labels.Equal(out[j].Labels, p[i].Labels) {
					out[j] = out[j].Union(&p[i])
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
			s.Clip()
			out = append(out, s)
		}
	}
	slices.SortFunc(out, func(a, b window.Series) int {
		return cmp.Or(labels.Compare(a.Labels, b.Labels), cmp.Compare(a.At[0], b.At[0]))
	})
	return out
}

// joinSorted joins neighbours with equal labels, in place.
func joinSorted(all []window.Series) []window.Series {
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
func appendJoined(out, equal []window.Series) []window.Series {
	first := len(out)
next:
	for i := range equal {
		for j := first; j < len(out); j++ {
			if out[j].Metric.Equal(equal[i].Metric) {
				out[j] = out[j].Union(&equal[i])
				continue next
			}
		}
		s := equal[i]
		s.Clip()
		out = append(out, s)
	}
	for i := first + 1; i < len(out); i++ { // few, and mostly one
		for j := i; j > first && out[j].At[0] < out[j-1].At[0]; j-- {
			out[j], out[j-1] = out[j-1], out[j]
		}
	}
	return out
}
