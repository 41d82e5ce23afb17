package read

import (
	"context"
	"fmt"

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
		recent, err := r.source.sources.Recent.LastSeen(ctx, account,
			r.source.touch(account, nodes))
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

// StateAt is Listening.StateAt by what the sources know of the times in which nobody could have
// heard of a node.
func (r *Reader) StateAt(at, heard, interval int64) string {
	if state := StateOf(max(0, at-heard), interval); state != StateDown {
		return state
	}
	var l Listening
	if r.source.sources.Away != nil {
		l.Away = r.source.sources.Away()
	}
	if r.source.sources.Pulse != nil {
		// Of a pulse of which nothing is known, since when it beats says nothing.
		if since, until := r.source.sources.Pulse(); !until.IsZero() {
			l.Until = until.UnixMilli()
			if !since.IsZero() {
				l.Since = since.UnixMilli()
			}
		}
	}
	return l.StateAt(at, heard, interval)
}
