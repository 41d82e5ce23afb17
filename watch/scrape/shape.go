package scrape

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/prometheus/prometheus/model/histogram"

	"github.com/ringwatch/ringwatch/frame"
)

// shape is the buckets that all histograms of a metric have. Those of classic ones are their own.
// Those of native ones are a range of the exponential buckets that grows in steps.
type shape struct {
	bounds frame.Bounds
	values []float64 // of bounds, ascending, as bucketOf compares them

	custom   []float64 // of classic ones
	native   bool
	schema   int32
	zero     float64 // observations up to it, and from its negative on, are zero
	pos, neg span
}

// span is a range of buckets, first and last included.
type span struct {
	first, last int32
	any         bool
}

const (
	maxSchema  = 3   // 8 buckets to each power of 2
	step       = 16  // how far a range grows
	maxBuckets = 400 // of a range; else the schema gets coarser
	digits     = 5   // of an exponential bound: a bucket has the same bound in each set
	tiny       = 1e-12
)

// adopt makes the shape one for the histograms of a scrape, if it is not yet.
func (s *shape) adopt(list []sample) {
	if len(list) == 0 {
		return
	}
	if s.custom == nil && !s.native || !slices.ContainsFunc(list, func(one sample) bool {
		return s.fits(one.bucket)
	}) {
		first := list[0].bucket
		*s = shape{native: !first.UsesCustomBuckets(), schema: maxSchema}
		if !s.native {
			s.custom = slices.Clone(first.CustomValues)
			s.bounds, _ = decimalBounds(s.custom)
			return
		}
	}
	if s.native {
		s.grow(list)
	}
}

// fits reports whether a histogram's buckets are of the shape.
func (s *shape) fits(h *histogram.FloatHistogram) bool {
	if s.native {
		return !h.UsesCustomBuckets() && len(s.bounds.Upper) > 0
	}
	return h.UsesCustomBuckets() && len(s.bounds.Upper) > 0 &&
		slices.Equal(h.CustomValues, s.custom)
}

// grow widens the range to what native histograms have counted.
func (s *shape) grow(list []sample) {
	was := *s
	for _, one := range list {
		h := one.bucket
		if h.UsesCustomBuckets() {
			continue
		}
		if h.Schema < s.schema {
			s.coarser(h.Schema)
		}
		s.zero = max(s.zero, h.ZeroThreshold)
		s.pos.cover(h.PositiveBucketIterator(), h.Schema-s.schema)
		s.neg.cover(h.NegativeBucketIterator(), h.Schema-s.schema)
		for s.pos.len()+s.neg.len() > maxBuckets && s.schema > histogram.ExponentialSchemaMin {
			s.coarser(s.schema - 1)
		}
	}
	if was.values != nil && was.schema == s.schema && was.zero == s.zero && was.pos == s.pos &&
		was.neg == s.neg {
		return
	}
	weights := map[float64]float64{}
	for _, one := range list {
		h := one.bucket
		if h.UsesCustomBuckets() {
			continue
		}
		by := max(h.Schema-s.schema, 0)
		for _, it := range []histogram.BucketIterator[float64]{h.PositiveBucketIterator(),
			h.NegativeBucketIterator()} {
			for it.Next() {
				b := it.At()
				weights[s.upper(merged(b.Index, by))] += b.Count
			}
		}
	}
	s.bounds, s.values = s.exponential(weights)
}

func (s *shape) coarser(schema int32) {
	by := s.schema - schema
	for _, r := range []*span{&s.pos, &s.neg} {
		if r.any {
			r.first, r.last = merged(r.first, by), merged(r.last, by)
		}
	}
	s.schema = schema
}

// merged is the number of a bucket in a schema that is coarser by so much.
func merged(index, by int32) int32 { return (index-1)>>by + 1 }

func (r *span) len() int {
	if !r.any {
		return 0
	}
	return int(r.last-r.first) + 1
}

// cover widens the span, in steps, to the buckets that have counts.
func (r *span) cover(it histogram.BucketIterator[float64], coarser int32) {
	for it.Next() {
		b := it.At()
		if b.Count == 0 {
			continue
		}
		i := merged(b.Index, max(coarser, 0))
		first := (i-1)&^(step-1) + 1
		last := first + step - 1
		if !r.any {
			*r = span{first, last, true}
		}
		r.first, r.last = min(r.first, first), max(r.last, last)
	}
}

// upper is the upper bound of a bucket with positive values, rounded to a few digits.
func (s *shape) upper(index int32) float64 {
	return rounded(math.Exp2(float64(index) * math.Exp2(-float64(s.schema))))
}

func rounded(v float64) float64 {
	r, _ := strconv.ParseFloat(strconv.FormatFloat(v, 'e', digits-1, 64), 64)
	return r
}

// threshold is what zero is up to.
func (s *shape) threshold() float64 {
	if s.zero < tiny {
		return 0
	}
	return rounded(s.zero)
}

