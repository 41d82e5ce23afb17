package window

import (
	"context"
	"iter"
	"math"
	"slices"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/ringwatch/ringwatch/frame"
)

// Line is one series over several windows, by where it stands in each of them. It has no values
// before they are read, so many lines take little.
type Line struct {
	Labels labels.Labels // __name__, cluster, datacenter, rack, node and the entity's own
	Metric *Metric

	search    *searched
	ranges    []windowRange
	unordered bool // its instants do not ascend from range to range
}

// windowRange is some successive windows of which one dictionary says where the line is.
type windowRange struct {
	from, to   int // windows
	dictionary int // the type's number among searched.types
	metric     int
	row        int32
}

// searched are the windows in which lines were searched, which all these lines share.
type searched struct {
	windows  []*Window
	types    [][]*Type // by dictionary and by window; nil where the window has none
	disjoint bool      // no window begins before the one before it has ended
}

// What a line takes, in bytes, beside its labels.
const lineBytes = 96 + 40

// Lines returns the series of windows of one node that match, in no order. The windows are in
// ascending order of their first instants. A series is there too if it has no value in any of them.
// Labels are taken from the allowance. The error is the allowance's or the context's.
func Lines(ctx context.Context, allow Allowance, windows []*Window,
	matchers ...*labels.Matcher) ([]Line, error) {
	s := lineSearch{in: &searched{windows: windows, disjoint: true}, allow: allow,
		byLabels: map[uint64][]int32{}}
	until := int64(-1 << 62)
	known := map[*Dictionary]*dictionaryLines{}
	for i, w := range windows {
		if n := len(w.Times); n > 0 {
			s.in.disjoint = s.in.disjoint && w.Times[0] > until
			until = max(until, w.Times[n-1])
		}
		for _, t := range w.Types {
			k := known[t.Dictionary]
			if k == nil {
				var err error
				if k, err = s.linesOf(ctx, t, matchers); err != nil {
					return nil, err
				}
				known[t.Dictionary] = k
			}
			if len(k.list) > 0 {
				s.in.types[k.number][i] = t
				s.extend(k, i)
			}
		}
	}
	return s.list, ctx.Err()
}

// dictionaryLines are the lines of one dictionary.
type dictionaryLines struct {
	number int
	last   int // the window that its ranges were extended to
	list   []dictionaryLine
}

type dictionaryLine struct {
	line      int32
	lastRange int32 // number in the line
	metric    int
	row       int32
}

type lineSearch struct {
	in       *searched
	allow    Allowance
	list     []Line
	byLabels map[uint64][]int32
}

// linesOf finds the lines that a type's dictionary has.
func (s *lineSearch) linesOf(ctx context.Context, t *Type,
	matchers []*labels.Matcher) (*dictionaryLines, error) {
	k := &dictionaryLines{last: -1}
	metrics := t.MatchMetrics(ctx, matchers...)
	if len(metrics) == 0 {
		return k, ctx.Err()
	}
	rows := t.MatchRows(ctx, matchers...)
	if len(rows) == 0 {
		return k, ctx.Err()
	}
	k.number = len(s.in.types)
	s.in.types = append(s.in.types, make([]*Type, len(s.in.windows)))
	k.list = make([]dictionaryLine, 0, len(metrics)*len(rows))
	b := labels.NewScratchBuilder(5 + len(t.Labels))
	node := t.Node.String()
	for _, m := range metrics {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		owed := int64(0)
		for _, row := range rows {
			l := t.labels(&b, node, m, row)
			number, isNew := s.line(l, &t.Metrics[m])
			if isNew {
				owed += lineBytes + LabelsBytes(l)
			}
			k.list = append(k.list, dictionaryLine{line: number, metric: m, row: row})
		}
		if err := s.allow.Take(owed); err != nil {
			return nil, err
		}
	}
	return k, nil
}

// line returns the number of a line, which it makes if it is not there.
func (s *lineSearch) line(l labels.Labels, m *Metric) (number int32, isNew bool) {
	hash := l.Hash()
	for _, i := range s.byLabels[hash] {
		if s.list[i].Metric.Same(m) && labels.Equal(s.list[i].Labels, l) {
			return i, false
		}
	}
	number = int32(len(s.list))
	s.byLabels[hash] = append(s.byLabels[hash], number)
	s.list = append(s.list, Line{Labels: l, Metric: m, search: s.in})
	return number, true
}

