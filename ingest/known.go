package ingest

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/ringwatch/ringwatch/frame"
)

const (
	// knownAgain is how often the store is asked which nodes there are, and only if one comes that
	// nobody here knows.
	knownAgain = 10 * time.Second
	// knownTimeout bounds how long a new node's frame waits for the answer.
	knownTimeout = 3 * time.Second
	// knownAlone is how long a node is known that the store does not have: one whose key frames
	// cannot be read never gets there.
	knownAlone = time.Hour
	// nodesAfter is when a node is to come back that an account has no room for.
	nodesAfter = time.Minute
)

// knownNodes are the nodes of each account: those that the store has, and those that were let in
// here.
type knownNodes struct {
	mu       sync.Mutex
	accounts map[string]*accountNodes // of accounts with keys, so the configuration bounds them
	entities int                      // of all names that are kept
}

// accountNodes are an account's. A frame of a node that is known waits for nobody.
type accountNodes struct {
	asking sync.Mutex // held while a node that nobody knows is let in, one after the other

	mu     sync.Mutex // the rest
	nodes  map[uuid.UUID]*knownNode
	asked  time.Time // when the store was asked
	listed bool      // it has answered
}

// knownNode is a node, with what its last key frame named: see names.go.
type knownNode struct {
	since   time.Time // when it was let in; zero: the store has it
	restart bool      // it was there before we knew it, so its names are not new
	names
}

func (k *knownNodes) of(account string) *accountNodes {
	k.mu.Lock()
	defer k.mu.Unlock()
	a := k.accounts[account]
	if a == nil {
		if k.accounts == nil {
			k.accounts = map[string]*accountNodes{}
		}
		a = &accountNodes{nodes: map[uuid.UUID]*knownNode{}}
		k.accounts[account] = a
	}
	return a
}

func (a *accountNodes) find(id uuid.UUID) *knownNode {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.nodes[id]
}

// checkNode lets a node in that is known or for which its account has room. A node that the store
// has is never refused, whenever this process was started; while the store has never answered, only
// the number of nodes is bounded.
func (s *Server) checkNode(ctx context.Context, account string, h *frame.Header) *refusal {
	a := s.known.of(account)
	if a.find(h.Node) != nil {
		return nil
	}
	a.asking.Lock()
	defer a.asking.Unlock()
	s.askNodes(ctx, account, a)
	a.mu.Lock()
	there, count, listed := a.nodes[h.Node] != nil, len(a.nodes), a.listed
	a.mu.Unlock()
	if there {
		return nil
	}
	if count >= s.config.MaxNodes {
		return busy(http.StatusTooManyRequests, "too_many_nodes", nodesAfter,
			"account %s has %d nodes, and %d are allowed: wait until removed nodes are "+
				"forgotten, or ask the operator to raise ingest.max_nodes", account, count, s.config.MaxNodes)
	}
	if listed && s.deps.NewNodes != nil {
		if after := s.deps.NewNodes(ctx, account, 1); after > 0 {
			return busy(http.StatusTooManyRequests, "new_nodes", after,
				"account %s has more than %d new nodes in an hour: send the frame again later, "+
					"or ask the operator to raise ingest.new_nodes_per_hour", account, s.config.NewNodesPerHour)
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.nodes[h.Node] = &knownNode{since: s.now(), restart: !listed}
	return nil
}

// askNodes takes in what the store has, if it was not asked just now. The caller holds a.asking.
func (s *Server) askNodes(ctx context.Context, account string, a *accountNodes) {
	now := s.now()
	if s.deps.Nodes == nil || !a.asked.IsZero() && now.Sub(a.asked) < knownAgain {
		return
	}
	a.asked = now
	call, cancel := context.WithTimeout(context.WithoutCancel(ctx), knownTimeout)
	defer cancel()
	list, err := s.deps.Nodes(call, account)
	if err != nil {
		s.deps.Log.Warn(
			"the nodes of an account cannot be read; the nodes that are known stay in use",
			"account", account, "error", err)
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	nodes := make(map[uuid.UUID]*knownNode, len(list))
	for _, id := range list {
		n := a.nodes[id]
		if n == nil {
			n = &knownNode{restart: true}
		}
		n.since = time.Time{}
		nodes[id] = n
	}
	for id, n := range a.nodes {
		if nodes[id] == nil && !n.since.IsZero() && now.Sub(n.since) < knownAlone {
			nodes[id] = n
		} else if nodes[id] == nil {
			s.known.forget(&n.names)
		}
	}
	a.nodes, a.listed = nodes, true
}
