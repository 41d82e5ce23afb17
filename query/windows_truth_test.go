package query_test

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/ringwatch/ringwatch/query/querytest"
)

// numberOf returns a value as windowed compares it.
func numberOf(s querytest.TrueSample) float64 {
	if s.Hist != nil {
		return s.Hist.Count
	}
	return s.Value
}

// last wants the last value of the period that ends with a window, if there is one. At the end of
// what is asked shorter periods say more.
func (w *windowed) last(periods []querytest.Period, level, _, to int64, got float64) string {
	if to > w.end {
		return ""
	}
	want := math.NaN()
	for _, p := range periods {
		if p.Start == to-level {
			want = numberOf(p.Samples[len(p.Samples)-1])
		}
	}
	if got == want || math.IsNaN(got) && math.IsNaN(want) {
		return ""
	}
	return fmt.Sprint(want)
}

// mean wants a value between the least and the most of a window.
func (w *windowed) mean(periods []querytest.Period, level, from, to int64, got float64) string {
	least, most, n := math.Inf(1), math.Inf(-1), 0
	for _, p := range periods {
		for _, of := range p.Samples {
			if of.At > from && of.At <= to {
				least, most, n = min(least, numberOf(of)), max(most, numberOf(of)), n+1
			}
		}
	}
	if n == 0 && math.IsNaN(got) ||
		got >= least-1e-9*math.Abs(least) && got <= most+1e-9*math.Abs(most) {
		return ""
	}
	return fmt.Sprintf("from %v to %v", least, most)
}

// rise wants the increase of the periods that a window covers, or nearly.
func (w *windowed) rise(periods []querytest.Period, level, from, to int64, got float64) string {
	var inner, outer, first, last float64
	whole := 0 // periods that have a value, and one in the period before
	before := int64(math.MinInt64)
	for _, p := range periods {
		increase := p.Increase
		if p.Start+level > from && p.Start < to {
			outer += increase
		}
		if p.Start >= from && p.Start+level <= to {
			if inner += increase; p.Start < from+level {
				first = increase
			}
			last = increase
			if before == p.Start-level {
				whole++
			}
		}
		before = p.Start
	}
	if w.asking.Function == "rate" {
		got *= float64(w.asking.Window.Milliseconds()) / 1000
	}
	fit := (to - from) / level
	if to%level != 0 {
		fit--
	}
	if int64(whole) < fit || from < w.begin || to > w.end {
		return "" // it came or went
	}
	// A part of what begins and ends the window may be taken for what is usual.
	least, most := 0.9*(inner-first-last), 1.11*outer
	if w.aligned && from%level == 0 {
		least, most = inner*(1-1e-5), inner*(1+1e-5)
	}
	classic := strings.HasPrefix(w.asking.Name, querytest.Histograms[0]+"_") ||
		strings.HasPrefix(w.asking.Name, querytest.Histograms[1]+"_")
	if classic && slices.ContainsFunc(w.fleet.Resets, func(at int64) bool {
		return at > from-level && at <= to
	}) {
		most = math.Inf(1) // a histogram knows by its other buckets that it began anew
	}
	if got >= least && got <= most {
		return ""
	}
	return fmt.Sprintf("from %v to %v over the window", least, most)
}
