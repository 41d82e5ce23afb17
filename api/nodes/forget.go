package nodes

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/access/listener"
	"github.com/ringwatch/ringwatch/api/reply"
	"github.com/ringwatch/ringwatch/query/read"
	"github.com/ringwatch/ringwatch/query/roster"
)

// forgetting takes nodes out of the list of those that are missed.
type forgetting struct {
	nodes  lister
	roster *roster.Roster
	keep   func(context.Context, roster.Record) error
	log    *slog.Logger
}

// post takes a node out of the list of those that are missed, until it speaks again.
func (f *forgetting) post(w http.ResponseWriter, r *http.Request, p account.Principal) error {
	n, _, err := f.nodes.one(r, p)
	if err != nil {
		return err
	}
	switch {
	case n.Left != nil: // there is nothing to do
		return reply.JSON(w, r, n)
	case n.State == read.StateUp:
		return &listener.Error{Status: http.StatusConflict, Reason: "node_up", Field: "id",
			Message: fmt.Sprintf(
				"node %s is up and would be back with its next frame: stop it or its "+
					"agent first", n.ID)}
	case f.keep == nil:
		return &listener.Error{Status: http.StatusNotFound, Reason: "not_found",
			Message: "this API cannot forget nodes: it knows no Kafka"}
	}
	now := f.nodes.clock().UnixMilli()
	rec := f.roster.Changed(p.Account, n.Cluster, n.ID, now, func(rec *roster.Record) {
		rec.Datacenter, rec.Rack, rec.Address = n.Datacenter, n.Rack, n.Address
		rec.End = &roster.End{Why: roster.Forgotten, At: now, By: p.KeyName}
		if n.AgeSeconds != nil {
			rec.End.Last = now - int64(*n.AgeSeconds*1000)
		}
	})
	if err := f.keep(r.Context(), rec); err != nil {
		if errors.Is(err, context.Canceled) {
			return err
		}
		return &listener.Error{Status: http.StatusServiceUnavailable, Reason: "unavailable",
			Message: "that could not be kept now: send it again later", RetryAfter: 5, Cause: err}
	}
	f.log.Info("a node was forgotten", "account", p.Account, "cluster", n.Cluster, "node", n.ID,
		"address", n.Address, "key", p.Key())
	n.State, n.Left = rec.End.Why, newDeparture(rec.End)
	return reply.JSON(w, r, n)
}