// extend says that window i has a dictionary's lines, too.
func (s *lineSearch) extend(k *dictionaryLines, i int) {
	goesOn := k.last == i-1 && k.last >= 0
	k.last = i
	for j := range k.list {
		known := &k.list[j]
		line := &s.list[known.line]
		if goesOn && int(known.lastRange) == len(line.ranges)-1 {
			line.ranges[known.lastRange].to = i + 1
			continue
		}
		if n := len(line.ranges); n > 0 && line.ranges[n-1].to > i { // two types have it
			line.unordered = true
		}
		known.lastRange = int32(len(line.ranges))
		line.ranges = append(line.ranges, windowRange{from: i, to: i + 1, dictionary: k.number,
			metric: known.metric, row: known.row})
	}
}

// Samples are the values of one line, in ascending order of time, each instant once. Its lists are
// used again by the next Read.
type Samples struct {
	At    []int64  // milliseconds since the Unix epoch
	Words []int64  // integers, doubles' bits, or histograms' sums
	Texts []string // texts alone
	// Histograms alone: Counts are how many observations there were. Bucket and Delta are how the
	// counts by bucket differ from those of the value before, of the first one from zero: those of
	// value i end at BucketEnd[i]. A bucket may be named more than once.
	Counts    []int64
	BucketEnd []int32
	Bucket    []uint16
	Delta     []int64
	// NoBuckets says that some of the values were read without their buckets, so that there are
	// none.
	NoBuckets bool

	before, now []int64 // counts by bucket: of the last value, and scratch
}

// Read reads the values at instants from ≤ at ≤ to (milliseconds since the Unix epoch), of
// histograms with their buckets if they are wanted.
func (l *Line) Read(v *Samples, from, to int64, buckets bool) {
	v.reset(l.Metric, buckets)
	if l.unordered || !l.search.disjoint {
		v.series(l.Series(from, to))
		return
	}
	for w, at := range l.places() {
		v.window(w, at, from, to)
	}
	if v.NoBuckets {
		v.BucketEnd, v.Bucket, v.Delta = v.BucketEnd[:0], v.Bucket[:0], v.Delta[:0]
	}
}

// place is where a line stands in a window.
type place struct {
	in     *Type
	metric int
	row    int32
}

// places are the windows that have the line, and where each has it.
func (l *Line) places() iter.Seq2[*Window, place] {
	return func(yield func(*Window, place) bool) {
		for i := range l.ranges {
			r := &l.ranges[i]
			for n := r.from; n < r.to; n++ {
				w := l.search.windows[n]
				if len(w.Times) > 0 &&
					!yield(w, place{l.search.types[r.dictionary][n], r.metric, r.row}) {
					return
				}
			}
		}
	}
}

// Series returns the line with its values at instants from ≤ at ≤ to (milliseconds since the Unix
// epoch). Where two windows know an instant the earlier one counts.
func (l *Line) Series(from, to int64) *Series {
	all := &Series{Labels: l.Labels, Metric: l.Metric}
	for w, at := range l.places() {
		if at.in.columns[at.metric] == unknown {
			continue
		}
		one := Series{Labels: l.Labels, Metric: l.Metric}
		first, _ := slices.BinarySearch(w.Times, from)
		end, _ := slices.BinarySearch(w.Times, to+1)
		c := newCursor(at.in, at.metric, int32(len(w.Times)))
		for c.row(at.row); c.next(int32(first), int32(end)); {
			c.appendTo(&one, w.Times[c.instant])
		}
		joined := all.union(&one)
		all = &joined
	}
	return all
}

// Of takes the values of a series, of histograms with their buckets.
func (v *Samples) Of(s *Series) {
	v.reset(s.Metric, true)
	v.series(s)
}

func (v *Samples) series(s *Series) {
	v.At, v.Texts = append(v.At, s.At...), append(v.Texts, s.Strings...)
	v.Words = append(v.Words, s.Ints...)
	for _, d := range s.Doubles {
		v.Words = append(v.Words, int64(math.Float64bits(d)))
	}
	for i := range s.Histograms {
		h := &s.Histograms[i]
		v.NoBuckets = v.NoBuckets || len(h.Counts) == 0 && h.Total != 0
		v.Words, v.Counts = append(v.Words, h.Sum), append(v.Counts, h.Count())
	}
	for i := 0; i < len(s.Histograms) && !v.NoBuckets; i++ {
		clear(v.now)
		for j, b := range s.Histograms[i].Filled {
			v.now[b] = s.Histograms[i].Counts[j]
		}
		v.appendDeltas()
		v.before, v.now = v.now, v.before
		v.BucketEnd = append(v.BucketEnd, int32(len(v.Bucket)))
	}
}

