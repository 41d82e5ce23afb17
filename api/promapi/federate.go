package promapi

import (
	"math"
	"net/http"
	"slices"
	"strings"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/query/series"
)

// federationLookback is how old a value may be that another Prometheus is given.
const federationLookback = 5 * time.Minute

// federate answers another Prometheus's scrape with the newest value of each series that match[]
// selects, at its own time. A histogram is written as its classic series, which all formats have.
func (a *API) federate(w http.ResponseWriter, r *http.Request, p account.Principal) error {
	if err := parse(r); err != nil {
		return err
	}
	if len(r.Form["match[]"]) == 0 {
		return bad("no match[] parameter provided")
	}
	to := a.Clock()
	q, ctx, end, err := a.Engine.Queryable(r.Context(), p, federationLookback)
	if err != nil {
		return asError(r.Context(), err)
	}
	defer end()
	hints := &storage.SelectHints{Start: to.Add(-federationLookback).UnixMilli() + 1,
		End: to.UnixMilli()}
	querier, err := q.Querier(hints.Start, hints.End)
	if err != nil {
		return err
	}
	defer querier.Close()
	c, _, err := a.catalogue(r)
	if err != nil {
		return err
	}
	families := map[string]*dto.MetricFamily{}
	written := map[uint64]bool{}
	for _, matchers := range c.Selectors {
		found := querier.Select(ctx, false, hints, matchers...)
		var it chunkenc.Iterator
		for found.Next() {
			one := found.At()
			if hash := one.Labels().Hash(); written[hash] {
				continue
			} else {
				written[hash] = true
			}
			it = one.Iterator(it)
			takeLast(families, one.Labels(), it)
		}
		if err := found.Err(); err != nil {
			return asError(r.Context(), err)
		}
	}
	var names []string
	for name := range families {
		names = append(names, name)
	}
	slices.Sort(names)
	format := expfmt.Negotiate(r.Header)
	w.Header().Set("Content-Type", string(format))
	encoder := expfmt.NewEncoder(w, format)
	for _, name := range names {
		if encoder.Encode(families[name]) != nil {
			return nil // the client went away
		}
	}
	if closer, ok := encoder.(expfmt.Closer); ok {
		_ = closer.Close()
	}
	return nil
}

// takeLast adds a series' last value to its family, if it is still there.
func takeLast(families map[string]*dto.MetricFamily, l labels.Labels, it chunkenc.Iterator) {
	var t int64
	var v float64
	var h *histogram.FloatHistogram
	kind := chunkenc.ValNone
	for next := it.Next(); next != chunkenc.ValNone; next = it.Next() {
		if kind = next; kind == chunkenc.ValFloat {
			t, v = it.At()
			h = nil
		} else {
			t, h = it.AtFloatHistogram(nil)
			v = h.Sum
		}
	}
	if kind == chunkenc.ValNone || value.IsStaleNaN(v) {
		return
	}
	name := l.Get(labels.MetricName)
	f := families[name]
	if f == nil {
		form := dto.MetricType_UNTYPED
		if h != nil {
			form = dto.MetricType_HISTOGRAM
		}
		f = &dto.MetricFamily{Name: &name, Type: &form}
		families[name] = f
	}
	if (f.GetType() == dto.MetricType_HISTOGRAM) != (h != nil) {
		return // a text cannot have both under one name
	}
	m := &dto.Metric{TimestampMs: &t}
	l.Range(func(l labels.Label) {
		if l.Name != labels.MetricName {
			m.Label = append(m.Label, &dto.LabelPair{Name: new(strings.Clone(l.Name)),
				Value: new(strings.Clone(l.Value))})
		}
	})
	if h == nil {
		m.Untyped = &dto.Untyped{Value: &v}
	} else {
		m.Histogram = classic(h)
	}
	f.Metric = append(f.Metric, m)
}

// classic writes a histogram's buckets as their classic form has them.
func classic(h *histogram.FloatHistogram) *dto.Histogram {
	out := &dto.Histogram{SampleSum: &h.Sum, SampleCount: new(uint64(h.Count))}
	counts := make([]float64, len(h.CustomValues)+1)
	for it := h.PositiveBucketIterator(); it.Next(); {
		b := it.At()
		counts[b.Index] = b.Count
	}
	total, next := 0.0, 0
	for _, b := range series.ExposedBuckets(len(h.CustomValues)) {
		for ; next <= b; next++ {
			total += counts[next]
		}
		bound := math.Inf(1)
		if b < len(h.CustomValues) {
			bound = h.CustomValues[b]
		}
		out.Bucket = append(out.Bucket, &dto.Bucket{UpperBound: &bound,
			CumulativeCount: new(uint64(total))})
	}
	return out
}
