package selection

import (
	"math"
	"slices"

	"github.com/prometheus/prometheus/model/histogram"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/query/plan"
	"github.com/ringwatch/ringwatch/query/series"
	"github.com/ringwatch/ringwatch/window/rollup"
)

// rollupSamples makes samples of a series' rollups, so that functions find in them what they
// would find in the samples that the rollups sum up: a period's last value at its last
// millisecond, or at now if that is before; none is after until. The functions rate and increase
// are given every increase, also where a counter began anew; max_over_time, min_over_time,
// sum_over_time and avg_over_time a period's own maximum, minimum, sum and mean.
//
// A range window shorter than two periods sees some samples of each: increases are then spread
// evenly over their period, and so they are where windows lie otherwise than periods. Of these
// there are only those that a window sees. Where windows end with periods, each period of a
// counter has a sample at its begin, so that they see just its increase.
//
// next is what follows of the series, or nil. Windows that see both find one series in them.
func rollupSamples(
	s *rollup.Series, v series.View, w *plan.Windows, until, now int64, next *series.Segment,
) series.Segment {
	m := s.Metric
	r := rollupSampler{series: s, windows: w, until: until, now: now, spacing: s.Level.Millis,
		next: next}
	r.periodStarts = w.IsIncrease() && w.Aligned(s.Level) && w.Width >= s.Level.Millis &&
		plan.PartOfRate*(w.Width%s.Level.Millis) <= w.Width
	if !r.periodStarts && (w.IsIncrease() || w.Ranged && w.Width < 2*s.Level.Millis) {
		// Evenly, also from one period to the next: rate() mistrusts a window that begins longer
		// before its first sample than samples are apart, and would see less than there was.
		n := max(2, (2*s.Level.Millis+w.Width-1)/w.Width)
		r.spacing = max(s.Level.Millis/n, 1000)
	}
	switch {
	case !m.Kind.IsHistogram() && m.Kind != frame.Counter:
		r.gauge()
	case !m.Kind.IsHistogram() || v.Suffix == series.SuffixSum:
		scaled := func(list []int64) func(int) float64 {
			return func(i int) float64 { return frame.Scale(list[i], m.Exponent) }
		}
		r.counter(scaled(s.First), scaled(s.Last), scaled(s.Increase))
	case v.Suffix == series.SuffixCount && s.FirstCount != nil:
		whole := func(list []int64) func(int) float64 {
			return func(i int) float64 { return float64(list[i]) }
		}
		r.counter(whole(s.FirstCount), whole(s.LastCount), whole(s.CountIncrease))
	case v.Suffix == series.SuffixCount || v.Suffix == series.SuffixBucket:
		upTo := m.Buckets()
		if v.Suffix == series.SuffixBucket {
			upTo = v.Bucket + 1
		}
		summed := func(lists [][]int64) func(int) float64 {
			return func(i int) float64 { return total(lists[i][:upTo]) }
		}
		r.counter(summed(s.FirstCounts), summed(s.LastCounts), summed(s.Increases))
	default:
		r.histogram(series.UpperBounds(m.Bounds))
	}
	return series.Segment{Samples: &r.out, Ends: r.ends, Increase: r.increase}
}

func total(counts []int64) (sum float64) {
	for _, n := range counts {
		sum += float64(n)
	}
	return sum
}

// rollupSampler is the state of one rollupSamples.
type rollupSampler struct {
	windows      *plan.Windows
	series       *rollup.Series
	until        int64 // no sample is later
	now          int64
	spacing      int64 // of samples within a period
	periodStarts bool  // a period has a sample at its begin
	native       bool  // the samples are histograms
	next         *series.Segment
	out          series.Points
	ends         []int64
	increase     *series.IncreaseStart
}

// each visits the periods with the instants at which each has samples; the last is that of its
// last value.
func (r *rollupSampler) each(visit func(i int, times []int64)) {
	s := r.series
	level := s.Level.Millis
	r.reserve()
	var times []int64
	for i, start := range s.Start {
		if i > 0 && start > s.Start[i-1]+level {
			r.ends = append(r.ends, s.Start[i-1]+2*level-1)
		}
		last := start + level - 1
		last = min(last, r.now) // if the period is not over, its last value is from before now
		times = times[:0]
		every := r.every(i)
		for at := start + every; at < last-2; at += every {
			if next := r.windows.VisibleFrom(at); next > at {
				at += (next - at - 1) / every * every
			} else {
				times = append(times, at)
			}
		}
		visit(i, append(times, last))
	}
	if n := len(s.Start); n > 0 {
		if end := s.Start[n-1] + 2*level - 1; end <= r.until {
			r.ends = append(r.ends, end)
		}
	}
}

