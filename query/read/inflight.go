package read

import (
	"context"
	"slices"
	"time"
)

// settleMillis is how much older than the moment at which they were acknowledged frames are
// expected to be at most, in ms: an agent's backlog is. A range that ends earlier lacks nothing
// that is on its way.
const settleMillis = 20 * 60_000

// NoCluster asks InFlight for all clusters of an account: who asks for a node that nobody knows
// does not know its cluster either.
const NoCluster = ""

// InFlight says in words that frames which belong to a range that ends at to (ms) may still be on
// their way to the store: frames of a cluster, or of any cluster if that is empty. It returns
// nothing if none are known to be.
func (r *Reader) InFlight(ctx context.Context, account, cluster string, to int64) []string {
	if r.sources.Behind == nil {
		return nil
	}
	since, behind := r.sources.Behind(ctx, account, cluster)
	switch {
	case !behind || to < since-settleMillis:
		return nil
	case since == 0:
		return []string{"nobody has said yet which frames are in the store: ask again later"}
	}
	return []string{"frames that were accepted since " + formatMillis(since) +
		" may still be on their way to the store: ask again later"}
}

// formatMillis is an instant as the API writes it: RFC 3339 with milliseconds, in UTC.
func formatMillis(at int64) string {
	return time.UnixMilli(at).UTC().Format("2006-01-02T15:04:05.000Z")
}

// AppendMissing appends what is missing without duplicates: two readings may miss the same.
func AppendMissing(list, more []string) []string {
	for _, text := range more {
		if !slices.Contains(list, text) {
			list = append(list, text)
		}
	}
	return list
}
