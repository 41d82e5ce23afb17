package safe

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/access/listener"
	"github.com/ringwatch/ringwatch/api/fleet"
	"github.com/ringwatch/ringwatch/api/instant"
	"github.com/ringwatch/ringwatch/api/refusal"
	"github.com/ringwatch/ringwatch/api/reply"
	"github.com/ringwatch/ringwatch/api/request"
	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/query/roster"
	"github.com/ringwatch/ringwatch/window"
)

// Handler has the endpoint /v1/clusters/{cluster}/safe.
type Handler struct {
	conditions func(account string) *Conditions
	engine     instant.Engine
	fleet      *fleet.Fleet
	left       Left
	clock      func() time.Time
}

// Left returns how a node has left its cluster, nil if it has not, as read.Reader.Left.
type Left func(account string, n *window.Node) *roster.End

// NewHandler returns the endpoint. conditions are an account's.
func NewHandler(conditions func(account string) *Conditions, engine instant.Engine,
	nodes *fleet.Fleet, left Left, clock func() time.Time) *Handler {
	return &Handler{conditions: conditions, engine: engine, fleet: nodes, left: left, clock: clock}
}

// Routes returns the endpoint.
func (h *Handler) Routes() []listener.Route {
	return []listener.Route{{Pattern: "GET /v1/clusters/{cluster}/safe", Handle: h.getSafe}}
}

// getSafe answers /v1/clusters/{cluster}/safe: whether it is safe to go on with maintenance.
func (h *Handler) getSafe(w http.ResponseWriter, r *http.Request, p account.Principal) error {
	q, err := request.Parameters(r, "for", "node", "since")
	if err != nil {
		return err
	}
	known, err := h.fleet.InPath(r, p)
	if err != nil {
		return err
	}
	question := Question{Cluster: r.PathValue("cluster"), For: Purpose(q.Get("for")),
		At: h.clock()}
	if !question.For.Known() {
		return refusal.UnknownWord("for", q.Get("for"), strings.Split(PurposesText(), ", "))
	}
	if q.Has("since") {
		at, err := request.ParseTime("since", q.Get("since"))
		if err != nil {
			return err
		}
		if question.Since = time.UnixMilli(at); question.Since.After(question.At) {
			return refusal.Bad("bad_since", "since",
				"since lies ahead of %s, the server's time: use when the step before ended",
				question.At.UTC().Format(time.RFC3339))
		}
	}
	var present []window.Node
	others := map[string]string{} // kinds of nodes that run something else, by id
	for i := range known {
		n := &known[i]
		if kind := n.Kind(); kind != frame.KindCassandra {
			others[n.ID.String()] = kind
			continue
		}
		if h.left(p.Account, n) != nil {
			question.Left = append(question.Left, n.Fact("address"))
			continue
		}
		present = append(present, *n)
		paused, _ := n.Paused()
		question.Nodes = append(question.Nodes, Node{ID: n.ID.String(), Name: n.Name(),
			Datacenter: n.Datacenter, Rack: n.Rack, Paused: paused,
			Interval: time.Duration(n.Interval) * time.Millisecond})
	}
	if len(others) == len(known) {
		return &listener.Error{Status: http.StatusUnprocessableEntity, Reason: "not_cassandra",
			Field: "cluster", Message: fmt.Sprintf("cluster %s has no Cassandra node: its nodes "+
				"run %s, and what is safe is known of Cassandra alone", question.Cluster,
				kindsText(others))}
	}
	if question.Node, err = fleet.NodeNamed(present, q); err != nil {
		if e, is := errors.AsType[*listener.Error](err); is && e.Status == http.StatusNotFound {
			e.Message += " (the cluster's Cassandra nodes that have not left)"
		}
		return err
	}
	if question.Node == "" && question.For.NeedsNode() {
		return refusal.Bad("no_node", "node", "for=%s is about one node: name it with node=",
			question.For)
	}
	answer, err := h.conditions(p.Account).Ask(r.Context(), accountSource{h.engine, p, others},
		question)
	if err != nil {
		return err
	}
	if n := len(others); n > 0 {
		answer.NotChecked = append(answer.NotChecked, fmt.Sprintf("Nodes that run other software "+
			"are not looked at: %d (%s).", n, kindsText(others)))
	}
	return reply.JSON(w, r, answer)
}

// kindsText names what software nodes run.
func kindsText(nodes map[string]string) string {
	kinds := slices.Sorted(maps.Values(nodes))
	return strings.Join(slices.Compact(kinds), ", ")
}

// accountSource asks PromQL for an account, about Cassandra nodes. It implements Source.
type accountSource struct {
	engine instant.Engine
	who    account.Principal
	others map[string]string // ids of nodes that run something else
}

// Query implements Source.
func (s accountSource) Query(ctx context.Context, expr string, at time.Time) (list []Series,
	lacks []string, err error) {
	lacks, err = instant.Ask(ctx, s.engine, s.who, expr, at,
		func(labels map[string]string, v float64) {
			if s.others[labels["node"]] == "" {
				list = append(list, Series{Labels: labels, Value: v})
			}
		})
	if err != nil {
		return nil, nil, errors.New(refusal.Of(ctx, err).Message)
	}
	return list, lacks, nil
}
