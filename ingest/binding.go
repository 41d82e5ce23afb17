package ingest

import (
	"context"
	"errors"
	"net/http"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/frame"
)

// checkBinding refuses frames of clusters and nodes that a key is not for. So a key that was stolen
// from one node cannot send for another.
func (s *Server) checkBinding(ctx context.Context, who account.Principal,
	h *frame.Header) *refusal {
	if frame.IsRecorder(h.Node) && !frame.IsProcess(h.Node) || h.Cluster == frame.EveryCluster {
		return refuse(http.StatusForbidden, "recorder",
			"node %s of cluster %q is reserved for recorded series: an agent may not send as it",
			h.Node, h.Cluster)
	}
	if others := who.OtherCluster(h.Cluster); others != "" {
		return refuse(http.StatusForbidden, "other_cluster",
			"key %s is bound to the clusters %s and the frame is of %q: use a key that was made "+
				"for that cluster", who.Key(), others, h.Cluster)
	}
	if !who.Owns(h.Cluster) {
		return refuse(http.StatusForbidden, "foreign_cluster",
			"account %s does not own cluster %q: use a key of the account that does, or add the "+
				"cluster to this one", who.Account, h.Cluster)
	}
	err := s.bindings(ctx, who, h)
	var other *account.OtherNodeError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &other):
		return refuse(http.StatusForbidden, "other_node", "%v; the frame is of node %s",
			err, h.Node)
	}
	return busy(http.StatusServiceUnavailable, "key_check", retryAfter,
		"the node that the API key is bound to cannot be checked now: send the frame again later")
}

func (s *Server) bindings(ctx context.Context, who account.Principal, h *frame.Header) error {
	if s.deps.Bound == nil {
		return nobody.Check(ctx, who, h.Node)
	}
	return s.deps.Bound(ctx, who, h.Node)
}

// nobody knows the first nodes of keys; keys that are bound to a node by name need nobody.
var nobody = account.NewBindings(nil)
