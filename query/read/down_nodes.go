package read

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/ringwatch/ringwatch/query/share"
)

// downNodes remembers when the store last heard of nodes that are down. Without it each request of
// an account with thousands of silent nodes would read five windows of each from the store.
//
// A node that is heard of again is seen at once in the recent source, which is asked first.
// Without a recent source it is seen NodesTTL later.
type downNodes struct {
	mu sync.Mutex
	of map[downKey]downNode
}

type downKey struct {
	account string
	node    uuid.UUID
}

// downNode is what the store said of a node, and when it said so.
type downNode struct {
	at, asked int64 // ms; at is 0 if it knows of no frame
}

const (
	// maxHold bounds how long an answer of the store holds: a tenth of the node's silence, but not
	// longer.
	maxHold = time.Minute
	// maxDownNodes bounds what is remembered, some 100 bytes each. Beyond it all is asked again.
	maxDownNodes = 200_000
)

// get returns when a node was last heard of, if that is known and still holds. recent tells
// whether the recent source has answered.
func (l *downNodes) get(
	k downKey, interval, now int64, ttl time.Duration, recent bool,
) (at int64, ok bool) {
	l.mu.Lock()
	s, found := l.of[k]
	l.mu.Unlock()
	if !found || StateOf(now-s.at, interval) != StateDown {
		return 0, false
	}
	hold := ttl.Milliseconds()
	if recent {
		hold = max(hold, min((now-s.at)/10, maxHold.Milliseconds()))
	}
	since := now - s.asked
	return s.at, since >= 0 && since < hold
}

// put remembers what the store said of nodes when it was asked.
func (l *downNodes) put(account string, nodes []uuid.UUID, seen map[uuid.UUID]int64, now int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.of == nil || len(l.of)+len(nodes) > maxDownNodes {
		l.of = make(map[downKey]downNode, len(nodes))
	}
	for _, id := range nodes {
		l.of[downKey{account, id}] = downNode{at: seen[id], asked: now}
	}
}

// storedSeen is what the store says of nodes, with the error because of which it is not all.
type storedSeen struct {
	seen map[uuid.UUID]int64
	err  error
}

// askStore asks the store when nodes were last heard of. Requests that want to know the same at
// the same time share the answer, which nobody changes.
func (r *Reader) askStore(
	ctx context.Context, account string, nodes []uuid.UUID, now int64,
) (map[uuid.UUID]int64, error) {
	key := fmt.Sprintf("seen/%s/%x", account, digest(nodes))
	stored, err := share.Read(ctx, r.Shared, account, key,
		func(ctx context.Context) (storedSeen, error) {
			heard, err := r.source.sources.LastSeen(ctx, account, nodes)
			if err == nil {
				r.down.put(account, nodes, heard, now)
			}
			return storedSeen{heard, err}, nil
		})
	if err != nil {
		return nil, err
	}
	return stored.seen, stored.err
}
