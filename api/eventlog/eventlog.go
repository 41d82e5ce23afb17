// Package eventlog answers what happened on nodes: /v1/events, newest first or as it comes, and
// /v1/slow-queries. Begin with Handler.
//
// What it promises: who follows is told of all that a page may show once, what came late among it.
// A change of a schema, which each node tells, is told once.
//
// What bites: Read does not look at what a key may see, so a question names the clusters that it
// may.
package eventlog

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/google/uuid"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/access/listener"
	"github.com/ringwatch/ringwatch/api/fleet"
	"github.com/ringwatch/ringwatch/api/literal"
	"github.com/ringwatch/ringwatch/api/refusal"
	"github.com/ringwatch/ringwatch/api/reply"
	"github.com/ringwatch/ringwatch/api/request"
	"github.com/ringwatch/ringwatch/memory"
	"github.com/ringwatch/ringwatch/window/events"
)

// jsonGrowth is how much longer an event may be as JSON, where a byte becomes \u0000 at worst.
const jsonGrowth = 6

// slowSpan is what slow queries are of if the request does not say.
const slowSpan = 24 * time.Hour

// Handler has the endpoints.
type Handler struct {
	read    Read
	fleet   *fleet.Fleet
	metrics *reply.Metrics
	clock   func() time.Time
}

// New returns the endpoints.
func New(read Read, nodes *fleet.Fleet, metrics *reply.Metrics, clock func() time.Time) *Handler {
	return &Handler{read: read, fleet: nodes, metrics: metrics, clock: clock}
}

// Routes returns the endpoints.
func (h *Handler) Routes() []listener.Route {
	return []listener.Route{{Pattern: "GET /v1/events", Handle: h.getEvents},
		{Pattern: "GET /v1/slow-queries", Handle: h.getSlowQueries}}
}

// list is the answer of /v1/events.
type list struct {
	Events []event `json:"events"`
	// Next is cursor= or after= for what follows; not there: that was all.
	Next string `json:"next,omitempty"`
	// More says to who follows that there is something behind Next already.
	More bool `json:"more,omitempty"`
}

type event struct {
	ID       string            `json:"id"`
	At       string            `json:"at"`
	Cluster  string            `json:"cluster"`
	Node     uuid.UUID         `json:"node"`
	Name     string            `json:"name"` // what people call the node; empty: nobody knows
	Kind     string            `json:"kind"`
	Severity string            `json:"severity"`
	Labels   map[string]string `json:"labels"`
	Text     string            `json:"text"`
	Nodes    int               `json:"nodes,omitempty"` // that said so of the schema
	// Also are the ids of what the other nodes said of it: they are not in the answer, and in
	// another one who follows would take them for something new.
	Also []string `json:"also,omitempty"`
}

// newEvent is an event as an answer has it, of a node that people call so.
func newEvent(e *events.Event, name string) event {
	a := event{ID: e.ID().String(), At: literal.Time(e.At), Cluster: e.Cluster, Node: e.Node,
		Name: name, Kind: e.Kind, Severity: e.Severity.String(),
		Labels: map[string]string{}, Text: e.Text}
	for _, l := range e.Labels {
		a.Labels[l.Name] = l.Value
	}
	return a
}

// question reads which events a request asks for.
func (h *Handler) question(ctx context.Context, p account.Principal,
	values url.Values) (*question, error) {
	nodes, err := h.fleet.All(ctx, p)
	if err != nil {
		return nil, err
	}
	q := &question{read: h.read, clock: h.clock, account: p.Account,
		names: map[uuid.UUID]string{}}
	return q, q.parse(p, nodes, values)
}

// getEvents answers /v1/events: what happened on nodes, the newest first, or with after= what
// happened since, the oldest first.
func (h *Handler) getEvents(w http.ResponseWriter, r *http.Request, p account.Principal) error {
	values, err := request.Parameters(r, "cluster", "node", "kind", "severity", "text", "from",
		"to", "period", "limit", "cursor", "after")
	if err != nil {
		return err
	}
	q, err := h.question(r.Context(), p, values)
	if err != nil {
		return err
	}
	if err := q.filter(values); err != nil {
		return err
	}
	switch {
	case values.Has("cursor") && values.Has("after"):
		return refusal.Bad("bad_cursor", "cursor",
			"give cursor= for older events or after= for newer ones, "+
				"not both")
	case values.Has("cursor"):
		id, err := events.ParseID(values.Get("cursor"))
		if err != nil {
			return refusal.Bad("bad_cursor", "cursor",
				"cursor must be next of the answer before or an event's id, as it came; leave it "+
					"out for the newest events")
		}
		q.query.Before = &id
	}
	var found events.Page
	answer := list{Events: []event{}}
	if values.Has("after") {
		f, err := parseAfter(values.Get("after"), h.clock().UnixMilli())
		if err != nil {
			return err
		}
		if found.Events, answer.More, err = q.follow(r.Context(), &f); err != nil {
			return err
		}
		answer.Next = f.String()
	} else {
		if found, err = q.page(r.Context()); err != nil {
			return err
		}
		if found.Next != nil {
			answer.Next = found.Next.String()
		}
	}
	lease := memory.Of(r.Context())
	repeats, repeatedBy := repeatedChanges(found.Events)
	for i := range found.Events {
		e := &found.Events[i]
		if repeats[i] {
			continue
		}
		if err := lease.Take(jsonGrowth * e.Bytes()); err != nil {
			return err
		}
		a := newEvent(e, q.names[e.Node])
		if e.Kind == "schema" {
			a.Nodes, a.Also = 1+len(repeatedBy[i]), repeatedBy[i]
		}
		answer.Events = append(answer.Events, a)
	}
	return reply.JSON(w, r, answer)
}

// getSlowQueries answers /v1/slow-queries: which statements were slow, the slowest first.
func (h *Handler) getSlowQueries(w http.ResponseWriter, r *http.Request,
	p account.Principal) error {
	values, err := request.Parameters(r, "cluster", "node", "from", "to", "period", "limit")
	if err != nil {
		return err
	}
	if !values.Has("from") && !values.Has("period") {
		if to := values.Get("to"); to != "" {
			return refusal.Bad("bad_time", "from", "to= needs from= or period=")
		}
		values.Set("period", fmt.Sprintf("%dh", int(slowSpan.Hours())))
	}
	q, err := h.question(r.Context(), p, values)
	if err != nil {
		return err
	}
	answer, err := q.slowQueries(r.Context())
	if err != nil {
		return err
	}
	h.metrics.NotePartial(w, answer.Partial)
	return reply.JSON(w, r, answer)
}
