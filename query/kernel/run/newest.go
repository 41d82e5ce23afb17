package run

import (
	"github.com/prometheus/prometheus/model/labels"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/query/kernel"
	"github.com/ringwatch/ringwatch/query/series"
	"github.com/ringwatch/ringwatch/window"
)

// rowsOf returns the rows of what an instant sees of a node's newest state; false if they are to
// be computed as those of any series are: texts, and what two selectors may both have.
func (c *computation) rowsOf(lists [][]window.Series) (rows []row, is bool, err error) {
	if len(lists) == 0 {
		return nil, true, nil
	}
	list := lists[0]
	if len(lists) > 1 {
		return nil, false, nil
	}
	var bounds boundsOf
	rows, values := make([]row, 0, len(list)), make([]float64, 0, len(list))
	for i := range list {
		s := &list[i]
		if s.Metric.Kind == frame.String {
			return nil, false, nil
		}
		if last := len(s.At) - 1; last < 0 || s.At[last] < c.selection.Hints.Start {
			continue
		}
		c.selection.Plan.Views(s.Labels, s.Metric, func(l labels.Labels, v series.View) {
			value := 0.0
			if of := series.SamplesOf(s, v, nil); !of.IsHistogram() {
				value = of.Value(of.Len() - 1)
			} else if !c.k.onlyCounts() {
				one, known := c.newestRow(l, s, &bounds)
				if rows = append(rows, one); !known {
					err = errUseEngine
				}
				return
			}
			if n := len(values); !kernel.IsMissing(value) {
				values = append(values, value)
				rows = append(rows, row{labels: l, values: values[n : n+1 : n+1]})
			}
		})
	}
	return rows, true, err
}

// boundsOf are the bounds of the histograms that were seen last.
type boundsOf struct {
	of   *frame.Bounds
	list []float64
}

// newestRow returns the row of a series of histograms that is there once; false if it is not known
// what to make of it. What it counts since it began may be added up then: the engine does not know
// of a sample before either.
func (c *computation) newestRow(l labels.Labels, s *window.Series, bounds *boundsOf) (row, bool) {
	if len(s.Histograms) != 1 || !c.k.operation.TakesHistograms() {
		return row{}, false
	}
	h := &s.Histograms[0]
	one := row{labels: l, histograms: c.rows.Get().(*kernel.HistogramRow)}
	sum := series.HistogramSum(s.Metric, h.Sum)
	if c.k.counts {
		one.histograms.One(float64(h.Count()), sum, nil, nil)
		return one, true
	}
	one.histograms.One(float64(h.Count()), sum, h.Filled, h.Counts)
	if bounds.of != s.Metric.Bounds {
		bounds.of, bounds.list = s.Metric.Bounds, series.UpperBounds(s.Metric.Bounds)
	}
	one.bounds = bounds.list
	return one, true
}
