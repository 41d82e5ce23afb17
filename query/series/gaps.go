package series

import (
	"cmp"
	"slices"
)

// MissedIntervals is how many intervals a node may be silent before its series count as gone.
const MissedIntervals = 3

// Gap is a silence of a node: after its frame at after none came until ended, when the node
// counted as silent.
type Gap struct{ after, ended int64 }

// GapsIn returns the gaps between a node's instants (ms, ascending), and the one after the last of
// them if that is long enough before to. A frame that comes later than usual is no silence, so the
// distance before it counts as well as the interval, in ms. Instants were read from from on: none
// was between it and the first one.
func GapsIn(instants []int64, interval, from, to int64) []Gap {
	var list []Gap
	for i, at := range instants {
		usual := max(interval, at-from)
		if i > 0 {
			usual = max(interval, at-instants[i-1])
		}
		next := to
		if i+1 < len(instants) {
			next = instants[i+1] - 1
		}
		if ended := at + MissedIntervals*usual; ended <= next {
			list = append(list, Gap{at, ended})
		}
	}
	return list
}

// Lead returns how long before a time range, in ms, a node's instants are read, so that its
// silences are the same whatever the range is: the distance before any frame in it is then known,
// or is so long that the frame counts for the whole lookback, in ms.
func Lead(lookback int64) int64 { return lookback/MissedIntervals + 1 }

// EndsOf returns when a series that has values at some of a node's instants was found to be there
// no more: at the next frame, which lacks it, or when the node fell silent.
func EndsOf(at, instants []int64, silent []Gap) []int64 {
	if len(at) == 0 {
		return nil
	}
	var ends []int64
	i, _ := slices.BinarySearch(instants, at[0])
	for j, t := range at {
		for i < len(instants) && instants[i] < t {
			i++
		}
		if i == len(instants) || instants[i] != t {
			continue // a frame that the list of instants does not have
		}
		if k, found := slices.BinarySearchFunc(silent, t, Gap.compare); found {
			ends = append(ends, silent[k].ended)
		} else if i+1 < len(instants) && (j+1 == len(at) || at[j+1] > instants[i+1]) {
			ends = append(ends, instants[i+1])
		}
	}
	return ends
}

func (s Gap) compare(t int64) int { return cmp.Compare(s.after, t) }