// exponential returns the bounds of the range. Where the smallest and the largest are too far apart
// for one exponent, it has those where most observations are: weights are their numbers by bound.
func (s *shape) exponential(weights map[float64]float64) (frame.Bounds, []float64) {
	zero := s.threshold()
	list := []float64{zero}
	if zero > 0 && s.neg.any {
		list = append(list, -zero)
	}
	for _, r := range []*span{&s.pos, &s.neg} {
		for i := r.first - 1; r.any && i <= r.last; i++ {
			v := s.upper(i)
			switch {
			case v <= zero:
			case r == &s.neg:
				list = append(list, -v)
			default:
				list = append(list, v)
			}
		}
	}
	slices.Sort(list)
	list = slices.Compact(list)
	b, most := frame.Bounds{}, -1.0
	var values []float64
	for exponent := -18; exponent <= 18; exponent++ {
		upper, of := held(list, zero, exponent)
		sum := float64(len(of)) / (1 + maxBuckets*2) // bounds count where observations do not
		for _, v := range of {
			sum += weights[math.Abs(v)]
		}
		if sum > most {
			b, values, most = frame.Bounds{Exponent: exponent, Upper: upper}, of, sum
		}
	}
	return b, values
}

// held returns those of the bounds that are multiples of 10^exponent, and not too many times.
func held(list []float64, zero float64, exponent int) (upper []int64, values []float64) {
	for _, v := range list {
		mantissa, power := decimal(v)
		switch {
		case mantissa == 0:
			power = exponent
		case math.Abs(v) >= 9*math.Pow10(18+exponent):
			continue
		case power < exponent && v == zero:
			v, mantissa, power = 0, 0, exponent
		case power < exponent:
			continue
		}
		for ; power > exponent; power-- {
			mantissa *= 10
		}
		upper, values = append(upper, mantissa), append(values, v)
	}
	return upper, values
}

// decimal returns v, which has a few digits, as mantissa × 10^power.
func decimal(v float64) (mantissa int64, power int) {
	text, exp, _ := strings.Cut(strconv.FormatFloat(v, 'e', digits-1, 64), "e")
	mantissa, _ = strconv.ParseInt(strings.Replace(text, ".", "", 1), 10, 64)
	power, _ = strconv.Atoi(exp)
	power -= digits - 1
	for mantissa != 0 && mantissa%10 == 0 {
		mantissa /= 10
		power++
	}
	return mantissa, power
}

// counts returns the counts of a histogram that fits and is countable.
func (s *shape) counts(h *histogram.FloatHistogram) []int64 {
	n := make([]int64, len(s.bounds.Upper)+1)
	if !s.native {
		for it := h.PositiveBucketIterator(); it.Next(); {
			b := it.At()
			n[min(int(b.Index), len(n)-1)] += int64(b.Count)
		}
		return n
	}
	add := func(upper, count float64) {
		at, _ := slices.BinarySearch(s.values, upper)
		n[at] += int64(count)
	}
	zero := s.threshold()
	add(zero, h.ZeroCount)
	by := max(h.Schema-s.schema, 0)
	for it := h.PositiveBucketIterator(); it.Next(); {
		b := it.At()
		add(max(s.upper(merged(b.Index, by)), zero), b.Count)
	}
	for it := h.NegativeBucketIterator(); it.Next(); {
		b := it.At()
		v := -s.upper(merged(b.Index, by) - 1)
		if -v < zero || s.upper(merged(b.Index, by)) <= zero {
			v = zero
		}
		add(v, b.Count)
	}
	return n
}

// countable reports whether a histogram's counts are numbers of observations.
func countable(h *histogram.FloatHistogram) bool {
	good := func(v float64) bool { return v >= 0 && v == math.Trunc(v) && v < 1<<62 }
	if !good(h.ZeroCount) {
		return false
	}
	for _, it := range []histogram.BucketIterator[float64]{h.PositiveBucketIterator(),
		h.NegativeBucketIterator()} {
		for it.Next() {
			if !good(it.At().Count) {
				return false
			}
		}
	}
	return true
}

// maxDecimals is how many decimals of a classic histogram's bounds are kept.
const maxDecimals = 12

// decimalBounds returns a classic histogram's bounds as decimals; false if a frame has none such.
func decimalBounds(list []float64) (frame.Bounds, bool) {
	n := 0
	for _, v := range list {
		if _, after, found := strings.Cut(strconv.FormatFloat(v, 'f', -1, 64), "."); found {
			n = min(max(n, len(after)), maxDecimals)
		}
	}
	b := frame.Bounds{Exponent: -n}
	for i, v := range list {
		text := strings.Replace(strconv.FormatFloat(v, 'f', n, 64), ".", "", 1)
		upper, err := strconv.ParseInt(text, 10, 64)
		if err != nil || i > 0 && upper <= b.Upper[i-1] {
			return frame.Bounds{}, false
		}
		b.Upper = append(b.Upper, upper)
	}
	if len(b.Upper) == 0 || len(b.Upper) > frame.MaxBounds {
		return frame.Bounds{}, false
	}
	return b, true
}

func textOf(b frame.Bounds) string {
	text := strconv.AppendInt(nil, int64(b.Exponent), 10)
	for _, v := range b.Upper {
		text = strconv.AppendInt(append(text, ' '), v, 36)
	}
	return string(text)
}