// reserve makes room for the samples of windows that are as long as periods, or longer.
func (r *rollupSampler) reserve() {
	n := len(r.series.Start) + 1
	if r.periodStarts {
		n *= 2
	}
	r.out.Times = make([]int64, 0, n)
	if !r.native {
		r.out.Values = make([]float64, 0, n)
	}
}

// every returns how far samples are apart in a period. A window that sees what follows as well
// weighs all samples alike: there they are as far apart as those that follow.
func (r *rollupSampler) every(i int) int64 {
	level := r.series.Level.Millis
	if r.next == nil || r.series.Start[i]+level <= r.until-r.windows.Width {
		return r.spacing
	}
	near := max(level/int64(r.series.Count[i]), 1000)
	switch {
	case r.windows.IsIncrease() && r.next.Increase != nil:
		near = r.next.Increase.Spacing
	case r.windows.IsIncrease():
		near = max(near, r.windows.Width/plan.PartOfWindow)
	case !r.windows.Ranged || r.windows.Function != "avg_over_time":
		return r.spacing
	}
	return min(r.spacing, near)
}

// takes reports whether there may be a sample at an instant.
func (r *rollupSampler) takes(at int64) bool {
	n := len(r.out.Times)
	return at <= r.until && (n == 0 || r.out.Times[n-1] < at)
}

func (r *rollupSampler) add(at int64, v float64) {
	if !r.takes(at) {
		return
	}
	r.out.Times, r.out.Values = append(r.out.Times, at), append(r.out.Values, v)
}

func (r *rollupSampler) gauge() {
	s, m := r.series, r.series.Metric
	values, function := s.Last, ""
	if r.windows.Ranged {
		function = r.windows.Function
	}
	switch function {
	case "max_over_time":
		values = s.Max
	case "min_over_time":
		values = s.Min
	}
	sum := func(i int) float64 {
		if m.Kind == frame.GaugeDouble {
			return math.Float64frombits(s.Sum[i].Lo)
		}
		return s.Sum[i].Float64() * math.Pow10(m.Exponent)
	}
	r.each(func(i int, times []int64) {
		var v float64
		switch {
		case function == "avg_over_time":
			v = sum(i) / float64(s.Count[i])
		case function == "sum_over_time":
			v, times = sum(i), times[len(times)-1:]
		case m.Kind == frame.GaugeDouble:
			v = math.Float64frombits(uint64(values[i]))
		default:
			v = frame.Scale(values[i], m.Exponent)
		}
		for _, at := range times {
			r.add(at, v)
		}
	})
}

// portion returns which part of what has run of a period has passed at an instant. end is its last.
func portion(start, at, end int64) float64 {
	return float64(at-start) / float64(end+1-start)
}

// counter has a period's last value. Or it rises by increases and never begins anew: from the
// first period's last value, or to where what follows begins: else the border would look like a
// restart, and a rate there like the whole life's count.
func (r *rollupSampler) counter(first, last, increase func(i int) float64) {
	s := r.series
	top, most := 0.0, math.Inf(1) // rounded, it must not be more than what follows
	if r.windows.IsIncrease() && len(s.Start) > 0 {
		top = last(0) - increase(0)
		if r.next != nil {
			top = last(len(s.Start) - 1)
			if r.next.Increase != nil {
				top = r.next.Increase.Value
			}
			most = top
			for i := range s.Start {
				top -= increase(i)
			}
		}
		r.increase = &series.IncreaseStart{Value: top, Spacing: r.spacing}
	}
	from := 0.0
	r.each(func(i int, times []int64) {
		switch {
		case r.windows.IsIncrease():
			if i == 0 {
				r.add(s.Start[0], top)
			}
			from, top = top, min(top+increase(i), most)
			if r.periodStarts {
				r.add(s.Start[i]+1, from)
			}
		default:
			if from = top; i == 0 {
				from = first(0)
			}
			top = last(i)
		}
		end := times[len(times)-1]
		for _, at := range times[:len(times)-1] {
			r.add(at, from+(top-from)*portion(s.Start[i], at, end))
		}
		r.add(end, top)
	})
}

