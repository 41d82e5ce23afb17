package read

import (
	"sync"
	"time"

	"github.com/google/uuid"
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
