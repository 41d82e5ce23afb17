package query

import (
	"math"
	"slices"

	"github.com/prometheus/prometheus/model/histogram"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/rollup"
)

// points are samples that were computed. The values are floats, or histograms if there are any.
type points struct {
	times  []int64
	values []float64
	native []*histogram.FloatHistogram
}

func (p *points) len() int          { return len(p.times) }
func (p *points) at(i int) int64    { return p.times[i] }
func (p *points) isHistogram() bool { return len(p.native) > 0 }
func (p *points) float(i int) float64 {
	return p.values[i]
}
func (p *points) histogram(i int, into *histogram.FloatHistogram) *histogram.FloatHistogram {
	if into == nil {
		return p.native[i].Copy()
	}
	p.native[i].CopyTo(into)
	return into
}

// view says as what a series' values are shown.
type view struct {
	suffix string // of the classic name; empty: the series itself
	bucket int    // with _bucket: the last bucket that counts
}

// rolled makes samples of a series' rollups, so that functions find in them what they would find in
// the samples that the rollups sum up: a period's last value at its last millisecond, unless that
// is after until. The functions rate and increase are given every increase, also where a counter
// began anew; max_over_time, min_over_time, sum_over_time and avg_over_time a period's own maximum,
// minimum, sum and mean.
//
// A range window shorter than two periods sees some samples of each: increases are then spread
// evenly over their period, and so they are where windows lie otherwise than periods. Of these
// there are only those that a window sees. Where windows end with periods, each period of a counter
// has a sample at its begin, so that they see just its increase.
//
// next is what follows of the series, or nil. Windows that see both find one series in them.
func rolled(s *rollup.Series, v view, w *windows, until, now int64, next *part) part {
	m := s.Metric
	r := roller{series: s, windows: w, until: until, now: now, spacing: s.Level.Millis, next: next}
	r.begins = w.rises() && w.aligned(s.Level) && w.width >= s.Level.Millis &&
		partOfRate*(w.width%s.Level.Millis) <= w.width
	if !r.begins && (w.rises() || w.ranged && w.width < 2*s.Level.Millis) {
		// Evenly, also from one period to the next: rate() mistrusts a window that begins longer before
		// its first sample than samples are apart, and would see less than there was.
		n := max(2, (2*s.Level.Millis+w.width-1)/w.width)
		r.spacing = max(s.Level.Millis/n, 1000)
	}
	switch {
	case !m.Kind.IsHistogram() && m.Kind != frame.Counter:
		r.gauge()
	case !m.Kind.IsHistogram():
		r.counter(func(p *rollup.Point) (first, last, increase float64) {
			return frame.Scale(p.First, m.Exponent), frame.Scale(p.Last, m.Exponent),
				frame.Scale(p.Increase, m.Exponent)
		})
	case v.suffix == suffixSum:
		r.counter(func(p *rollup.Point) (first, last, increase float64) {
			return frame.Scale(p.First, m.Exponent), frame.Scale(p.Last, m.Exponent),
				frame.Scale(p.Increase, m.Exponent)
		})
	case v.suffix == suffixCount:
		r.counter(func(p *rollup.Point) (first, last, increase float64) {
			return total(p.FirstCounts), total(p.LastCounts), total(p.Increases)
		})
	case v.suffix == suffixBucket:
		upTo := v.bucket + 1
		r.counter(func(p *rollup.Point) (first, last, increase float64) {
			return total(p.FirstCounts[:upTo]), total(p.LastCounts[:upTo]),
				total(p.Increases[:upTo])
		})
	default:
		r.histogram(upperBounds(m.Bounds))
	}
	return part{samples: &r.out, ends: r.ends, rise: r.rise}
}

// rise is how what rollups show to rate and increase begins: a number, or a histogram's counts and
// sum.
type rise struct {
	value   float64
	counts  []float64
	spacing int64 // of its samples, ms
}

func total(counts []int64) (sum float64) {
	for _, n := range counts {
		sum += float64(n)
	}
	return sum
}

// roller is one rolled.
type roller struct {
	*windows
	series  *rollup.Series
	until   int64 // no sample is later
	now     int64
	spacing int64 // of samples within a period
	begins  bool  // a period has a sample at its begin
	next    *part
	out     points
	ends    []int64
	rise    *rise
}

