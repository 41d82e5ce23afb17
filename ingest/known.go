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
	// knownAlone is how long a node is known that the store does not have. A node whose key frames
	// cannot be read never gets into the store.
	knownAlone = time.Hour
	// dictionaryBytes bounds what is kept of the dictionaries that an account's nodes share. One of
	// 1,100 metrics takes 300 kB.
	dictionaryBytes = 2 << 20
	// nodesAfter is when a node is to come back that an account has no room for.
	nodesAfter = time.Minute
)

// knownNodes are the nodes of each account: those that the store has, and those that were let in
// here.
type knownNodes struct {
	config *Config
	deps   *Deps
	now    func() time.Time

	mu       sync.Mutex
	accounts map[string]*accountNodes // of accounts with keys, so the configuration bounds them
	entities int                      // of all names that are kept
}

// accountNodes are an account's. A frame of a node that is known waits for nobody.
type accountNodes struct {
	asking sync.Mutex // held while the store is asked
	asked  time.Time  // when it was asked last

	dictionaries *frame.Dictionaries // of key frames that came

	mu       sync.Mutex // the rest
	nodes    map[uuid.UUID]*knownNode
	entering int  // frames of nodes that nobody knows, whose account's limit is asked
	listed   bool // the store has answered
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
		a = &accountNodes{nodes: map[uuid.UUID]*knownNode{},
			dictionaries: frame.NewDictionaries(dictionaryBytes)}
		k.accounts[account] = a
	}
	return a
}

func (a *accountNodes) find(id uuid.UUID) *knownNode {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.nodes[id]
}

// checkNode lets a node in that is known, or for which its account has room. A node that the store
// has is never refused, however young this process is. Until the store has answered once, only the
// number of nodes is bounded. New nodes do not wait for each other: a whole fleet may come at once.
func (k *knownNodes) checkNode(ctx context.Context, account string, id uuid.UUID) *refusal {
	a := k.of(account)
	if a.find(id) != nil {
		return nil
	}
	k.askNodes(ctx, account, a)
	e := k.letIn(ctx, account, a, id)
	if e == nil {
		return nil
	}
	a.asking.Lock() // an answer that is on its way may have the node
	defer a.asking.Unlock()
	if k.listNodes(ctx, account, a); a.find(id) != nil {
		return nil
	}
	return e
}

// letIn lets a node in for which its account has room.
func (k *knownNodes) letIn(ctx context.Context, account string, a *accountNodes,
	id uuid.UUID) *refusal {
	there, count, listed := a.enter(id, k.config.MaxNodes)
	switch {
	case there:
		return nil
	case count >= k.config.MaxNodes:
		return busy(http.StatusTooManyRequests, "too_many_nodes", nodesAfter,
			"account %s has %d nodes, and %d are allowed: wait until removed nodes are "+
				"forgotten, or ask the operator to raise ingest.max_nodes", account, count,
			k.config.MaxNodes)
	}
	var after time.Duration
	if listed && k.deps.NewNodes != nil {
		after = k.deps.NewNodes(ctx, account, 1)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.entering--
	if after > 0 {
		return busy(http.StatusTooManyRequests, "new_nodes", after,
			"account %s has more than %d new nodes in an hour: send the frame again later, "+
				"or ask the operator to raise ingest.new_nodes_per_hour", account,
			k.config.NewNodesPerHour)
	}
	if a.nodes[id] == nil {
		a.nodes[id] = &knownNode{since: k.now(), restart: !listed}
	}
	return nil
}

// enter reports whether a node is known by now, how many nodes the account has, and whether the
// store has ever answered. A node that is not known takes a place in a.entering if there is room.
func (a *accountNodes) enter(id uuid.UUID, most int) (there bool, count int, listed bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	there, count = a.nodes[id] != nil, len(a.nodes)+a.entering
	if !there && count < most {
		a.entering++
	}
	return there, count, a.listed
}

// askNodes lets the store say what nodes it has. New nodes wait for its first answer only.
func (k *knownNodes) askNodes(ctx context.Context, account string, a *accountNodes) {
	a.mu.Lock()
	listed := a.listed
	a.mu.Unlock()
	switch {
	case !listed:
		a.asking.Lock()
		defer a.asking.Unlock()
		k.listNodes(ctx, account, a)
	case a.asking.TryLock():
		go func() {
			defer a.asking.Unlock()
			k.listNodes(ctx, account, a)
		}()
	}
}

// listNodes takes in what nodes the store has, if it was not asked just now. The caller holds
// a.asking.
func (k *knownNodes) listNodes(ctx context.Context, account string, a *accountNodes) {
	if k.deps.Nodes == nil || !a.asked.IsZero() && k.now().Sub(a.asked) < knownAgain {
		return
	}
	a.asked = k.now()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), knownTimeout)
	defer cancel()
	list, err := k.deps.Nodes(ctx, account)
	if err != nil {
		k.deps.Log.Warn(
			"the nodes of an account cannot be read; the nodes that are known stay in use",
			"account", account, "error", err)
		return
	}
	now := k.now()
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
			k.forget(&n.names)
		}
	}
	a.nodes, a.listed = nodes, true
}

// remember keeps what a node's key frame named, in as much detail as there is room for.
func (k *knownNodes) remember(n *names, now names) {
	k.forget(n)
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(now.entities) > nodeEntities || k.entities+len(now.entities) > keptEntities {
		now.entities = nil
	}
	k.entities += len(now.entities)
	*n = now
}

func (k *knownNodes) forget(n *names) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.entities -= len(n.entities)
	*n = names{}
}

// checkNames counts the series that a key frame brings to its account. Of a node that was there
// before this process the first key frame brings nothing new.
func (k *knownNodes) checkNames(ctx context.Context, account string, node uuid.UUID,
	now *named) *refusal {
	a := k.of(account)
	n := a.find(node)
	if n == nil || k.deps.NewSeries == nil {
		return nil
	}
	a.mu.Lock()
	count := n.names.added(now)
	if n.restart {
		count = 0
	}
	a.mu.Unlock()
	if count > 0 {
		if after := k.deps.NewSeries(ctx, account, count); after > 0 {
			return busy(http.StatusTooManyRequests, "new_series", after,
				"the frame brings %d new series and account %s may have %d an hour: send the "+
					"frame again later, monitor fewer tables, or ask the operator to raise "+
					"ingest.new_series_per_hour", count, account, k.config.NewSeriesPerHour)
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	n.restart = false
	k.remember(&n.names, now.names)
	return nil
}
