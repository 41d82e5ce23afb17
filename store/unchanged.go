package store

import (
	"context"
	"time"

	"github.com/ringwatch/ringwatch/store/calendar"
)

// Settles returns how long after an instant a reading has every frame of that instant but those
// that Unchanged reports.
func (c *Config) Settles() time.Duration {
	return time.Duration(calendar.WindowMillis)*time.Millisecond + c.Grace
}

// Unchanged reports whether a reading that began at an instant (ms) still says what a new one would
// of everything that was older than Settles then, for those of an account's clusters that are
// wanted. It is up to a second late. It says no where nobody knows: marks do not live for ever, so
// neither does what is kept.
func (s *Store) Unchanged(ctx context.Context, account string, wanted func(cluster string) bool,
	began int64) (bool, error) {
	return s.late.Clusters.Unchanged(ctx, Dashboard(account), account, wanted, began)
}
