package promapi

import (
	"net/http"
	"strings"
	"time"

	jsoniter "github.com/json-iterator/go"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/util/annotations"
	"github.com/prometheus/prometheus/util/jsonutil"
	"github.com/prometheus/prometheus/util/stats"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/query"
	"github.com/ringwatch/ringwatch/query/metadata"
)

func (a *API) query(w http.ResponseWriter, r *http.Request, p account.Principal) error {
	if err := parse(r); err != nil {
		return err
	}
	at, err := a.time(r.Form, "time", a.Clock())
	if err != nil {
		return err
	}
	o, limit, err := options(r.Form)
	if err != nil {
		return err
	}
	got, err := a.Engine.Instant(r.Context(), p, r.FormValue("query"), at, o)
	if err != nil {
		return asError(r.Context(), err)
	}
	defer got.Close()
	write(w, r, got, limit)
	return nil
}

func (a *API) queryRange(w http.ResponseWriter, r *http.Request, p account.Principal) error {
	if err := parse(r); err != nil {
		return err
	}
	var from, to time.Time
	for _, field := range []struct {
		name string
		into *time.Time
	}{{"start", &from}, {"end", &to}} {
		t, err := instant(r.FormValue(field.name))
		if err != nil {
			return invalid(field.name, err)
		}
		*field.into = t
	}
	if to.Before(from) {
		return bad("invalid parameter \"end\": end timestamp must not be before start time")
	}
	step, err := duration(r.FormValue("step"))
	if err != nil {
		return invalid("step", err)
	}
	if step <= 0 {
		return bad("invalid parameter \"step\": zero or negative query resolution step widths " +
			"are not accepted. Try a positive integer")
	}
	o, limit, err := options(r.Form)
	if err != nil {
		return err
	}
	o.Fresh = noStore(r)
	got, err := a.Engine.Range(r.Context(), p, r.FormValue("query"), from, to,
		max(step, time.Millisecond), o)
	if err != nil {
		return asError(r.Context(), err)
	}
	defer got.Close()
	write(w, r, got, limit)
	return nil
}

// noStore reports whether a client wants an answer that nothing is kept of or was kept for.
func noStore(r *http.Request) bool {
	for _, line := range r.Header.Values("Cache-Control") {
		for directive := range strings.SplitSeq(line, ",") {
			if strings.EqualFold(strings.TrimSpace(directive), "no-store") {
				return true
			}
		}
	}
	return false
}

// flushAt is how many bytes of an answer are collected before they go to the network.
const flushAt = 64 << 10

// write writes a query's result as Prometheus does, while it goes to the network.
func write(w http.ResponseWriter, r *http.Request, got *query.Answer, limit int) {
	w.Header().Set("Content-Type", "application/json")
	s := jsoniter.ConfigCompatibleWithStandardLibrary.BorrowStream(w)
	defer jsoniter.ConfigCompatibleWithStandardLibrary.ReturnStream(s)
	warnings := got.Warnings
	s.WriteRaw(`{"status":"success","data":{"resultType":`)
	s.WriteString(string(got.Value.Type()))
	s.WriteRaw(`,"result":`)
	switch v := got.Value.(type) {
	case promql.Matrix:
		cut := v
		if limit > 0 && len(v) > limit {
			cut = v[:limit]
			warnings = warned(warnings)
		}
		list(s, len(cut), func(i int) { writeSeries(s, &cut[i]) })
	case promql.Vector:
		cut := v
		if limit > 0 && len(v) > limit {
			cut = v[:limit]
			warnings = warned(warnings)
		}
		list(s, len(cut), func(i int) { writeSample(s, &cut[i]) })
	case promql.Scalar:
		writePoint(s, v.T, v.V)
	case promql.String:
		s.WriteArrayStart()
		jsonutil.MarshalTimestamp(v.T, s)
		s.WriteMore()
		s.WriteString(v.V)
		s.WriteArrayEnd()
	}
	if r.FormValue("stats") != "" {
		s.WriteRaw(`,"stats":`)
		s.WriteVal(stats.NewQueryStats(got.Query.Stats()))
	}
	s.WriteRaw("}")
	warn, infos := warnings.AsStrings(r.FormValue("query"), maxWarnings, maxWarnings)
	for _, field := range []struct {
		name string
		list []string
	}{{"warnings", warn}, {"infos", infos}} {
		if len(field.list) > 0 {
			s.WriteRaw(`,"` + field.name + `":`)
			s.WriteVal(field.list)
		}
	}
	s.WriteRaw("}\n")
	_ = s.Flush() // a client that went away misses nothing
}

// warned adds the warning that an answer was cut.
func warned(list annotations.Annotations) annotations.Annotations {
	all := annotations.New()
	all.Merge(list)
	return all.Add(metadata.ErrLimited)
}

func list(s *jsoniter.Stream, n int, write func(i int)) {
	s.WriteArrayStart()
	for i := range n {
		if s.Error != nil { // the client went away
			return
		}
		if i > 0 {
			s.WriteMore()
		}
		write(i)
		if s.Buffered() > flushAt {
			_ = s.Flush()
		}
	}
	s.WriteArrayEnd()
}

func writeLabels(s *jsoniter.Stream, l labels.Labels) {
	s.WriteObjectField("metric")
	s.WriteObjectStart()
	first := true
	l.Range(func(l labels.Label) {
		if !first {
			s.WriteMore()
		}
		first = false
		s.WriteObjectField(l.Name)
		s.WriteString(l.Value)
	})
	s.WriteObjectEnd()
}

func writePoint(s *jsoniter.Stream, t int64, v float64) {
	s.WriteArrayStart()
	jsonutil.MarshalTimestamp(t, s)
	s.WriteMore()
	jsonutil.MarshalFloat(v, s)
	s.WriteArrayEnd()
}

func writeHistogram(s *jsoniter.Stream, p promql.HPoint) {
	s.WriteArrayStart()
	jsonutil.MarshalTimestamp(p.T, s)
	s.WriteMore()
	jsonutil.MarshalHistogram(p.H, s)
	s.WriteArrayEnd()
}

func writeSeries(s *jsoniter.Stream, series *promql.Series) {
	s.WriteObjectStart()
	writeLabels(s, series.Metric)
	if len(series.Floats) > 0 {
		s.WriteMore()
		s.WriteObjectField("values")
		list(s, len(series.Floats), func(i int) {
			writePoint(s, series.Floats[i].T, series.Floats[i].F)
		})
	}
	if len(series.Histograms) > 0 {
		s.WriteMore()
		s.WriteObjectField("histograms")
		list(s, len(series.Histograms), func(i int) { writeHistogram(s, series.Histograms[i]) })
	}
	s.WriteObjectEnd()
}

func writeSample(s *jsoniter.Stream, sample *promql.Sample) {
	s.WriteObjectStart()
	writeLabels(s, sample.Metric)
	s.WriteMore()
	if sample.H != nil {
		s.WriteObjectField("histogram")
		writeHistogram(s, promql.HPoint{T: sample.T, H: sample.H})
	} else {
		s.WriteObjectField("value")
		writePoint(s, sample.T, sample.F)
	}
	s.WriteObjectEnd()
}
