package read

import (
	"context"
	"time"
)

// TellsChanges reports whether StillHolds may be asked.
func (r *Reader) TellsChanges() bool { return r.source.sources.Unchanged != nil }

// StillHolds reports whether a reading of an account's clusters that began at an instant, in ms,
// still says what a new one would of what is older than SettledAfter.
func (r *Reader) StillHolds(
	ctx context.Context, account string, owns func(cluster string) bool, began int64,
) (bool, error) {
	return r.source.sources.Unchanged(ctx, account, owns, began)
}

// SettledAfter is how long after an instant all that is known of it is there or will be told of,
// and comes from the store alone for who looks at so much more before it: the recent source has
// late frames before that.
func (r *Reader) SettledAfter(more time.Duration) time.Duration {
	return max(r.source.sources.Settles, r.source.config.RecentSpan+edgeSlack*time.Millisecond+more)
}
