package read

import (
	"context"
	"errors"
	"hash/fnv"

	"github.com/google/uuid"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/window"
)

// source is where a Reader reads: the recent source and the store, and what counts its reads.
type source struct {
	config  Config
	sources Sources
	metrics *metrics
}

// staleSlack is how much later than two intervals a newest frame may be before the store is asked
// for a newer one, in ms.
const staleSlack = 2_000

// edgeSlack is how much older than RecentSpan a range may begin and still be asked of the recent
// source whole, in ms: a request for just that span is read a moment after it came. The source says
// itself whether it has all.
const edgeSlack = 10_000

// countFallback counts why the recent source was asked in vain.
func (s *source) countFallback(err error) {
	reason := fallAway
	if s.sources.Miss != nil && errors.Is(err, s.sources.Miss) {
		reason = fallMiss
	}
	s.metrics.fallbacks.WithLabelValues(reason).Inc()
}

// recentFrom returns from when on the recent source is asked for a range that begins at from.
func (s *source) recentFrom(ctx context.Context, accountName, cluster string, from int64) int64 {
	recentFrom := max(from, s.config.Clock().UnixMilli()-s.config.RecentSpan.Milliseconds())
	if recentFrom-from <= edgeSlack {
		return from
	}
	return max(recentFrom, s.storedUntil(ctx, accountName, cluster))
}

// closedMillis is how long after a window's end it is expected to be closed, in ms.
const closedMillis = 60_000

// storedUntil returns the beginning of the first window, in ms, that the store may not have in
// columns; 0 if frames are on their way to the store, or nobody knows. What is before it costs the
// store a fraction of what it takes to read the recent source's frames.
func (s *source) storedUntil(ctx context.Context, accountName, cluster string) int64 {
	if s.sources.Behind == nil {
		return 0
	}
	if _, behind := s.sources.Behind(ctx, accountName, cluster); behind {
		return 0
	}
	return frame.WindowOf(s.config.Clock().UnixMilli() - closedMillis)
}

// touch tells the recent source that the nodes' clusters are read, and returns the nodes' ids.
func (s *source) touch(account string, nodes []window.Node) []uuid.UUID {
	ids := make([]uuid.UUID, len(nodes))
	for i := range nodes {
		ids[i] = nodes[i].ID
		if i == 0 || nodes[i].Cluster != nodes[i-1].Cluster { // they come by cluster
			s.sources.Recent.Touch(account, nodes[i].Cluster)
		}
	}
	return ids
}

// settleMillis is how much older than the moment at which they were acknowledged frames are
// expected to be at most, in ms: an agent's backlog is. A range that ends earlier lacks nothing
// that is on its way.
const settleMillis = 20 * 60_000

// inFlight says in words that frames which belong to a range that ends at to (ms) may still be on
// their way to the store: frames of a cluster, or of any cluster if that is empty. It returns
// nothing if none are known to be.
func (s *source) inFlight(ctx context.Context, account, cluster string, to int64) []string {
	if s.sources.Behind == nil {
		return nil
	}
	since, behind := s.sources.Behind(ctx, account, cluster)
	switch {
	case !behind || to < since-settleMillis:
		return nil
	case since == 0:
		return []string{"nobody has said yet which frames are in the store: ask again later"}
	}
	return []string{"frames that were accepted since " + formatMillis(since) +
		" may still be on their way to the store: ask again later"}
}

// digest is a key for a list of nodes.
func digest(nodes []uuid.UUID) []byte {
	h := fnv.New128a()
	for _, id := range nodes {
		_, _ = h.Write(id[:])
	}
	return h.Sum(nil)
}