// histogram does for native histograms what counter and gauge do for numbers.
func (r *rollupSampler) histogram(bounds []float64) {
	s, m := r.series, r.series.Metric
	r.native = true
	add := func(at int64, counts []float64, sum float64) {
		if !r.takes(at) {
			return
		}
		if !m.HasSum {
			sum = math.NaN()
		}
		r.out.Times = append(r.out.Times, at)
		h := series.NativeDense(m, bounds, counts, sum)
		if r.windows.IsIncrease() && m.Kind == frame.Histogram {
			h.CounterResetHint = histogram.NotCounterReset // though a bucket may rise from below 0
		}
		r.out.Native = append(r.out.Native, h)
	}
	if m.Kind == frame.GaugeHistogram {
		r.gauges(add)
		return
	}
	var top []float64
	var topSum float64
	if n := len(s.Start); r.windows.IsIncrease() && n > 0 {
		end, fall := 0, 1
		if r.next != nil {
			end, fall = n-1, n
		}
		top, topSum = asFloats(s.LastCounts[end]), frame.Scale(s.Last[end], m.Exponent)
		if r.next != nil {
			if of := r.next.Increase; of != nil && len(of.Counts) == len(top) {
				top, topSum = slices.Clone(of.Counts), of.Value
			}
		}
		for i := range fall {
			topSum -= frame.Scale(s.Increase[i], m.Exponent)
			for b, n := range s.Increases[i] {
				top[b] -= float64(n)
			}
		}
		r.increase = &series.IncreaseStart{Value: topSum, Counts: slices.Clone(top),
			Spacing: r.spacing}
	}
	r.each(func(i int, times []int64) {
		if r.windows.IsIncrease() && i == 0 {
			add(s.Start[0], top, topSum)
		}
		from, fromSum := asFloats(s.FirstCounts[i]), frame.Scale(s.First[i], m.Exponent)
		switch {
		case r.windows.IsIncrease():
			from, fromSum = top, topSum
			top, topSum = slices.Clone(top), topSum+frame.Scale(s.Increase[i], m.Exponent)
			for b := range top {
				top[b] += float64(s.Increases[i][b])
			}
			if r.periodStarts {
				add(s.Start[i]+1, from, fromSum)
			}
		default:
			if i > 0 {
				from, fromSum = top, topSum
			}
			top, topSum = asFloats(s.LastCounts[i]), frame.Scale(s.Last[i], m.Exponent)
		}
		end := times[len(times)-1]
		for _, at := range times[:len(times)-1] {
			passed := portion(s.Start[i], at, end)
			between := make([]float64, len(top))
			for b := range between {
				between[b] = from[b] + (top[b]-from[b])*passed
			}
			add(at, between, fromSum+(topSum-fromSum)*passed)
		}
		add(end, top, topSum)
	})
}

// gauges is histogram for those that are gauges.
func (r *rollupSampler) gauges(add func(at int64, counts []float64, sum float64)) {
	s, m := r.series, r.series.Metric
	function := ""
	if r.windows.Ranged {
		function = r.windows.Function
	}
	r.each(func(i int, times []int64) {
		counts, sum := asFloats(s.LastCounts[i]), frame.Scale(s.Last[i], m.Exponent)
		if function == "sum_over_time" || function == "avg_over_time" {
			counts, sum = asFloats(s.Increases[i]), frame.Scale(s.Increase[i], m.Exponent)
		}
		switch function {
		case "avg_over_time":
			for b := range counts {
				counts[b] /= float64(s.Count[i])
			}
			sum /= float64(s.Count[i])
		case "sum_over_time":
			times = times[len(times)-1:]
		}
		for _, at := range times {
			add(at, counts, sum)
		}
	})
}

func asFloats(counts []int64) []float64 {
	list := make([]float64, len(counts))
	for i, n := range counts {
		list[i] = float64(n)
	}
	return list
}