func (v *Samples) reset(m *Metric, buckets bool) {
	v.At, v.Words, v.Texts, v.Counts = v.At[:0], v.Words[:0], v.Texts[:0], v.Counts[:0]
	v.BucketEnd, v.Bucket, v.Delta = v.BucketEnd[:0], v.Bucket[:0], v.Delta[:0]
	v.NoBuckets = !m.Kind.IsHistogram() || !buckets
	if n := m.Buckets(); !v.NoBuckets {
		v.before, v.now = slices.Grow(v.before[:0], n)[:n], slices.Grow(v.now[:0], n)[:n]
		clear(v.before)
	}
}

// window appends what one window says of a line.
func (v *Samples) window(w *Window, at place, from, to int64) {
	c := at.in.columns[at.metric]
	if c == unknown {
		return
	}
	first, end := 0, len(w.Times)
	if w.Times[0] < from {
		first, _ = slices.BinarySearch(w.Times, from)
	}
	if w.Times[end-1] > to {
		end, _ = slices.BinarySearch(w.Times, to+1)
	}
	if first >= end {
		return
	}
	r := rowValues{out: v, column: c, kind: at.in.Metrics[at.metric].Kind}
	if c != nil {
		if i, found := c.find(at.row); found {
			r.change, r.last = c.changes(i)
		}
	}
	if r.kind.IsHistogram() && c.noBuckets() {
		v.NoBuckets = true
	}
	if !v.NoBuckets {
		clear(v.now) // a window's changes begin at zero
	}
	edges, full := at.in.presenceOf(c).of(at.row)
	if full {
		r.append(w.Times, int32(first), int32(end))
	}
	for i := 0; i < len(edges); i += 2 {
		until := int32(end)
		if i+1 < len(edges) {
			until = min(until, edges[i+1])
		}
		r.append(w.Times, max(edges[i], int32(first)), until)
	}
	if r.begun && !v.NoBuckets {
		v.before, v.now = v.now, v.before
	}
}

// rowValues walks the changes of one row of one window.
type rowValues struct {
	out          *Samples
	column       *column // nil: all zero
	kind         frame.Kind
	change, last int
	word, total  int64
	begun        bool // a value of this window has been appended
}

// append appends the values of instants first … end−1, at all of which the row is there.
func (r *rowValues) append(times []int64, first, end int32) {
	if first >= end {
		return
	}
	r.out.At = append(r.out.At, times[first:end]...)
	for at := first; at < end; {
		r.advance(at)
		until := end
		if r.change < r.last {
			until = min(until, r.column.at[r.change])
		}
		r.repeat(int(until - at))
		at = until
	}
}

// advance applies the changes up to an instant.
func (r *rowValues) advance(at int32) {
	for ; r.change < r.last && r.column.at[r.change] <= at; r.change++ {
		if !r.kind.IsHistogram() {
			r.word = r.column.words[r.change]
			continue
		}
		r.word += r.column.words[r.change]
		if r.column.totals != nil {
			r.total += r.column.totals[r.change]
			continue
		}
		from, to := r.column.buckets(r.change)
		for i := from; i < to; i++ {
			r.total += r.column.count[i]
		}
		if r.out.NoBuckets {
			continue
		}
		for i := from; i < to; i++ {
			r.out.now[r.column.bucket[i]] += r.column.count[i]
		}
		if r.begun {
			r.out.Bucket = append(r.out.Bucket, r.column.bucket[from:to]...)
			r.out.Delta = append(r.out.Delta, r.column.count[from:to]...)
		}
	}
}

// repeat appends the value n times.
func (r *rowValues) repeat(n int) {
	switch {
	case r.kind == frame.String:
		text := ""
		if r.column != nil && len(r.column.texts) > 0 {
			text = r.column.texts[r.word]
		}
		for range n {
			r.out.Texts = append(r.out.Texts, text)
		}
		return
	case !r.kind.IsHistogram():
		for range n {
			r.out.Words = append(r.out.Words, r.word)
		}
		return
	}
	if !r.out.NoBuckets && !r.begun {
		r.out.appendDeltas()
	}
	r.begun = true
	for range n {
		r.out.Words, r.out.Counts = append(r.out.Words, r.word), append(r.out.Counts, r.total)
		if !r.out.NoBuckets {
			r.out.BucketEnd = append(r.out.BucketEnd, int32(len(r.out.Bucket)))
		}
	}
}

// appendDeltas appends how the counts differ from those of the value before.
func (v *Samples) appendDeltas() {
	for i, n := range v.now {
		if d := n - v.before[i]; d != 0 {
			v.Bucket, v.Delta = append(v.Bucket, uint16(i)), append(v.Delta, d)
		}
	}
}
