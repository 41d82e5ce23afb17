package watch

import (
	"context"
	"encoding/binary"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/ringwatch/ringwatch/stream"
)

// Shares says which targets are this process's. Processes that share targets are members of one
// group of consumers of a topic without messages: a target belongs to a partition by its id, and
// whoever has the partition reads it. It is the stream.Handler of that group.
type Shares struct {
	partitions int          // 0: everything is ours
	changed    func()       // is called when something has come or gone, never by two goroutines
	mu         sync.RWMutex // held for reading while something is sent
	mine       map[int32]bool
}

// Everything returns the shares of a process that shares with nobody.
func Everything() *Shares { return &Shares{} }

// NewShares returns those of a member of a group whose topic has so many partitions; none are its
// own yet. changed, which may be nil, is told of each change, before a partition is another's.
func NewShares(partitions int, changed func()) *Shares {
	return &Shares{partitions: partitions, changed: changed, mine: map[int32]bool{}}
}

// Mine reports whether a target is to be read by this process.
func (s *Shares) Mine(id uuid.UUID) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.has(id)
}

func (s *Shares) has(id uuid.UUID) bool {
	return s.partitions == 0 ||
		s.mine[int32(binary.BigEndian.Uint32(id[12:])%uint32(s.partitions))]
}

// whileMine calls f if a target is this process's, which it stays until f returns.
func (s *Shares) whileMine(id uuid.UUID, f func()) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.has(id) {
		f()
	}
}

// Assign implements stream.Assigner.
func (s *Shares) Assign(partition int32) { s.set(partition, true) }

// Revoke implements stream.Handler. Nothing more is sent of the partition's targets afterwards.
func (s *Shares) Revoke(partition int32) { s.set(partition, false) }

func (s *Shares) set(partition int32, mine bool) {
	s.mu.Lock()
	s.mine[partition] = mine
	s.mu.Unlock()
	if s.changed != nil {
		s.changed()
	}
}

// Handle implements stream.Handler: the topic has no messages.
func (*Shares) Handle(context.Context, []stream.Record) error { return nil }

// Tick implements stream.Handler.
func (*Shares) Tick(context.Context, time.Time) error { return nil }

// LowWater implements stream.Handler.
func (*Shares) LowWater(int32) (int64, bool) { return 0, false }
