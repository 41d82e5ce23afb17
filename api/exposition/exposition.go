// Package exposition writes series as exposition text: Prometheus's text 0.0.4, or OpenMetrics if
// the client prefers that, under our names or those of a profile. Begin with Write. Of our packages
// it imports dictionary, frame, query and window, and the ground of api.
//
// What it promises: a metric's lines stand together, each with the time at which its value was
// taken.
package exposition

import (
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/prometheus/common/expfmt"

	"github.com/ringwatch/ringwatch/api/budget"
	"github.com/ringwatch/ringwatch/api/literal"
	"github.com/ringwatch/ringwatch/api/reply"
	"github.com/ringwatch/ringwatch/dictionary/profile"
	"github.com/ringwatch/ringwatch/query/series"
	"github.com/ringwatch/ringwatch/window"
)

// Node is what one node has.
type Node struct {
	Series []window.Series
	Heads  map[string]profile.Head // what a profile's names are
}

const openMetricsType = "application/openmetrics-text"

// Write answers with the first value of every series as text 0.0.4, or as OpenMetrics if the
// client prefers that. A metric's lines stand together, whatever node they are of.
func Write(w http.ResponseWriter, r *http.Request, nodes []Node) {
	var all []*window.Series
	for i := range nodes {
		for j := range nodes[i].Series {
			all = append(all, &nodes[i].Series[j])
		}
	}
	slices.SortStableFunc(all, func(a, b *window.Series) int {
		return strings.Compare(a.Metric.Name, b.Metric.Name)
	})
	e := NewLines(PrefersOpen(r), make(map[string]bool, len(all)))
	heads := map[string]profile.Head{}
	for i := range nodes {
		maps.Copy(heads, nodes[i].Heads)
	}
	for _, series := range all {
		e.metrics[series.Metric.Name] = true
	}
	out := reply.New(w, r, ContentType(e.open))
	defer out.End()
	for i, series := range all {
		e.Reset()
		if i == 0 || all[i-1].Metric.Name != series.Metric.Name {
			e.Head(series.Metric, heads[series.Metric.Name])
		}
		e.Series(series)
		if _, err := out.Write(e.text); err != nil {
			return // the client went away
		}
	}
	if e.open {
		out.WriteString("# EOF\n")
	}
}

// NeverCounted reports whether a series is a histogram without an observation. Such a one is not
// written in a scrape, not even its count: most of a node's histograms are that. All its lines
// begin with the first observation together, so that in each scrape the buckets and +Inf tell of
// the same observations. With a +Inf of 0 before, the first observations would be in the rate of
// +Inf and not of the other buckets, and quantiles would be the highest bound there is.
func NeverCounted(s window.Series) bool {
	return s.Metric.Kind.IsHistogram() && len(s.Histograms[0].Filled) == 0
}

// lineBytes is what a line takes, apart from the labels.
const lineBytes = 40

// Size returns what Write makes of series.
func Size(list []window.Series) budget.Size {
	size := budget.Size{Series: len(list), Values: len(list)}
	for i := range list {
		s, lines := &list[i], int64(1)
		if s.Metric.Kind.IsHistogram() {
			lines = int64(len(series.ExposedBuckets(s.Histograms[0].Size-1)) + 3)
		}
		size.Bytes += lines * (lineBytes + literal.LabelsBytes(s.Labels))
	}
	return size
}

// PrefersOpen reports whether the client prefers OpenMetrics, of whose versions 1.0.0 is meant if
// none is named.
func PrefersOpen(r *http.Request) bool {
	ranges := strings.Split(strings.Join(r.Header.Values("Accept"), ","), ",")
	for i, text := range ranges {
		if kind, _, _ := strings.Cut(text, ";"); strings.TrimSpace(kind) == openMetricsType &&
			!strings.Contains(text, "version=") {
			ranges[i] = strings.Replace(text, openMetricsType, openMetricsType+";version=1.0.0", 1)
		}
	}
	accept := http.Header{"Accept": {strings.Join(ranges, ",")}}
	return expfmt.NegotiateAccept(accept, expfmt.NewFormat(expfmt.TypeTextPlain),
		expfmt.NewFormat(expfmt.TypeOpenMetrics)).FormatType() == expfmt.TypeOpenMetrics
}

// ContentType is that of the text.
func ContentType(open bool) string {
	if open {
		return openMetricsType + "; version=1.0.0; charset=utf-8"
	}
	return "text/plain; version=0.0.4; charset=utf-8"
}