// each visits the periods with the instants at which each has samples; the last is that of its last
// value. before is the period before it in the series, or nil.
func (r *roller) each(visit func(before, p *rollup.Point, times []int64)) {
	level := r.series.Level.Millis
	var times []int64
	for i := range r.series.Points {
		p := &r.series.Points[i]
		var before *rollup.Point
		if i > 0 {
			before = &r.series.Points[i-1]
			if p.Start > before.Start+level {
				r.ends = append(r.ends, before.Start+2*level-1)
			}
		}
		last := p.Start + level - 1
		if last > r.now { // the period is not over, and its last value is from before now
			last = min(r.now, r.until)
		}
		times = times[:0]
		every := r.every(p)
		for at := p.Start + every; at < last-2; at += every {
			if seen := r.seen(at); seen > at {
				at += (seen - at - 1) / every * every
			} else {
				times = append(times, at)
			}
		}
		visit(before, p, append(times, last))
	}
	if n := len(r.series.Points); n > 0 {
		if end := r.series.Points[n-1].Start + 2*level - 1; end <= r.until {
			r.ends = append(r.ends, end)
		}
	}
}

// every returns how far samples are apart in a period. A window that sees what follows as well
// weighs all samples alike: there they are as far apart as those that follow.
func (r *roller) every(p *rollup.Point) int64 {
	level := r.series.Level.Millis
	if r.next == nil || r.apart() || p.Start+level <= r.until-r.width {
		return r.spacing
	}
	near := max(level/p.Count, 1000)
	switch {
	case r.rises() && r.next.rise != nil:
		near = r.next.rise.spacing
	case r.rises():
		near = max(near, r.width/partOfWindow)
	case !r.ranged || r.function != "avg_over_time":
		return r.spacing
	}
	return min(r.spacing, near)
}

// takes reports whether there may be a sample at an instant.
func (r *roller) takes(at int64) bool {
	n := len(r.out.times)
	return at <= r.until && (n == 0 || r.out.times[n-1] < at)
}

func (r *roller) add(at int64, v float64) {
	if !r.takes(at) {
		return
	}
	r.out.times, r.out.values = append(r.out.times, at), append(r.out.values, v)
}

func (r *roller) gauge() {
	m := r.series.Metric
	of := func(v int64, double float64) float64 {
		if m.Kind == frame.GaugeDouble {
			return double
		}
		return frame.Scale(v, m.Exponent)
	}
	r.each(func(_, p *rollup.Point, times []int64) {
		v := of(p.Last, p.LastDouble)
		sum := p.SumDouble
		if m.Kind == frame.Gauge {
			sum = p.Sum.Float64() * math.Pow10(m.Exponent)
		}
		if r.ranged {
			switch r.function {
			case "max_over_time":
				v = of(p.Max, p.MaxDouble)
			case "min_over_time":
				v = of(p.Min, p.MinDouble)
			case "avg_over_time":
				v = sum / float64(p.Count)
			case "sum_over_time":
				v, times = sum, times[len(times)-1:]
			}
		}
		for _, at := range times {
			r.add(at, v)
		}
	})
}

// share returns which part of what has run of a period has passed at an instant. end is its last.
func share(p *rollup.Point, at, end int64) float64 {
	return float64(at-p.Start) / float64(end+1-p.Start)
}

// counter has a period's last value. Or it rises by increases and never begins anew: from the first
// period's last value, or to where what follows begins.
func (r *roller) counter(of func(*rollup.Point) (first, last, increase float64)) {
	top, most := 0.0, math.Inf(1) // rounded, it must not be more than what follows
	if r.rises() && len(r.series.Points) > 0 {
		_, last, increase := of(&r.series.Points[0])
		top = last - increase
		if r.next != nil {
			top = r.following(of)
			most = top
			for i := range r.series.Points {
				_, _, increase := of(&r.series.Points[i])
				top -= increase
			}
		}
		r.rise = &rise{value: top, spacing: r.spacing}
		r.add(r.series.Points[0].Start, top)
	}
	r.each(func(before, p *rollup.Point, times []int64) {
		from, last, increase := of(p)
		switch {
		case r.rises():
			from, top = top, min(top+increase, most)
			if r.begins {
				r.add(p.Start+1, from)
			}
		default:
			if top = last; before != nil {
				_, from, _ = of(before)
			}
		}
		end := times[len(times)-1]
		for _, at := range times[:len(times)-1] {
			r.add(at, from+(top-from)*share(p, at, end))
		}
		r.add(end, top)
	})
}

