package ingest

import (
	"hash/maphash"
	"sync"
	"time"

	"github.com/google/uuid"
)

const (
	// claimAgain is how often a node's sender is told again while it does not change.
	claimAgain = 30 * time.Second
	// claimTimeout bounds how long a frame that Kafka has may wait for that.
	claimTimeout = 250 * time.Millisecond
	// claimFresh is how old a frame may be to tell who sends now. An agent that was restarted also
	// sends older frames, which it found in its spool.
	claimFresh = 10 * time.Second
	// claimedNodes bounds of how many nodes the last sender is remembered, to some MB.
	claimedNodes = 50_000
)

type accountNode struct {
	account string
	node    uuid.UUID
}

// senders remembers who sent each node's last frames, so that others are told only of changes, and
// now and then. It is bounded by two generations. A sender that is forgotten is told once more.
type senders struct {
	seed  maphash.Seed
	again time.Duration // how often one that does not change is told

	mu         sync.Mutex
	young, old map[accountNode]told
}

type told struct {
	sender uint64
	at     time.Time
}

// due reports whether a node's sender is to be told.
func (s *senders) due(k accountNode, sender string, now time.Time) bool {
	sum := maphash.String(s.seed, sender)
	s.mu.Lock()
	defer s.mu.Unlock()
	last, known := s.young[k]
	if !known {
		last, known = s.old[k]
	}
	if known && last.sender == sum && now.Sub(last.at) < s.again {
		return false
	}
	if s.young == nil || len(s.young) >= claimedNodes/2 {
		s.old, s.young = s.young, map[accountNode]told{}
	}
	s.young[k] = told{sum, now}
	return true
}
