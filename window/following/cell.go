package following

import (
	"math"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/window"
)

// Cell is the value of one metric of one entity at one instant.
type Cell struct {
	// Of has Rows and Metrics that grow; its cluster and rack are the frame's.
	Of          *window.Dictionary
	Row, Metric int

	Int       int64 // counters and gauges
	Double    float64
	Histogram window.Histogram // shared: do not change it
	Text      string
}

// Labels returns the labels of the cell's series, as package selecting has them.
func (c *Cell) Labels() labels.Labels {
	b := labels.NewScratchBuilder(5 + len(c.Of.Labels))
	return c.Of.LabelsOf(&b, c.Of.Node.String(), c.Metric, int32(c.Row))
}

// set sets the value: the key frame's of an entity (−1: zero) and entry i of a column (−1: none).
func (c *Cell) set(m *window.Metric, base *keyColumn, keyed int32, col *frame.Column, i int) {
	c.Int, c.Double, c.Text, c.Histogram = 0, 0, "", window.Histogram{}
	switch m.Kind {
	case frame.String:
		if keyed >= 0 {
			c.Text = base.texts[keyed]
		}
		if i >= 0 {
			c.Text = col.Strings[i]
		}
	case frame.GaugeDouble:
		if keyed >= 0 {
			c.Double = math.Float64frombits(uint64(base.words[keyed]))
		}
		if i >= 0 {
			c.Double = col.Doubles[i]
		}
	case frame.Histogram, frame.GaugeHistogram:
		var first *frame.Buckets
		if keyed >= 0 {
			first = base.buckets[keyed]
		}
		if i < 0 && keyed >= 0 {
			if h := &base.histograms[keyed]; h.Size == 0 {
				*h = sumOf(m, first, nil)
			}
			c.Histogram = base.histograms[keyed]
			return
		}
		var difference *frame.Buckets
		if i >= 0 {
			difference = &col.Histograms[i]
		}
		c.Histogram = sumOf(m, first, difference)
	default:
		if keyed >= 0 {
			c.Int = base.words[keyed]
		}
		if i >= 0 {
			c.Int += col.Ints[i]
		}
	}
}
