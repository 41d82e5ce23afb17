package nodes

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/access/listener"
	"github.com/ringwatch/ringwatch/api/reply"
	"github.com/ringwatch/ringwatch/query"
	"github.com/ringwatch/ringwatch/query/roster"
)

// postForget takes a node out of the list of those that are missed, until it speaks again.
func (h *Handler) postForget(w http.ResponseWriter, r *http.Request, p account.Principal) error {
	n, _, err := h.node(r, p)
	if err != nil {
		return err
	}
	switch {
	case n.Left != nil: // there is nothing to do
		return reply.JSON(w, r, n)
	case n.State == query.StateUp:
		return &listener.Error{Status: http.StatusConflict, Reason: "node_up", Field: "id",
			Message: fmt.Sprintf(
				"node %s is up and would be back with its next frame: stop it or its "+
					"agent first", n.ID)}
	case h.forget == nil:
		return &listener.Error{Status: http.StatusNotFound, Reason: "not_found",
			Message: "this API cannot forget nodes: it knows no Kafka"}
	}
	now := h.clock().UnixMilli()
	rec := h.roster.Changed(p.Account, n.Cluster, n.ID, now, func(rec *roster.Record) {
		rec.Datacenter, rec.Rack, rec.Address = n.Datacenter, n.Rack, n.Address
		rec.End = &roster.End{Why: roster.Forgotten, At: now, By: p.KeyName}
		if n.AgeSeconds != nil {
			rec.End.Last = now - int64(*n.AgeSeconds*1000)
		}
	})
	if err := h.forget(r.Context(), rec); err != nil {
		if errors.Is(err, context.Canceled) {
			return err
		}
		return &listener.Error{Status: http.StatusServiceUnavailable, Reason: "unavailable",
			Message: "that could not be kept now: send it again later", RetryAfter: 5, Cause: err}
	}
	h.log.Info("a node was forgotten", "account", p.Account, "cluster", n.Cluster, "node", n.ID,
		"address", n.Address, "key", p.Key())
	n.State, n.Left = rec.End.Why, newDeparture(rec.End)
	return reply.JSON(w, r, n)
}
