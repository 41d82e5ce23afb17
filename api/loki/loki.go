// Package loki answers of Loki's HTTP API, under /loki/api/v1, what Grafana's Explore, its
// annotations and its check of a data source ask: what happened on nodes, as log lines. Begin with
// API.
//
// What it promises: answers have the form of Loki's HTTP API, and are limited to the clusters of
// the request's key. A stream has the labels cluster, node, kind and severity; a line is an event's
// text with its labels as logfmt. What is not answered is refused with a sentence.
//
// What bites: of LogQL there are stream selectors, line filters and counts of lines. A question
// looks at a bounded number of events; lines found until then come with a warning, and counts are
// refused.
package loki

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/access/listener"
	"github.com/ringwatch/ringwatch/query/selector"
	"github.com/ringwatch/ringwatch/window"
	"github.com/ringwatch/ringwatch/window/events"
)

// Deps are what the endpoints work with.
type Deps struct {
	// Events reads what happened on an account's nodes.
	Events func(ctx context.Context, account string, q events.Query) (events.Page, error)
	// Nodes are those that the principal may see.
	Nodes     func(ctx context.Context, p account.Principal) ([]window.Node, error)
	Selectors *selector.Parser
	Clock     func() time.Time
	Log       *slog.Logger
}

// API has the endpoints.
type API struct{ Deps }

// New returns the endpoints.
func New(d Deps) *API { return &API{d} }

// Routes returns the endpoints, each for keys with the scope read.
func (a *API) Routes() []listener.Route {
	var list []listener.Route
	for path, h := range map[string]func(*http.Request, account.Principal) (*answer, error){
		"query": a.query, "query_range": a.queryRange, "labels": a.labels,
		"label/{name}/values": a.labelValues, "series": a.series, "index/stats": a.stats,
	} {
		list = append(list, listener.Route{Pattern: "GET /loki/api/v1/" + path, Fail: fail,
			Handle: func(w http.ResponseWriter, r *http.Request, p account.Principal) error {
				got, err := h(r, p)
				if err != nil {
					return err
				}
				w.Header().Set("Content-Type", "application/json")
				w.Header().Set("Cache-Control", "no-store")
				_ = json.NewEncoder(w).Encode(got.body())
				return nil
			}})
	}
	return list
}

// fail writes an error as Loki does: as text.
func fail(w http.ResponseWriter, _ *http.Request, e *listener.Error) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(e.Status)
	_, _ = fmt.Fprintln(w, e.Message)
}

// answer is the data of an answer.
type answer struct {
	data     any
	whole    bool // data is all of it
	warnings []string
}

func (a *answer) body() any {
	if a.whole {
		return a.data
	}
	return struct {
		Status   string   `json:"status"`
		Data     any      `json:"data"`
		Warnings []string `json:"warnings,omitempty"`
	}{"success", a.data, a.warnings}
}

// result is the data of a query.
type result struct {
	ResultType string   `json:"resultType"`
	Result     any      `json:"result"`
	Stats      struct{} `json:"stats"`
}

func bad(format string, args ...any) *listener.Error {
	return &listener.Error{Status: http.StatusBadRequest, Reason: "bad_data",
		Message: fmt.Sprintf(format, args...)}
}

// labelNames are a stream's, ascending.
var labelNames = []string{"cluster", "kind", "node", "severity"}

// valueOf is the value of a stream's label. Grafana's volumes are by a level, which is our
// severity.
func valueOf(s *events.Stream, name string) string {
	switch name {
	case "cluster":
		return s.Cluster
	case "kind":
		return s.Kind
	case "node":
		return s.Node
	case "severity", "detected_level":
		return s.Severity
	}
	return ""
}

const (
	defaultLimit, maxLimit = 100, 5000
	defaultSpan            = time.Hour
	// maxSteps is Loki's.
	maxSteps = 11_000
	// A question looks at so many events, in so many pages, and keeps so many bytes of them.
	maxEvents, pageEvents, maxPages = 10_000, 1000, 50
	maxBytes                        = 16 << 20
	// Counts are of so many steps of series; one that is not 0 takes so many bytes until it is
	// sent.
	maxPoints, pointBytes = 1_000_000, 150
	// listEvents is how many of the newest events lists of labels and series are made of.
	listEvents = 2000
	// fewNodes is of how many nodes the store is asked by name.
	fewNodes = 100
)

func labelsOf(s *events.Stream) map[string]string {
	return map[string]string{"cluster": s.Cluster, "kind": s.Kind, "node": s.Node,
		"severity": s.Severity}
}