// following returns what a counter is at when what follows begins.
func (r *roller) following(of func(*rollup.Point) (first, last, increase float64)) float64 {
	if r.next.rise != nil {
		return r.next.rise.value
	}
	_, last, _ := of(&r.series.Points[len(r.series.Points)-1])
	return last
}

// histogram does for native histograms what counter and gauge do for numbers.
func (r *roller) histogram(bounds []float64) {
	m := r.series.Metric
	add := func(at int64, counts []float64, sum float64) {
		if !r.takes(at) {
			return
		}
		if !m.HasSum {
			sum = math.NaN()
		}
		r.out.times = append(r.out.times, at)
		h := nativeDense(m, bounds, counts, sum)
		if r.rises() && m.Kind == frame.Histogram {
			h.CounterResetHint = histogram.NotCounterReset // though a bucket may rise from below 0
		}
		r.out.native = append(r.out.native, h)
	}
	if m.Kind == frame.GaugeHistogram {
		r.each(func(_, p *rollup.Point, times []int64) {
			counts, sum := asFloats(p.LastCounts), frame.Scale(p.Last, m.Exponent)
			if f := r.function; r.ranged && (f == "sum_over_time" || f == "avg_over_time") {
				counts, sum = asFloats(p.Increases), frame.Scale(p.Increase, m.Exponent)
				if f == "avg_over_time" {
					for i := range counts {
						counts[i] /= float64(p.Count)
					}
					sum /= float64(p.Count)
				} else {
					times = times[len(times)-1:]
				}
			}
			for _, at := range times {
				add(at, counts, sum)
			}
		})
		return
	}
	var top []float64
	var topSum float64
	if n := len(r.series.Points); r.rises() && n > 0 {
		first, last := &r.series.Points[0], &r.series.Points[n-1]
		top, topSum = asFloats(first.LastCounts), frame.Scale(first.Last, m.Exponent)
		fall := r.series.Points[:1]
		if r.next != nil {
			top, topSum, fall = asFloats(last.LastCounts), frame.Scale(last.Last, m.Exponent), r.series.Points
			if of := r.next.rise; of != nil && len(of.counts) == len(top) {
				top, topSum = slices.Clone(of.counts), of.value
			}
		}
		for i := range fall {
			topSum -= frame.Scale(fall[i].Increase, m.Exponent)
			for b, n := range fall[i].Increases {
				top[b] -= float64(n)
			}
		}
		r.rise = &rise{value: topSum, counts: slices.Clone(top), spacing: r.spacing}
		add(first.Start, top, topSum)
	}
	r.each(func(before, p *rollup.Point, times []int64) {
		from, fromSum := asFloats(p.FirstCounts), frame.Scale(p.First, m.Exponent)
		last, lastSum := asFloats(p.LastCounts), frame.Scale(p.Last, m.Exponent)
		switch {
		case r.rises():
			from, fromSum = top, topSum
			top, topSum = slices.Clone(top), topSum+frame.Scale(p.Increase, m.Exponent)
			for b := range top {
				top[b] += float64(p.Increases[b])
			}
			if r.begins {
				add(p.Start+1, from, fromSum)
			}
		default:
			if top, topSum = last, lastSum; before != nil {
				from, fromSum = asFloats(before.LastCounts), frame.Scale(before.Last, m.Exponent)
			}
		}
		end := times[len(times)-1]
		for _, at := range times[:len(times)-1] {
			share := share(p, at, end)
			part := make([]float64, len(top))
			for b := range part {
				part[b] = from[b] + (top[b]-from[b])*share
			}
			add(at, part, fromSum+(topSum-fromSum)*share)
		}
		add(end, top, topSum)
	})
}

func asFloats(counts []int64) []float64 {
	list := make([]float64, len(counts))
	for i, n := range counts {
		list[i] = float64(n)
	}
	return list
}
