package selecting

import (
	"context"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/ringwatch/ringwatch/window"
)

// Lines returns the series of windows of one node that match, in no order. The windows are in
// ascending order of their first instants. A series is there too if it has no value in any of them.
// Labels are taken from the allowance. The error is the allowance's or the context's.
func Lines(ctx context.Context, allow window.Allowance, windows []*window.Window,
	matchers ...*labels.Matcher) ([]Line, error) {
	s := lineSearch{in: &searched{windows: windows, disjoint: true}, allow: allow,
		byLabels: map[uint64][]int32{}}
	until := int64(-1 << 62)
	known := map[*window.Dictionary]*dictionaryLines{}
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

// What a line takes, in bytes, beside its labels.
const lineBytes = 96 + 40

type lineSearch struct {
	in       *searched
	allow    window.Allowance
	list     []Line
	byLabels map[uint64][]int32
}

// linesOf finds the lines that a type's dictionary has.
func (s *lineSearch) linesOf(ctx context.Context, t *window.Type,
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
	s.in.types = append(s.in.types, make([]*window.Type, len(s.in.windows)))
	k.list = make([]dictionaryLine, 0, len(metrics)*len(rows))
	b := labels.NewScratchBuilder(5 + len(t.Labels))
	node := t.Node.String()
	for _, m := range metrics {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		owed := int64(0)
		for _, row := range rows {
			l := t.LabelsOf(&b, node, m, row)
			number, isNew := s.line(l, &t.Metrics[m])
			if isNew {
				owed += lineBytes + window.LabelsBytes(l)
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
func (s *lineSearch) line(l labels.Labels, m *window.Metric) (number int32, isNew bool) {
	hash := l.Hash()
	for _, i := range s.byLabels[hash] {
		if s.list[i].Metric.Equal(m) && labels.Equal(s.list[i].Labels, l) {
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
