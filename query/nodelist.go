package query

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/ringwatch/ringwatch/account"
	"github.com/ringwatch/ringwatch/frame"
)

// nodeList remembers the nodes of each account, for as long as who asks allows, and longer while
// the store is away.
type nodeList struct {
	clock func() time.Time
	store Store

	mu       sync.Mutex
	accounts map[string]*accountNodes
}

type accountNodes struct {
	mu    sync.Mutex // held while the list is read: requests that come meanwhile share the answer
	read  time.Time
	nodes []Node // by cluster, datacenter, rack, id
}

func (l *nodeList) init(clock func() time.Time, s Store) {
	l.clock, l.store, l.accounts = clock, s, map[string]*accountNodes{}
}

// get returns the nodes that the principal may see, or the recorders, not older than age. The result
// is not to be changed.
func (l *nodeList) get(
	ctx context.Context, p account.Principal, age time.Duration, recorders bool,
) ([]Node, error) {
	l.mu.Lock()
	a := l.accounts[p.Account]
	if a == nil {
		a = &accountNodes{}
		l.accounts[p.Account] = a // one per account with a valid key, so it is bounded by the configuration
	}
	l.mu.Unlock()
	a.mu.Lock()
	defer a.mu.Unlock()
	if now := l.clock(); a.read.IsZero() || now.Sub(a.read) >= age {
		nodes, err := l.store.Nodes(ctx, p.Account)
		switch {
		case err == nil:
			slices.SortFunc(nodes, func(x, y Node) int {
				return cmp.Or(cmp.Compare(x.Cluster, y.Cluster), cmp.Compare(x.Datacenter, y.Datacenter),
					cmp.Compare(x.Rack, y.Rack), slices.Compare(x.ID[:], y.ID[:]))
			})
			a.nodes, a.read = nodes, now
		case a.read.IsZero():
			return nil, err
		}
		// Otherwise the old list is better than none: who the nodes are hardly changes.
	}
	visible := make([]Node, 0, len(a.nodes))
	for _, n := range a.nodes {
		if p.Owns(n.Cluster) && frame.IsRecorder(n.ID) == recorders {
			visible = append(visible, n)
		}
	}
	return visible, nil
}
