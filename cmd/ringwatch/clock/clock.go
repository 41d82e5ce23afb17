// Package clock says what time it is for roles and commands, and waits.
package clock

import (
	"context"
	"time"
)

// Now is what the roles take for now; tests let time leap.
var Now = time.Now

// Pause waits for d, or until ctx ends.
func Pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}
