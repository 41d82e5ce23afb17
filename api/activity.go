package api

import (
	"context"
	"errors"
	"net/http"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/api/activity"
)

// activityRoutes are there if Deps.Engine is.
func (s *Server) activityRoutes() []route {
	if s.deps.Engine == nil {
		return nil
	}
	return []route{
		{pattern: "GET /v1/tasks", scoped: s.getTasks},
		{pattern: "GET /v1/clients", scoped: s.getClients},
		{pattern: "GET /v1/repairs", scoped: s.getRepairs},
	}
}

// getTasks answers /v1/tasks: what runs.
func (s *Server) getTasks(w http.ResponseWriter, r *http.Request, p account.Principal) error {
	q, err := s.activity(r, p, "cluster", "node")
	if err != nil {
		return err
	}
	list, err := activity.Tasks(r.Context(), q)
	if err != nil {
		return err
	}
	s.notePartial(w, list.Partial.Partial)
	return writeJSON(w, r, list)
}

// getClients answers /v1/clients: who is connected.
func (s *Server) getClients(w http.ResponseWriter, r *http.Request, p account.Principal) error {
	q, err := s.activity(r, p, "cluster", "node")
	if err != nil {
		return err
	}
	list, err := activity.Clients(r.Context(), q)
	if err != nil {
		return err
	}
	s.notePartial(w, list.Partial.Partial)
	return writeJSON(w, r, list)
}

// getRepairs answers /v1/repairs: which tables were repaired when.
func (s *Server) getRepairs(w http.ResponseWriter, r *http.Request, p account.Principal) error {
	q, err := s.activity(r, p, "cluster")
	if err != nil {
		return err
	}
	list, err := activity.Repairs(r.Context(), q)
	if err != nil {
		return err
	}
	s.notePartial(w, list.Partial.Partial)
	return writeJSON(w, r, list)
}

// activity reads whose activity a request asks for. An unknown cluster has none.
func (s *Server) activity(r *http.Request, p account.Principal,
	allowed ...string) (of activity.Question, err error) {
	q, err := parameters(r, allowed...)
	if err != nil {
		return of, err
	}
	nodes, err := s.deps.Reader.Nodes(r.Context(), p, s.config.NodesTTL)
	if err != nil {
		return of, err
	}
	of.Cluster, of.At = q.Get("cluster"), s.config.Clock()
	if q.Has("cluster") && of.Cluster == "" {
		return of, bad("bad_cluster", "cluster", "cluster is empty: name one, or leave it out")
	}
	if of.Node, err = nodeNamed(nodesIn(nodes, of.Cluster), q); err != nil {
		if e, is := errors.AsType[*Error](err); is && e.Status == http.StatusNotFound {
			e.Message = "this key sees no such node here: GET /v1/nodes lists those that it sees"
		}
		return of, err
	}
	names := make(map[string]string, len(nodes))
	for i := range nodes {
		names[nodes[i].ID.String()] = nodes[i].Name()
	}
	of.Called = func(id string) string {
		if name := names[id]; name != "" {
			return name
		}
		return id
	}
	of.Query = func(ctx context.Context, promql string) (list []activity.Series, lacks []string,
		err error) {
		lacks, err = s.newest(ctx, p, promql, of.At, func(labels map[string]string, v float64) {
			list = append(list, activity.Series{Labels: labels, Value: v})
		})
		return list, lacks, err
	}
	return of, nil
}

// nodesIn are the nodes of a cluster; with an empty name all.
func nodesIn(nodes []Node, cluster string) (list []Node) {
	for i := range nodes {
		if cluster == "" || nodes[i].Cluster == cluster {
			list = append(list, nodes[i])
		}
	}
	return list
}
