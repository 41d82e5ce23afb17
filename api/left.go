package api

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/google/uuid"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/query"
	"github.com/ringwatch/ringwatch/query/roster"
)

// leftAnswer says how a node has left.
type leftAnswer struct {
	Since string `json:"since"`
	// By is the id of the node in its place, the cluster that it is in now, or the name of the key
	// that forgot it.
	By string `json:"by,omitempty"`
}

func newLeft(e *roster.End) *leftAnswer { return &leftAnswer{Since: formatTime(e.At), By: e.By} }

// movedAway returns those of the account's nodes that were in a cluster which the key may see and
// are in another one now, which is the one that nodes has. nodes are all that the key may see.
func (s *Server) movedAway(p account.Principal, nodes []Node) (list []nodeAnswer) {
	type standing struct {
		node    uuid.UUID
		cluster string
	}
	known, kinds := map[standing]bool{}, map[uuid.UUID]string{}
	for _, rec := range s.deps.Reader.Roster().Left(p.Account, roster.Moved) {
		if !p.Owns(rec.Cluster) {
			continue
		}
		if len(known) == 0 {
			for i := range nodes {
				known[standing{nodes[i].ID, nodes[i].Cluster}] = true
				kinds[nodes[i].ID] = nodes[i].Kind()
			}
		}
		if known[standing{rec.Node, rec.Cluster}] {
			continue
		}
		a := nodeAnswer{ID: rec.Node, Cluster: rec.Cluster, Datacenter: rec.Datacenter,
			Rack: rec.Rack, Kind: cmp.Or(kinds[rec.Node], frame.KindCassandra),
			Address: rec.Address, State: rec.End.Why, Left: newLeft(rec.End)}
		if at := rec.End.Last; at > 0 {
			age := float64(max(0, s.config.Clock().UnixMilli()-at)) / 1000
			a.LastSeen, a.AgeSeconds = formatTime(at), &age
		}
		list = append(list, a)
	}
	return list
}

// postForget takes a node out of the list of those that are missed, until it speaks again.
func (s *Server) postForget(w http.ResponseWriter, r *http.Request, p account.Principal) error {
	n, _, err := s.node(r, p)
	if err != nil {
		return err
	}
	switch {
	case n.Left != nil: // there is nothing to do
		return writeJSON(w, r, n)
	case n.State == query.StateUp:
		return &Error{Status: http.StatusConflict, Reason: "node_up", Field: "id",
			Message: fmt.Sprintf(
				"node %s is up and would be back with its next frame: stop it or its "+
					"agent first", n.ID)}
	case s.deps.Forget == nil:
		return &Error{Status: http.StatusNotFound, Reason: "not_found",
			Message: "this API cannot forget nodes: it knows no Kafka"}
	}
	now := s.config.Clock().UnixMilli()
	rec := s.deps.Reader.Roster().Changed(p.Account, n.Cluster, n.ID, now,
		func(rec *roster.Record) {
			rec.Datacenter, rec.Rack, rec.Address = n.Datacenter, n.Rack, n.Address
			rec.End = &roster.End{Why: roster.Forgotten, At: now, By: p.KeyName}
			if n.AgeSeconds != nil {
				rec.End.Last = now - int64(*n.AgeSeconds*1000)
			}
		})
	if err := s.deps.Forget(r.Context(), rec); err != nil {
		if errors.Is(err, context.Canceled) {
			return err
		}
		return &Error{Status: http.StatusServiceUnavailable, Reason: "unavailable",
			Message: "that could not be kept now: send it again later", RetryAfter: 5, Cause: err}
	}
	s.deps.Log.Info("a node was forgotten", "account", p.Account, "cluster", n.Cluster,
		"node", n.ID,
		"address", n.Address, "key", p.Key())
	n.State, n.Left = rec.End.Why, newLeft(rec.End)
	return writeJSON(w, r, n)
}
