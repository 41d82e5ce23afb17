package series

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"pgregory.net/rapid"
)

// entry is what an iterator is at; stale at an end.
type entry struct {
	at    int64
	v     float64
	stale bool
}

// drawParts makes a series' parts, and the plain list that an iterator over them has to give: parts
// in their order, each with its samples and ends by time, nothing that is not later than what was
// before; no end if the next part has a sample by then.
func drawParts(t *rapid.T) (parts []Segment, list []entry) {
	begin := int64(0)
	for p := range rapid.IntRange(0, 3).Draw(t, "parts") {
		of := &Points{}
		var ends []int64
		at := max(0, begin-int64(rapid.IntRange(0, 8).Draw(t, "overlap")))
		for range rapid.IntRange(1, 12).Draw(t, "length") {
			at += int64(rapid.IntRange(1, 4).Draw(t, "distance"))
			if rapid.IntRange(0, 3).Draw(t, "end") == 0 {
				ends = append(ends, at)
			} else {
				of.Times, of.Values = append(of.Times, at), append(of.Values,
					float64(p)+float64(at)/1000)
			}
		}
		begin = at
		parts = append(parts, Segment{Samples: of, Ends: ends})
	}
	last := int64(math.MinInt64)
	for i, p := range parts {
		var own []entry
		for j := range p.Len() {
			own = append(own, entry{p.Time(j), p.Value(j), false})
		}
		for _, at := range p.Ends {
			own = append(own, entry{at, 0, true})
		}
		slices.SortFunc(own, func(a, b entry) int { return cmp.Compare(a.at, b.at) })
		for _, e := range own {
			if e.stale && i+1 < len(parts) && parts[i+1].Len() > 0 && parts[i+1].Time(0) <= e.at ||
				e.at <= last {
				continue
			}
			list, last = append(list, e), e.at
		}
	}
	return parts, list
}

// TestIteratorProperty walks over parts with Next and Seek in any order and compares with a list.
func TestIteratorProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		parts, list := drawParts(t)
		it := (&Series{Segments: parts}).Iterator(nil)
		at := -1 // in the list
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			var kind chunkenc.ValueType
			what := "Next"
			if rapid.Bool().Draw(t, "seek") {
				to := int64(rapid.IntRange(-2, 120).Draw(t, "to"))
				if at >= 0 && rapid.Bool().Draw(t, "near") {
					to = list[at].at + to%12 - 2
				}
				what = fmt.Sprint("Seek ", to)
				kind = it.Seek(to)
				for at = max(at, 0); at < len(list) && list[at].at < to; {
					at++
				}
			} else {
				kind = it.Next()
				at++
			}
			if at >= len(list) {
				if kind != chunkenc.ValNone {
					t.Fatalf("%s at the end: %v at %d", what, kind, it.AtT())
				}
				return
			}
			gotAt, got := it.At()
			want := list[at]
			if kind != chunkenc.ValFloat || gotAt != want.at || it.AtT() != want.at ||
				value.IsStaleNaN(got) != want.stale || !want.stale && got != want.v {
				t.Fatalf("%s: %v, %d, %v, want %+v of %+v", what, kind, gotAt, got, want, list)
			}
		}
	})
}

// TestEndsProperty compares EndsOf with what the words say: of each instant without the series
// after one with it, or when the node fell silent after it.
func TestEndsProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const interval = 10
		from := int64(1000)
		at := from + int64(rapid.IntRange(0, 20).Draw(t, "first"))
		var instants, has []int64
		for range rapid.IntRange(0, 20).Draw(t, "instants") {
			instants = append(instants, at)
			if rapid.IntRange(0, 2).Draw(t, "has") > 0 {
				has = append(has, at)
			}
			at += int64(rapid.SampledFrom([]int{9, 10, 11, 20, 29, 30, 31, 60, 95}).Draw(t,
				"distance"))
		}
		to := at + int64(rapid.IntRange(-5, 100).Draw(t, "to"))
		var want []int64
		before := from
		for i, x := range instants {
			there := slices.Contains(has, x)
			next := int64(math.MaxInt64)
			if i+1 < len(instants) {
				next = instants[i+1]
			}
			switch silent := x + 3*max(interval, x-before); {
			case !there:
			case silent < next && silent <= to:
				want = append(want, silent)
			case next != math.MaxInt64 && !slices.Contains(has, next):
				want = append(want, next)
			}
			before = x
		}
		if got := EndsOf(has, instants, GapsIn(instants, interval, from, to)); !slices.Equal(got,
			want) {
			t.Fatalf("ends %v, want %v of %v in %v to %d", got, want, has, instants, to)
		}
	})
}
