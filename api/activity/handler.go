package activity

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/access/listener"
	"github.com/ringwatch/ringwatch/api/fleet"
	"github.com/ringwatch/ringwatch/api/instant"
	"github.com/ringwatch/ringwatch/api/reply"
	"github.com/ringwatch/ringwatch/api/request"
)

// Handler has the endpoints /v1/tasks, /v1/clients and /v1/repairs.
type Handler struct {
	engine  instant.Engine
	fleet   *fleet.Fleet
	metrics *reply.Metrics
	clock   func() time.Time
}

// New returns the endpoints.
func New(engine instant.Engine, nodes *fleet.Fleet, metrics *reply.Metrics,
	clock func() time.Time) *Handler {
	return &Handler{engine: engine, fleet: nodes, metrics: metrics, clock: clock}
}

// Routes returns the endpoints.
func (h *Handler) Routes() []listener.Route {
	return []listener.Route{
		{Pattern: "GET /v1/tasks", Handle: h.getTasks},
		{Pattern: "GET /v1/clients", Handle: h.getClients},
		{Pattern: "GET /v1/repairs", Handle: h.getRepairs},
	}
}

// getTasks answers /v1/tasks: what runs.
func (h *Handler) getTasks(w http.ResponseWriter, r *http.Request, p account.Principal) error {
	q, err := h.question(r, p, "cluster", "node")
	if err != nil {
		return err
	}
	list, err := Tasks(r.Context(), q)
	if err != nil {
		return err
	}
	h.metrics.NotePartial(w, list.Partial.Partial)
	return reply.JSON(w, r, list)
}

// getClients answers /v1/clients: who is connected.
func (h *Handler) getClients(w http.ResponseWriter, r *http.Request, p account.Principal) error {
	q, err := h.question(r, p, "cluster", "node")
	if err != nil {
		return err
	}
	list, err := Clients(r.Context(), q)
	if err != nil {
		return err
	}
	h.metrics.NotePartial(w, list.Partial.Partial)
	return reply.JSON(w, r, list)
}

// getRepairs answers /v1/repairs: which tables were repaired when.
func (h *Handler) getRepairs(w http.ResponseWriter, r *http.Request, p account.Principal) error {
	q, err := h.question(r, p, "cluster")
	if err != nil {
		return err
	}
	list, err := Repairs(r.Context(), q)
	if err != nil {
		return err
	}
	h.metrics.NotePartial(w, list.Partial.Partial)
	return reply.JSON(w, r, list)
}

// question reads whose activity a request asks for.
func (h *Handler) question(r *http.Request, p account.Principal,
	allowed ...string) (q Question, err error) {
	values, err := request.Parameters(r, allowed...)
	if err != nil {
		return q, err
	}
	place := url.Values{}
	if q.Cluster, q.At = values.Get("cluster"), h.clock(); values.Has("cluster") {
		place.Set("cluster", q.Cluster)
	}
	nodes, err := h.fleet.Nodes(r.Context(), p, place)
	if err != nil {
		return q, err
	}
	if q.Node, err = fleet.NodeNamed(nodes, values); err != nil {
		return q, err
	}
	q.Called = fleet.Called(nodes)
	q.Query = func(ctx context.Context, promql string) (list []Series, lacks []string, err error) {
		lacks, err = instant.Ask(ctx, h.engine, p, promql, q.At,
			func(labels map[string]string, v float64) {
				list = append(list, Series{Labels: labels, Value: v})
			})
		return list, lacks, err
	}
	return q, nil
}
