package plan

import (
	"sync"
	"time"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/query/index"
)

// Index knows which series there are, as index.Index does.
type Index interface {
	Select(account string, q index.Query) (*index.Selection, error)
}

// Kinds remembers which metrics accounts have, and of which kind each is. Its methods may be called
// from many goroutines.
type Kinds struct {
	index Index // nil: nothing is known
	clock func() time.Time

	mu       sync.Mutex
	accounts map[string]accountKinds
}

// accountKinds are the metrics that an account had when the index was asked.
type accountKinds struct {
	asked  time.Time
	byName map[string]frame.Kind
}

// NewKinds returns what asks an index, which may be nil.
func NewKinds(index Index, clock func() time.Time) *Kinds {
	return &Kinds{index: index, clock: clock, accounts: map[string]accountKinds{}}
}

// kindsTTL is how long the list of an account's metrics is remembered.
const kindsTTL = 30 * time.Second

// Known returns the metrics that the account has had today and yesterday, by name; nothing while
// the index is being loaded. Nobody changes it.
func (k *Kinds) Known(who account.Principal) map[string]frame.Kind {
	if k.index == nil {
		return nil
	}
	now := k.clock()
	k.mu.Lock()
	of, is := k.accounts[who.Account]
	k.mu.Unlock()
	if is && now.Sub(of.asked) < kindsTTL {
		return of.byName
	}
	found, err := k.index.Select(who.Account,
		index.Query{From: now.Add(-24 * time.Hour).UnixMilli(), To: now.UnixMilli()})
	if err != nil {
		return nil
	}
	of = accountKinds{asked: now, byName: map[string]frame.Kind{}}
	for b := range found.ByNode() {
		for m := range b.Metrics() {
			of.byName[m.Name] = m.Kind
		}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.accounts[who.Account] = of
	return of.byName
}
