package run

import (
	"github.com/prometheus/prometheus/model/labels"

	"github.com/ringwatch/ringwatch/query/kernel"
)

// row is what a function gives of a series at each step: numbers, or histograms with bounds.
type row struct {
	labels     labels.Labels
	values     []float64
	histograms *kernel.HistogramRow
	bounds     []float64
}

func (r *row) bytes() int64 {
	if r.histograms != nil {
		return r.histograms.Bytes()
	}
	return int64(8 * len(r.values))
}

// rowCost is what a row that is kept takes beside its numbers, in bytes.
const rowCost = 24
