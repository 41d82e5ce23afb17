package fleet

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/window"
)

// List remembers the nodes of each account, for as long as who asks allows, and longer while
// the store is away.
type List struct {
	clock func() time.Time
	store func(ctx context.Context, account string) ([]window.Node, error)

	mu       sync.Mutex
	accounts map[string]*accountNodes
}

type accountNodes struct {
	mu    sync.Mutex // held while the list is read: requests that come meanwhile share the answer
	read  time.Time
	nodes []window.Node // by cluster, datacenter, rack, id
	// fleets are what keys see of the nodes.
	fleets map[fleetKey]*Fleet
}

// fleetKey names what of an account's list a key sees.
type fleetKey struct {
	clusters  string
	recorders bool
}

// maxFleets is how many fleets of an account's list are remembered: keys mostly see the same.
const maxFleets = 32

// NewList returns a list that nodes reads, account by account.
func NewList(
	clock func() time.Time, nodes func(ctx context.Context, account string) ([]window.Node, error),
) *List {
	return &List{clock: clock, store: nodes, accounts: map[string]*accountNodes{}}
}

// Get returns the nodes that the principal may see, or the recorders, not older than age.
func (l *List) Get(
	ctx context.Context, p account.Principal, age time.Duration, recorders bool,
) (*Fleet, error) {
	l.mu.Lock()
	a := l.accounts[p.Account]
	if a == nil {
		a = &accountNodes{}
		// one per account with a valid key, so it is bounded by the configuration
		l.accounts[p.Account] = a
	}
	l.mu.Unlock()
	a.mu.Lock()
	defer a.mu.Unlock()
	if now := l.clock(); a.read.IsZero() || now.Sub(a.read) >= age {
		nodes, err := l.store(ctx, p.Account)
		switch {
		case err == nil:
			a.take(nodes)
			a.read = now
		case a.read.IsZero():
			return nil, err
		}
		// Otherwise the old list is better than none: who the nodes are hardly changes.
	}
	return a.fleet(p, recorders), nil
}

// take takes a list that was read. If nothing has changed what was made of the old one stays.
func (a *accountNodes) take(nodes []window.Node) {
	slices.SortFunc(nodes, func(x, y window.Node) int {
		return cmp.Or(cmp.Compare(x.Cluster, y.Cluster), cmp.Compare(x.Datacenter, y.Datacenter),
			cmp.Compare(x.Rack, y.Rack), slices.Compare(x.ID[:], y.ID[:]))
	})
	if !slices.EqualFunc(nodes, a.nodes, equalNodes) {
		a.nodes, a.fleets = nodes, nil
	}
}

// fleet returns what of the list a key sees.
func (a *accountNodes) fleet(p account.Principal, recorders bool) *Fleet {
	key := fleetKey{p.Sight(), recorders}
	if f := a.fleets[key]; f != nil {
		return f
	}
	f := &Fleet{recorders: recorders}
	owns := false
	for i := range a.nodes {
		n := &a.nodes[i]
		if i == 0 || n.Cluster != a.nodes[i-1].Cluster {
			owns = p.Owns(n.Cluster)
		}
		if owns && frame.IsRecorder(n.ID) == recorders {
			f.Nodes = append(f.Nodes, *n)
		}
	}
	if a.fleets == nil || len(a.fleets) == maxFleets {
		a.fleets = map[fleetKey]*Fleet{}
	}
	a.fleets[key] = f
	return f
}
