// Package series answers which series there are, and which labels: /v1/series, /v1/labels and
// /v1/label/{name}/values. Begin with Handler. It asks an index in memory, and no engine.
//
// What it promises: exactly what matches of the days asked for, each label set once. What is not
// loaded yet is counted in reply.PartialHeader.
package series

import (
	"context"
	"errors"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/access/listener"
	"github.com/ringwatch/ringwatch/api/literal"
	"github.com/ringwatch/ringwatch/api/refusal"
	"github.com/ringwatch/ringwatch/api/reply"
	"github.com/ringwatch/ringwatch/api/request"
	"github.com/ringwatch/ringwatch/query/index"
)

// Index knows which series there are, as index.Index.
type Index interface {
	// Select prepares an answer. The error is index.ErrLoading as long as nothing is known, or
	// index.ErrTooLarge.
	Select(account string, q index.Query) (*index.Selection, error)
}

// InFlight says in words that frames of a cluster which belong to a range that ends at an instant,
// in ms, may still be on their way to the store, as read.Reader.InFlight.
type InFlight func(ctx context.Context, account, cluster string, to int64) []string

// Config is what a Handler works with.
type Config struct {
	Index     Index
	InFlight  InFlight
	Selectors *request.Selectors
	MaxSeries int
	MaxRange  time.Duration
	Metrics   *reply.Metrics
	Clock     func() time.Time
}

// Handler has the endpoints.
type Handler struct{ config Config }

// New returns the endpoints.
func New(c Config) *Handler { return &Handler{c} }

// Routes returns the endpoints.
func (h *Handler) Routes() []listener.Route {
	return []listener.Route{
		{Pattern: "GET /v1/series", Handle: h.getSeries},
		{Pattern: "GET /v1/labels", Handle: h.getLabels},
		{Pattern: "GET /v1/label/{name}/values", Handle: h.getLabelValues},
	}
}

// getSeries answers /v1/series: a JSON list of label sets, one per series, by node. It is written
// while the series are found.
func (h *Handler) getSeries(w http.ResponseWriter, r *http.Request, p account.Principal) error {
	values, err := request.Parameters(r, "match[]", "from", "to", "period", "limit")
	if err != nil {
		return err
	}
	if len(values["match[]"]) == 0 {
		return refusal.Bad("no_match", "match[]",
			`match[]= is missing: give a series selector, for instance match[]={keyspace="shop"}`)
	}
	found, limit, err := h.selection(r.Context(), values, p)
	if err != nil {
		return err
	}
	total, _ := found.Count()
	if err := found.Err(); err != nil {
		return err
	}
	if limit == 0 {
		if limit = h.config.MaxSeries; total > limit {
			return refusal.Bad("too_many_series", "match[]",
				"%d series match and %d are allowed: narrow match[], for instance with cluster= "+
					"or node=, or take the first ones with limit=", total, limit)
		}
	}
	w.Header().Set(reply.TotalHeader, strconv.Itoa(total))
	h.noteMissing(r, w, p, found)
	out := reply.New(w, r, "application/json")
	defer out.End()
	if r.Method == http.MethodHead {
		return nil
	}
	out.WriteString("[")
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
	out.WriteString("]\n")
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
			for entity := range block.Entities() {
				var text []byte
				for _, l := range entity {
					text = appendLabel(text, l)
				}
				entities = append(entities, text)
			}
			for m := range block.Metrics() {
				b = append(b[:0], `{"__name__":`...)
				b = append(literal.AppendString(b, m.Name), place...)
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
	b = append(literal.AppendString(append(b, ','), l.Name), ':')
	return literal.AppendString(b, l.Value)
}

// getLabels answers /v1/labels: the names of the labels that series have.
func (h *Handler) getLabels(w http.ResponseWriter, r *http.Request, p account.Principal) error {
	return h.getNames(w, r, p, (*index.Selection).Names)
}

// getLabelValues answers /v1/label/{name}/values.
func (h *Handler) getLabelValues(w http.ResponseWriter, r *http.Request,
	p account.Principal) error {
	name := r.PathValue("name")
	if !model.LegacyValidation.IsValidLabelName(name) {
		return refusal.Bad("bad_label", "name",
			"%q is not the name of a label: /v1/labels lists them", name)
	}
	return h.getNames(w, r, p, func(found *index.Selection) []string { return found.Values(name) })
}

func (h *Handler) getNames(w http.ResponseWriter, r *http.Request, p account.Principal,
	names func(*index.Selection) []string) error {
	values, err := request.Parameters(r, "match[]", "from", "to", "period", "limit")
	if err != nil {
		return err
	}
	found, limit, err := h.selection(r.Context(), values, p)
	if err != nil {
		return err
	}
	list := names(found)
	if err := found.Err(); err != nil {
		return err
	}
	w.Header().Set(reply.TotalHeader, strconv.Itoa(len(list)))
	if limit > 0 {
		list = list[:min(limit, len(list))]
	}
	h.noteMissing(r, w, p, found)
	return reply.JSON(w, r, list)
}

// selection reads a query for series and prepares its answer. A limit of 0 is none.
func (h *Handler) selection(ctx context.Context, values url.Values,
	p account.Principal) (found *index.Selection, limit int, err error) {
	selectors, err := h.config.Selectors.Parse(ctx, "match[]", values["match[]"])
	if err != nil {
		return nil, 0, err
	}
	if values.Has("limit") {
		if limit, err = strconv.Atoi(values.Get("limit")); err != nil || limit < 1 ||
			limit > h.config.MaxSeries {
			return nil, 0, refusal.Bad("bad_limit", "limit", "limit must be a number from 1 to %d",
				h.config.MaxSeries)
		}
	}
	span, err := request.ParseRange(values, h.config.Clock().UnixMilli())
	if err != nil {
		return nil, 0, err
	}
	if err := span.CheckLength(h.config.MaxRange); err != nil {
		return nil, 0, err
	}
	if span.Latest {
		span.To = h.config.Clock().UnixMilli()
		span.From = span.To
	}
	found, err = h.config.Index.Select(p.Account, index.Query{Context: ctx, From: span.From,
		To: span.To, Selectors: selectors, Owns: p.Owns})
	if errors.Is(err, index.ErrLoading) {
		return nil, 0, &listener.Error{Status: http.StatusServiceUnavailable, Reason: "loading",
			Message: "the list of series is being loaded: try again in a moment; /-/ready shows " +
				"the progress", RetryAfter: 5, Cause: err}
	}
	if errors.Is(err, index.ErrTooLarge) {
		return nil, 0, refusal.Bad("selectors_too_large", "match[]", "%v", err)
	}
	return found, limit, err
}

// noteMissing counts the nodes and dictionaries that the index does not have, and the clusters
// whose frames are on their way.
func (h *Handler) noteMissing(r *http.Request, w http.ResponseWriter, p account.Principal,
	found *index.Selection) {
	missing := found.Missing
	last := ""
	for block := range found.ByNode() {
		if block.Cluster == last { // they come by node, and mostly by cluster
			continue
		}
		last = block.Cluster
		missing += len(h.config.InFlight(r.Context(), p.Account, last,
			h.config.Clock().UnixMilli()))
	}
	h.config.Metrics.NoteMissing(w, missing)
}
