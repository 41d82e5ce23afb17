package files

import (
	"encoding/binary"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"sync"

	"github.com/ringwatch/ringwatch/stream"
)

// groups are the consumer groups of the process. All members are here, so the first member of a
// group has all partitions, and the next one takes over when it leaves.
type groups struct {
	mu      sync.Mutex
	of      map[groupKey][]*member
	changed chan struct{} // closed when a member has left
	at      map[groupKey]map[int32]int64
}

func newGroups() groups {
	return groups{of: map[groupKey][]*member{}, changed: make(chan struct{}),
		at: map[groupKey]map[int32]int64{}}
}

type groupKey struct{ topic, group string }

// commitKey is a commit's key in the topic of commits: topic, group and partition.
func (k groupKey) commitKey(partition int32) []byte {
	return fmt.Appendf(nil, "%s\t%s\t%d", k.topic, k.group, partition)
}

func splitCommitKey(b []byte) (k groupKey, partition int32, ok bool) {
	parts := strings.Split(string(b), "\t")
	if len(parts) != 3 {
		return k, 0, false
	}
	n, err := strconv.ParseInt(parts[2], 10, 32)
	return groupKey{parts[0], parts[1]}, int32(n), err == nil
}

// take takes a commit over.
func (g *groups) take(m *stream.Message) {
	k, partition, ok := splitCommitKey(m.Key)
	if !ok || len(m.Value) != 8 {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.at[k] == nil {
		g.at[k] = map[int32]int64{}
	}
	g.at[k][partition] = int64(binary.LittleEndian.Uint64(m.Value))
}

// floor returns by partition the highest offset that a group has committed of a topic.
func (g *groups) floor(topic string) map[int32]int64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	floor := map[int32]int64{}
	for k, at := range g.at {
		for p, offset := range at {
			if k.topic == topic {
				floor[p] = max(floor[p], offset)
			}
		}
	}
	return floor
}

// committed returns a copy of what a group has committed.
func (g *groups) committed(k groupKey) map[int32]int64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	return maps.Clone(g.at[k])
}
