package api

import (
	"context"
	"errors"
	"iter"
	"net/http"
	"net/url"
	"strconv"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/query/index"
)

// Series is where /v1/series, /v1/labels and /v1/label/{name}/values look, as index.Index: in
// memory, no engine is asked.
type Series interface {
	// Select prepares an answer. The error is index.ErrLoading as long as nothing is known, or
	// index.ErrTooLarge.
	Select(account string, q index.Query) (*index.Selection, error)
}

// seriesRoutes are there if Deps.Series is.
func (s *Server) seriesRoutes() []route {
	if s.deps.Series == nil {
		return nil
	}
	return []route{
		{pattern: "GET /v1/series", scoped: s.getSeries},
		{pattern: "GET /v1/labels", scoped: s.getLabels},
		{pattern: "GET /v1/label/{name}/values", scoped: s.getLabelValues},
	}
}

// TotalHeader tells how many series match, whether the answer has all of them or limit= cut it.
const TotalHeader = "Ringwatch-Total"

// getSeries answers /v1/series: a JSON list of label sets, one per series, by node. It is written
// while the series are found.
func (s *Server) getSeries(w http.ResponseWriter, r *http.Request, p account.Principal) error {
	values, err := parameters(r, "match[]", "from", "to", "period", "limit")
	if err != nil {
		return err
	}
	if len(values["match[]"]) == 0 {
		return bad("no_match", "match[]",
			`match[]= is missing: give a series selector, for instance match[]={keyspace="shop"}`)
	}
	found, limit, err := s.selection(r.Context(), values, p)
	if err != nil {
		return err
	}
	total, _ := found.Count()
	if err := found.Err(); err != nil {
		return err
	}
	if limit == 0 {
		if limit = s.config.MaxSeries; total > limit {
			return bad("too_many_series", "match[]",
				"%d series match and %d are allowed: narrow match[], for instance with cluster= "+
					"or node=, or take the first ones with limit=", total, limit)
		}
	}
	w.Header().Set(TotalHeader, strconv.Itoa(total))
	s.noteMissing(r, w, p, found)
	out := answer(w, r, "application/json")
	defer out.end()
	if r.Method == http.MethodHead {
		return nil
	}
	_ = out.WriteByte('[')
	written := 0
	var b []byte
	for text := range seriesTexts(found) {
		if written == limit {
			break
		}
		b = b[:0]
		if written++; written > 1 {
			b = append(b, ",\n"...)
		}
		if _, err := out.Write(append(b, text...)); err != nil {
			return nil // the client went away
		}
	}
	_, _ = out.WriteString("]\n")
	return nil
}

// seriesTexts iterates over label sets as JSON. A text is valid until the next one.
func seriesTexts(found *index.Selection) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		var b []byte
		var entities [][]byte
		for block := range found.ByNode() {
			var place []byte
			for _, l := range block.Place() {
				place = appendLabel(place, l)
			}
			entities = entities[:0]
			for of := range block.Entities() {
				var text []byte
				for _, l := range of {
					text = appendLabel(text, l)
				}
				entities = append(entities, text)
			}
			for m := range block.Metrics() {
				b = append(b[:0], `{"__name__":`...)
				b = append(appendString(b, m.Name), place...)
				head := len(b)
				for _, text := range entities {
					if b = append(append(b[:head], text...), '}'); !yield(b) {
						return
					}
				}
			}
		}
	}
}

func appendLabel(b []byte, l labels.Label) []byte {
	b = append(appendString(append(b, ','), l.Name), ':')
	return appendString(b, l.Value)
}

// getLabels answers /v1/labels: the names of the labels that series have.
func (s *Server) getLabels(w http.ResponseWriter, r *http.Request, p account.Principal) error {
	return s.getNames(w, r, p, (*index.Selection).Names)
}

// getLabelValues answers /v1/label/{name}/values.
func (s *Server) getLabelValues(w http.ResponseWriter, r *http.Request, p account.Principal) error {
	name := r.PathValue("name")
	if !model.LegacyValidation.IsValidLabelName(name) {
		return bad("bad_label", "name", "%q is not the name of a label: /v1/labels lists them",
			name)
	}
	return s.getNames(w, r, p, func(found *index.Selection) []string { return found.Values(name) })
}

func (s *Server) getNames(w http.ResponseWriter, r *http.Request, p account.Principal,
	names func(*index.Selection) []string) error {
	values, err := parameters(r, "match[]", "from", "to", "period", "limit")
	if err != nil {
		return err
	}
	found, limit, err := s.selection(r.Context(), values, p)
	if err != nil {
		return err
	}
	list := names(found)
	if err := found.Err(); err != nil {
		return err
	}
	w.Header().Set(TotalHeader, strconv.Itoa(len(list)))
	if limit > 0 {
		list = list[:min(limit, len(list))]
	}
	s.noteMissing(r, w, p, found)
	return writeJSON(w, r, list)
}

// selection reads a query for series and prepares its answer. A limit of 0 is none.
func (s *Server) selection(ctx context.Context, values url.Values,
	p account.Principal) (found *index.Selection, limit int, err error) {
	var q metricsQuery
	if q.selectors, err = s.selectors(ctx, "match[]", values["match[]"]); err != nil {
		return nil, 0, err
	}
	if values.Has("limit") {
		if limit, err = strconv.Atoi(values.Get("limit")); err != nil || limit < 1 ||
			limit > s.config.MaxSeries {
			return nil, 0, bad("bad_limit", "limit", "limit must be a number from 1 to %d",
				s.config.MaxSeries)
		}
	}
	if err := s.parseRange(&q, values); err != nil {
		return nil, 0, err
	}
	if q.latest {
		q.to = s.config.Clock().UnixMilli()
		q.from = q.to
	}
	found, err = s.deps.Series.Select(p.Account, index.Query{Context: ctx, From: q.from, To: q.to,
		Selectors: q.selectors, Owns: p.Owns})
	if errors.Is(err, index.ErrLoading) {
		return nil, 0, &Error{Status: http.StatusServiceUnavailable, Reason: "loading",
			Message: "the list of series is being loaded: try again in a moment; /-/ready shows " +
				"the progress", RetryAfter: 5, Cause: err}
	}
	if errors.Is(err, index.ErrTooLarge) {
		return nil, 0, bad("selectors_too_large", "match[]", "%v", err)
	}
	return found, limit, err
}

// noteMissing sets PartialHeader if there are nodes or dictionaries that the index does not have,
// or clusters whose frames are on their way.
func (s *Server) noteMissing(r *http.Request, w http.ResponseWriter, p account.Principal,
	found *index.Selection) {
	missing := found.Missing
	last := ""
	for block := range found.ByNode() {
		if block.Cluster == last { // they come by node, and mostly by cluster
			continue
		}
		last = block.Cluster
		missing += len(s.deps.Reader.InFlight(r.Context(), p.Account, last,
			s.config.Clock().UnixMilli()))
	}
	if missing > 0 {
		w.Header().Set(PartialHeader, strconv.Itoa(missing))
		s.metrics.partial.Inc()
	}
}
