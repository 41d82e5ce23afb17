package api

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/api/safe"
	"github.com/ringwatch/ringwatch/frame"
)

// safeRoutes are there if Deps.Safe is.
func (s *Server) safeRoutes() []route {
	if s.deps.Safe == nil {
		return nil
	}
	return []route{{pattern: "GET /v1/clusters/{cluster}/safe", scoped: s.getSafe}}
}

// getSafe answers /v1/clusters/{cluster}/safe: whether it is safe to go on with maintenance.
func (s *Server) getSafe(w http.ResponseWriter, r *http.Request, p account.Principal) error {
	q, err := parameters(r, "for", "node", "since")
	if err != nil {
		return err
	}
	known, err := s.where(r, p)
	if err != nil {
		return err
	}
	question := safe.Question{Cluster: r.PathValue("cluster"), For: safe.Purpose(q.Get("for")),
		At: s.config.Clock()}
	if !question.For.Known() {
		return unknownWord("for", q.Get("for"), strings.Split(safe.PurposesText(), ", "))
	}
	if q.Has("since") {
		at, err := parseTime("since", q.Get("since"))
		if err != nil {
			return err
		}
		if question.Since = time.UnixMilli(at); question.Since.After(question.At) {
			return bad("bad_since", "since", "since lies ahead of %s, the server's time: use "+
				"when the step before ended", question.At.UTC().Format(time.RFC3339))
		}
	}
	var there []Node
	others := map[string]string{} // kinds of nodes that run something else, by id
	for i := range known {
		n := &known[i]
		if kind := n.Kind(); kind != frame.KindCassandra {
			others[n.ID.String()] = kind
			continue
		}
		if s.deps.Reader.Left(p.Account, n) != nil {
			question.Left = append(question.Left, n.Fact("address"))
			continue
		}
		there = append(there, *n)
		paused, _ := n.Paused()
		question.Nodes = append(question.Nodes, safe.Node{ID: n.ID.String(), Name: n.Name(),
			Datacenter: n.Datacenter, Rack: n.Rack, Paused: paused,
			Interval: time.Duration(n.Interval) * time.Millisecond})
	}
	if len(others) == len(known) {
		return &Error{Status: http.StatusUnprocessableEntity, Reason: "not_cassandra",
			Field: "cluster", Message: fmt.Sprintf("cluster %s has no Cassandra node: its nodes "+
				"run %s, and what is safe is known of Cassandra alone", question.Cluster,
				kindsText(others))}
	}
	if question.Node, err = nodeNamed(there, q); err != nil {
		if e, is := errors.AsType[*Error](err); is && e.Status == http.StatusNotFound {
			e.Message += " (the cluster's Cassandra nodes that have not left)"
		}
		return err
	}
	if question.Node == "" && question.For.NeedsNode() {
		return bad("no_node", "node", "for=%s is about one node: name it with node=",
			question.For)
	}
	answer, err := s.deps.Safe(p.Account).Ask(r.Context(), safeSource{s, p, others},
		question)
	if err != nil {
		return err
	}
	if n := len(others); n > 0 {
		answer.NotChecked = append(answer.NotChecked, fmt.Sprintf("Nodes that run other software "+
			"are not looked at: %d (%s).", n, kindsText(others)))
	}
	return writeJSON(w, r, answer)
}

// kindsText names what software nodes run.
func kindsText(of map[string]string) string {
	kinds := slices.Sorted(maps.Values(of))
	return strings.Join(slices.Compact(kinds), ", ")
}

// nodeNamed returns the id of the node that node= means; empty: there is no such parameter.
func nodeNamed(nodes []Node, q url.Values) (string, error) {
	if !q.Has("node") {
		return "", nil
	}
	l := listing{name: strings.ToLower(q.Get("node"))}
	var found []string
	for i := range nodes {
		n := &nodes[i]
		id := n.ID.String()
		if id == l.name {
			return id, nil
		}
		if l.name != "" &&
			l.isCalled(&place{ID: n.ID}, n.Fact("address"), n.Fact("hostname")) {
			found = append(found, id)
		}
	}
	switch len(found) {
	case 0:
		return "", unknownNode("node", q.Get("node"), nodes)
	case 1:
		return found[0], nil
	}
	return "", bad("ambiguous_node", "node", "%d nodes are called so: use an id",
		len(found))
}

// safeSource asks PromQL for an account, about Cassandra nodes. It implements safe.Source.
type safeSource struct {
	*Server
	who    account.Principal
	others map[string]string // ids of nodes that run something else
}

// Query implements safe.Source.
func (s safeSource) Query(ctx context.Context, expr string, at time.Time) (list []safe.Series,
	lacks []string, err error) {
	lacks, err = s.newest(ctx, s.who, expr, at, func(labels map[string]string, v float64) {
		if s.others[labels["node"]] == "" {
			list = append(list, safe.Series{Labels: labels, Value: v})
		}
	})
	if err != nil {
		return nil, nil, errors.New(asError(ctx, err).Message)
	}
	return list, lacks, nil
}
