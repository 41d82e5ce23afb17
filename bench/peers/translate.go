package peers

import (
	"slices"
	"strconv"
	"strings"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/prompb"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/window"
)

// translate gives a series to a peer in a form that suits it. VictoriaMetrics, and Prometheus as
// the smaller of its two ways: a histogram is a counter for each bucket that was used by the
// window's end, not cumulative over buckets (as VictoriaMetrics's own histograms are), and a sum.
// Texts are left out: no peer has them.
func (p *Peer) translate(s *window.Series) []prompb.TimeSeries {
	if s.Metric.Kind == frame.String {
		return nil
	}
	ts := prompb.TimeSeries{Labels: labelPairs(s)}
	if !s.Metric.Kind.IsHistogram() {
		for i, at := range s.At {
			v := 0.0
			if s.Ints != nil {
				v = frame.Scale(s.Ints[i], s.Metric.Exponent)
			} else {
				v = s.Doubles[i]
			}
			ts.Samples = append(ts.Samples, prompb.Sample{Value: v, Timestamp: at})
		}
		return []prompb.TimeSeries{ts}
	}
	if p.Form == Classic {
		return classic(s)
	}
	var list []prompb.TimeSeries
	if s.Metric.HasSum {
		sum := named(s, "_sum")
		for i, at := range s.At {
			sum.Samples = append(sum.Samples,
				prompb.Sample{Value: frame.Scale(s.Histograms[i].Sum, s.Metric.Exponent),
					Timestamp: at})
		}
		list = append(list, sum)
	}
	dense := make([][]int64, len(s.Histograms))
	for i := range dense {
		dense[i] = s.Histograms[i].Dense(nil)
	}
	for b, last := range dense[len(dense)-1] {
		if last == 0 &&
			(s.Metric.Kind == frame.Histogram ||
				!slices.ContainsFunc(dense, func(counts []int64) bool { return counts[b] != 0 })) {
			continue
		}
		t := named(s, "_bucket", prompb.Label{Name: "bucket", Value: strconv.Itoa(b)})
		for i, at := range s.At {
			t.Samples = append(t.Samples, prompb.Sample{Value: float64(dense[i][b]), Timestamp: at})
		}
		list = append(list, t)
	}
	return list
}

func labelPairs(s *window.Series) []prompb.Label {
	var list []prompb.Label
	s.Labels.Range(func(l labels.Label) {
		list = append(list, prompb.Label{Name: l.Name, Value: l.Value})
	})
	return list
}

func named(s *window.Series, suffix string, more ...prompb.Label) prompb.TimeSeries {
	list := append(labelPairs(s), more...)
	for i := range list {
		if list[i].Name == "__name__" {
			list[i].Value += suffix
		}
	}
	slices.SortFunc(list, func(a, b prompb.Label) int { return strings.Compare(a.Name, b.Name) })
	return prompb.TimeSeries{Labels: list}
}
