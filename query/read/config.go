package read

import (
	"errors"
	"fmt"
	"time"
)

// Config says how a Reader chooses.
type Config struct {
	// RecentSpan is how far back the recent source is asked; what is older is the store's.
	RecentSpan time.Duration
	// NodesTTL is how long what the store says of a node that is down is held, at least.
	NodesTTL time.Duration
	// Timeout bounds a reading, which goes on for as long as any request waits for it.
	Timeout time.Duration
	// KeptBytes bounds what is kept of newest states that were asked for by selectors, until they
	// are not the newest any more. 0 keeps none.
	KeptBytes int64
	// HeardBytes bounds what is kept of when nodes were heard of, an hour of a node that sends
	// every five seconds some 1 KB. 0 keeps nothing.
	HeardBytes int64
	Clock      func() time.Time // nil: time.Now
}

func (c *Config) validate() error {
	var wrong []error
	for _, d := range []struct {
		name  string
		value time.Duration
	}{{"recent span", c.RecentSpan}, {"time to hold nodes", c.NodesTTL}, {"timeout", c.Timeout}} {
		if d.value <= 0 {
			err := fmt.Errorf("the %s is %v: use more than 0", d.name, d.value)
			wrong = append(wrong, err)
		}
	}
	return errors.Join(wrong...)
}
