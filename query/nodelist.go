package api

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/ringwatch/ringwatch/account"
)

// refreshAtMost is how often an id that is not in the list may make it be read again: a new node is found at once, guessing ids costs little.
const refreshAtMost = time.Second

// nodeList remembers the nodes of each account for NodesTTL, and longer while the store is away.
type nodeList struct {
	config *Config
	store  Store

	mu       sync.Mutex
	accounts map[string]*accountNodes
}

type accountNodes struct {
	mu    sync.Mutex // held while the list is read: requests that come meanwhile share the answer
	read  time.Time
	nodes []Node // by cluster, datacenter, rack, id
}

func (l *nodeList) init(c *Config, s Store) {
	l.config, l.store, l.accounts = c, s, map[string]*accountNodes{}
}

// get returns the nodes that the principal may see, not older than age. The result is not to be changed.
func (l *nodeList) get(ctx context.Context, p account.Principal, age time.Duration) ([]Node, error) {
	l.mu.Lock()
	a := l.accounts[p.Account]
	if a == nil {
		a = &accountNodes{}
		l.accounts[p.Account] = a // one per account with a valid key, so it is bounded by the configuration
	}
	l.mu.Unlock()
	a.mu.Lock()
	defer a.mu.Unlock()
	if now := l.config.Clock(); a.read.IsZero() || now.Sub(a.read) >= age {
		nodes, err := l.store.Nodes(ctx, p.Account)
		switch {
		case err == nil:
			slices.SortFunc(nodes, func(x, y Node) int {
				return cmp.Or(cmp.Compare(x.Cluster, y.Cluster), cmp.Compare(x.Datacenter, y.Datacenter), cmp.Compare(x.Rack, y.Rack), slices.Compare(x.ID[:], y.ID[:]))
			})
			a.nodes, a.read = nodes, now
		case a.read.IsZero():
			return nil, err
		}
		// Otherwise the old list is better than none: who the nodes are hardly changes.
	}
	visible := make([]Node, 0, len(a.nodes))
	for _, n := range a.nodes {
		if p.Owns(n.Cluster) {
			visible = append(visible, n)
		}
	}
	return visible, nil
}

// find returns the nodes that a request's path means: today the one with the id, later those of a cluster or a datacenter.
func (s *Server) find(r *http.Request, p account.Principal) ([]Node, error) {
	unknown := &Error{Status: http.StatusNotFound, Reason: "unknown_node", Field: "id", Message: "this key sees no node with that id: GET /v1/nodes lists them"}
	id, err := uuid.Parse(r.PathValue("id"))
	if err != nil {
		return nil, unknown
	}
	for _, age := range []time.Duration{s.config.NodesTTL, min(s.config.NodesTTL, refreshAtMost)} {
		nodes, err := s.nodes.get(r.Context(), p, age)
		if err != nil {
			return nil, err
		}
		for _, n := range nodes {
			if n.ID == id {
				return []Node{n}, nil
			}
		}
	}
	return nil, unknown
}
