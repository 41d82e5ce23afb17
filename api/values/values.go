// Package values answers what nodes' series are and were, at /v1/nodes/{id}/metrics and its like
// for clusters and datacenters, and /v1/catalog, whose names may stand for series. Begin with
// Handler. It writes by api/payload and api/exposition.
//
// What it promises: a list is never torn. In one of many nodes everything after the first node is
// whole, or says what it lacks (see stream).
package values

import (
	"context"
	"net/http"
	"time"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/access/listener"
	"github.com/ringwatch/ringwatch/api/budget"
	"github.com/ringwatch/ringwatch/api/fleet"
	"github.com/ringwatch/ringwatch/api/instant"
	"github.com/ringwatch/ringwatch/api/latest"
	"github.com/ringwatch/ringwatch/api/reply"
	"github.com/ringwatch/ringwatch/api/request"
	"github.com/ringwatch/ringwatch/query"
	"github.com/ringwatch/ringwatch/query/catalog"
	"github.com/ringwatch/ringwatch/query/read"
	"github.com/ringwatch/ringwatch/window/rollup"
)

// Reader reads what nodes sent, as query.Reader.
type Reader interface {
	// Latest returns a node's newest state; its Window is nil without an error if none is known.
	Latest(ctx context.Context, account string, n *query.Node) (query.State, error)
	// Range returns a node's values from from to to, both inclusive and in ms, of what any of the
	// selectors selects.
	Range(ctx context.Context, account string, n *query.Node, from, to int64,
		selectors [][]*labels.Matcher) (query.Values, error)
}

// Part returns a context whose work gives its memory back when end is called, as
// share.Readings.Part.
type Part func(ctx context.Context) (within context.Context, end func())

// Rollups reads a node's rollups, as query.Reader.
type Rollups interface {
	// HasRollups reports whether Rollups may be called.
	HasRollups() bool
	// Rollups returns those of periods that hold instants from from to to, in ms, and in words what
	// is missing in them.
	Rollups(ctx context.Context, account string, n *query.Node, level rollup.Level, from, to int64,
		selectors []read.RollupSelector) (all []rollup.Series, missing []string, err error)
}

// Engine evaluates PromQL, as query.Engine.
type Engine interface {
	instant.Engine
	// Range evaluates an expression at from, from+step … until to.
	Range(ctx context.Context, who account.Principal, expr string, from, to time.Time,
		step time.Duration, o query.Options) (*query.Answer, error)
}

// InFlight says in words that frames of a cluster which belong to a range that ends at an instant,
// in ms, may still be on their way to the store, as query.Reader.InFlight.
type InFlight func(ctx context.Context, account, cluster string, to int64) []string

// Config is what a Handler works with.
type Config struct {
	Fleet     *fleet.Fleet
	Reader    Reader
	Part      Part
	Rollups   Rollups
	InFlight  InFlight
	Encodings *latest.Encodings
	Selectors *request.Selectors
	// Catalog returns an account's catalogue, whose entries Engine evaluates; nil: there are no
	// such names.
	Catalog  func(account string) *catalog.Catalog
	Engine   Engine
	Limits   budget.Limits
	MaxRange time.Duration
	Metrics  *reply.Metrics
	Clock    func() time.Time
}

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

// asking is a request for metrics that is being answered.
type asking struct {
	config   *Config
	question *question
	w        http.ResponseWriter
	r        *http.Request
	who      account.Principal
	nodes    []query.Node
}

// getMetrics answers /v1/{clusters,datacenters,nodes}/{…}/metrics:
// [{"id","cluster","datacenter","rack","payload":[…]}], one element per node that the path means.
// An element that lacks something which is stored has "partial":[…] before its payload, which
// says in words what; see stream.
func (h *Handler) getMetrics(w http.ResponseWriter, r *http.Request, p account.Principal) error {
	q, err := h.question(r, p)
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
