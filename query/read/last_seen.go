package read

import (
	"context"
	"hash/fnv"

	"github.com/google/uuid"

	"github.com/ringwatch/ringwatch/query/share"
	"github.com/ringwatch/ringwatch/window"
)

// Claimed returns the nodes that several senders claim. Only the recent source knows; while it is
// away nobody is said to be claimed.
func (r *Reader) Claimed(ctx context.Context, account string) map[uuid.UUID]bool {
	if r.source.sources.Recent == nil {
		return nil
	}
	claimed, _ := r.source.sources.Recent.Claimed(ctx, account) // the source counts its failures
	return claimed
}

// LastSeen returns when nodes were heard of, in ms, those of which nothing is known not among them,
// and in words why some may have been heard of later than that. It asks the recent source for all
// at once, and the store at once for those of which that knows nothing fresh. The error is the
// store's, if of some node nothing is known because of it. Nodes that come by cluster are asked
// about fastest.
func (r *Reader) LastSeen(ctx context.Context, account string, nodes []window.Node) (
	seen map[uuid.UUID]int64, missing []string, err error,
) {
	seen = map[uuid.UUID]int64{}
	heard := false // by the recent source
	now := r.source.config.Clock().UnixMilli()
	if r.source.sources.Recent != nil && len(nodes) > 0 {
		recent, err := r.source.sources.Recent.LastSeen(ctx, account, r.source.touch(account, nodes))
		if err != nil {
			r.source.countFallback(err)
		} else {
			seen, heard = recent, true
			r.source.metrics.reads.WithLabelValues("last_seen", fromRecent).Inc()
		}
	}
	var stale []uuid.UUID // that the store is to be asked of
	late := false
	for i := range nodes {
		n := &nodes[i]
		if at, known := seen[n.ID]; !known || now-at > lateIntervals*n.Interval {
			if !late || nodes[i-1].Cluster != n.Cluster { // they come by cluster
				missing = AppendMissing(missing, r.source.inFlight(ctx, account, n.Cluster, now))
			}
			late = true
			k := downKey{account, n.ID}
			if at, held := r.down.get(k, n.Interval, now, r.source.config.NodesTTL, heard); held {
				if at > 0 {
					seen[n.ID] = max(seen[n.ID], at)
				}
				continue
			}
			stale = append(stale, n.ID)
		}
	}
	if len(stale) == 0 || r.source.sources.LastSeen == nil {
		return seen, missing, nil
	}
	r.source.metrics.reads.WithLabelValues("last_seen", fromStore).Inc()
	stored, err := r.askStore(ctx, account, stale, now)
	for _, id := range stale {
		at, found := stored[id]
		if _, known := seen[id]; err != nil && !found && !known {
			return nil, nil, err
		}
		if found {
			seen[id] = max(seen[id], at)
		}
	}
	return seen, missing, nil // what is old is said to be
}

// digest is a key for a list of nodes.
func digest(nodes []uuid.UUID) []byte {
	h := fnv.New128a()
	for _, id := range nodes {
		_, _ = h.Write(id[:])
	}
	return h.Sum(nil)
}

// StateVersion is what a caller has made of a State and kept.
type StateVersion struct {
	Seen     int64 // the State's
	Interval int64 // how often the node sends, ms
	Recent   bool  // the State's
}

// Unchanged reports for each node whether its newest state still is the one of which kept tells;
// nil tells of none. One question to the recent source, of all nodes, tells when each was heard of.
// It says yes under the conditions under which Latest takes the state from the recent source, and
// counts as such a read.
func (r *Reader) Unchanged(
	ctx context.Context, account string, nodes []window.Node, kept func(i int) *StateVersion,
) []bool {
	current := make([]bool, len(nodes))
	if r.source.sources.Recent == nil || len(nodes) == 0 {
		return current
	}
	ids := r.source.touch(account, nodes)
	key := "newest/" + account + "/" + string(digest(ids))
	heard, err := share.Read(ctx, r.Shared, account, key,
		func(ctx context.Context) (map[uuid.UUID]int64, error) {
			return r.source.sources.Recent.LastSeen(ctx, account, ids)
		})
	if err != nil {
		return current // each node's own read counts it
	}
	now := r.source.config.Clock().UnixMilli()
	count := 0
	for i := range nodes {
		at, known := heard[ids[i]]
		k := kept(i)
		if known && k != nil && k.Recent && k.Seen == at && fresh(now, at, k.Interval) {
			current[i] = true
			count++
		}
	}
	r.source.metrics.reads.WithLabelValues("latest", fromRecent).Add(float64(count))
	return current
}
