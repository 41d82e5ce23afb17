package query

import (
	"github.com/prometheus/prometheus/model/labels"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/query/kernel"
	"github.com/ringwatch/ringwatch/window"
)

// rowsOf returns the rows of what an instant sees of a node's newest state; false if they are to be
// computed as those of any series are: texts, and what two selectors may both have.
func (r *kernelRun) rowsOf(lists [][]window.Series) (rows []row, is bool, err error) {
	if len(lists) == 0 {
		return nil, true, nil
	}
	list := lists[0]
	if len(lists) > 1 {
		return nil, false, nil
	}
	rows, values := make([]row, 0, len(list)), make([]float64, 0, len(list))
	for i := range list {
		s := &list[i]
		if s.Metric.Kind == frame.String {
			return nil, false, nil
		}
		if last := len(s.At) - 1; last < 0 || s.At[last] < r.hints.Start {
			continue
		}
		r.plan.views(s.Labels, s.Metric, func(l labels.Labels, v view) {
			value := 0.0
			if of := samplesOf(s, v, nil); !of.isHistogram() {
				value = of.float(of.len() - 1)
			} else if !r.k.onlyCounts() {
				err = errEngine
			}
			if n := len(values); !kernel.IsMissing(value) {
				values = append(values, value)
				rows = append(rows, row{labels: l, values: values[n : n+1 : n+1]})
			}
		})
	}
	return rows, true, err
}
