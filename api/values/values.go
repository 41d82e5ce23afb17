// Package values answers what nodes' series are and were, at /v1/nodes/{id}/metrics and its like
// for clusters and datacenters, and /v1/catalog, whose names may stand for series. Begin with
// Handler. It writes by api/payload and api/exposition.
//
// What it promises: a list is never torn. In one of many nodes everything after the first node is
// whole, or says what it lacks (see stream).
package values

import (
	"net/http"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/access/listener"
	"github.com/ringwatch/ringwatch/api/reply"
	"github.com/ringwatch/ringwatch/api/request"
)

// Handler has the endpoints.
type Handler struct{ config Config }

// New returns the endpoints.
func New(c Config) *Handler { return &Handler{c} }

// Routes returns the endpoints.
func (h *Handler) Routes() []listener.Route {
	routes := []listener.Route{
		{Pattern: "GET /v1/clusters/{cluster}/metrics", Handle: h.getMetrics},
		{Pattern: "GET /v1/datacenters/{datacenter}/metrics", Handle: h.getMetrics},
		{Pattern: "GET /v1/nodes/{id}/metrics", Handle: h.getMetrics},
	}
	if h.config.Catalog != nil {
		routes = append(routes, listener.Route{Pattern: "GET /v1/catalog", Handle: h.getCatalog})
	}
	return routes
}

// getCatalog answers /v1/catalog: the groups of the account's catalogue.
func (h *Handler) getCatalog(w http.ResponseWriter, r *http.Request, p account.Principal) error {
	if _, err := request.Parameters(r); err != nil {
		return err
	}
	return reply.JSON(w, r, h.config.Catalog(p.Account).Groups)
}

// getMetrics answers /v1/{clusters,datacenters,nodes}/{…}/metrics:
// [{"id","cluster","datacenter","rack","payload":[…]}], one element per node that the path means.
// An element that lacks something which is stored has "partial":[…] before its payload, which
// says in words what; see stream.
func (h *Handler) getMetrics(w http.ResponseWriter, r *http.Request, p account.Principal) error {
	q, err := h.config.question(r, p)
	if err != nil {
		return err
	}
	nodes, err := h.config.Fleet.InPath(r, p)
	if err != nil {
		return err
	}
	a := &asking{config: &h.config, question: q, w: w, r: r, who: p, nodes: nodes}
	return a.answer()
}
