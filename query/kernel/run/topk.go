package run

import (
	"context"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/ringwatch/ringwatch/query/kernel"
	"github.com/ringwatch/ringwatch/query/series"
)

// topKSeries are the series that are among the first k of their group at any step so far.
type topKSeries struct {
	budget *budget
	list   []topKEntry // by number
	free   []int32     // numbers that are nobody's now
}

// topKEntry is one of them. A series that is among them at no step is dropped.
type topKEntry struct {
	labels labels.Labels
	places int // at so many steps
	// What is made of it for the answer: the values, and the step of the last one.
	points *series.Points
	ends   []int64
	last   int
}

// addRow adds a series to the TopK of its group.
func (f *topKSeries) addRow(of *kernel.TopK, l labels.Labels, row []float64) error {
	if bytes := of.GrownBytes(); bytes > 0 {
		before := of.Bytes()
		if err := f.budget.take(bytes); err != nil {
			return err
		}
		of.Grow()
		f.budget.give(before)
	}
	number := f.number()
	places := of.Add(row, number, f.dropFromStep)
	if places == 0 {
		f.free = append(f.free, number)
		return nil
	}
	f.list[number] = topKEntry{labels: l, places: places}
	return f.budget.hold(0)
}

// number returns one that is nobody's.
func (f *topKSeries) number() int32 {
	if n := len(f.free); n > 0 {
		number := f.free[n-1]
		f.free = f.free[:n-1]
		return number
	}
	f.list = append(f.list, topKEntry{})
	return int32(len(f.list) - 1)
}

// dropFromStep says that a series has lost its place at a step.
func (f *topKSeries) dropFromStep(number int32) {
	s := &f.list[number]
	if s.places--; s.places > 0 {
		return
	}
	*s = topKEntry{}
	f.free = append(f.free, number)
	f.budget.giveSeries()
}

// topKCost is what a value takes in the answer, and where its series ends after it, in bytes.
const topKCost = 24

// series returns the series that are among the first of their group at any step, with a value where
// they are. Of one step they are in the engine's order: group by group, the first one first.
func (f *topKSeries) series(
	ctx context.Context, groups []*group, all []int64,
) ([]*series.Series, error) {
	var found []int32
	for _, g := range groups {
		for i := range all {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			values, series := g.topK.At(i, len(all) == 1)
			for j, number := range series {
				s := &f.list[number]
				if s.points == nil {
					found = append(found, number)
					if err := f.budget.take(int64(topKCost * s.places)); err != nil {
						return nil, err
					}
				}
				s.add(values[j], i, all)
			}
		}
		f.budget.give(g.topK.Bytes())
		g.topK = nil
	}
	list := make([]*series.Series, len(found))
	for i, number := range found {
		s := &f.list[number]
		s.end(len(all), all)
		list[i] = &series.Series{Metric: s.labels,
			Segments: []series.Segment{{Samples: s.points, Ends: s.ends}},
			Context:  ctx}
	}
	return list, nil
}

// add adds the value of a step.
func (s *topKEntry) add(v float64, step int, all []int64) {
	if s.points == nil {
		s.points = &series.Points{Times: make([]int64, 0, s.places),
			Values: make([]float64, 0, s.places)}
	} else {
		s.end(step, all)
	}
	s.points.Times, s.points.Values = append(s.points.Times, all[step]), append(s.points.Values, v)
	s.last = step
}

// end ends the series behind its last value if it has none at the steps from there to the given
// one.
func (s *topKEntry) end(before int, all []int64) {
	if s.last+1 < before {
		s.ends = append(s.ends, all[s.last+1])
	}
}
