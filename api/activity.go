package api

import (
	"context"
	"net/http"
	"net/url"

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

// activity reads whose activity a request asks for.
func (s *Server) activity(r *http.Request, p account.Principal,
	allowed ...string) (of activity.Question, err error) {
	q, err := parameters(r, allowed...)
	if err != nil {
		return of, err
	}
	place := url.Values{}
	if of.Cluster, of.At = q.Get("cluster"), s.config.Clock(); q.Has("cluster") {
		place.Set("cluster", of.Cluster)
	}
	nodes, err := s.nodesOf(r.Context(), p, place)
	if err != nil {
		return of, err
	}
	if of.Node, err = nodeNamed(nodes, q); err != nil {
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
