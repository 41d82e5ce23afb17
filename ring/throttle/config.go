package throttle

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"time"
)

// Class is the limits of one class, over all processes together. What is 0 has the default of the
// class of that name, or dashboard's.
type Class struct {
	OperationsPerSecond float64 `yaml:"operations_per_second"`
	// Burst is how many operations may begin at once after a pause, and with Concurrency the
	// largest request. 0 beside a rate: a second's worth.
	Burst int `yaml:"burst"`
	// Concurrency is how many operations may be under way at once.
	Concurrency int `yaml:"concurrency"`
	// MaxWait is how long a request waits at most before it is refused.
	MaxWait time.Duration `yaml:"max_wait"`
	// Shrink is the order in which classes shrink while the cluster is unwell: 1 first, then 2,
	// then 3.
	Shrink int `yaml:"shrink"`
	// Floor is the part of the limits that is never taken away. 1: the class never shrinks.
	Floor float64 `yaml:"floor"`
	// TargetLatency is what an operation of this class should take. 0: Config.TargetLatency.
	TargetLatency time.Duration `yaml:"target_latency"`
}

// Config is the classes and how they are shared.
type Config struct {
	// Name tells fleets apart that share a Redis: processes of the same name share the limits.
	Name string `yaml:"name"`
	// Classes are serving, dashboard and bulk, whose limits may be changed here, and the
	// operator's own.
	Classes map[string]Class `yaml:"classes"`
	// DefaultClass is what work of an unknown class is done in. Empty: such work is refused,
	// because a misspelt class would otherwise be found when it hurts.
	DefaultClass string `yaml:"default_class"`

	// TargetLatency is what an operation should take. The cluster is unwell when more than
	// SlowShare of them take longer, or more than FailedShare fail.
	TargetLatency time.Duration `yaml:"target_latency"`
	// 0.05: the 95th percentile is above the target
	SlowShare float64 `yaml:"slow_share"`
	// timeouts and overload are rare in a cluster that is well
	FailedShare float64 `yaml:"failed_share"`
	// HealthWindow is how long health is measured before it is acted upon.
	HealthWindow time.Duration `yaml:"health_window"`

	// Refresh is how often a process that has work asks Redis for its share.
	Refresh time.Duration `yaml:"refresh"`
	// Lease is how long a share is a process's own after it was given: as long is the share of a
	// dead process lost.
	Lease time.Duration `yaml:"lease"`
	// Timeout is how long an answer of Redis may take before the process goes on by itself.
	Timeout time.Duration `yaml:"timeout"`
	// LocalFraction is the part of each limit that a process without Redis goes on with when its
	// lease has ended. 0.1: ten processes have the whole together.
	LocalFraction float64 `yaml:"local_fraction"`
	// MaxWaiting bounds the requests of a class that wait in a process. Beyond it the newest of
	// who has most waiting is refused.
	MaxWaiting int `yaml:"max_waiting"`

	// UsageInterval is how often a process says who has asked for what, and so what a live view's
	// second is a mean of.
	UsageInterval time.Duration `yaml:"usage_interval"`
	// UsageKeys bounds how many (class, client, table, datacenter) are counted by themselves in a
	// process; the rest is "other".
	UsageKeys int `yaml:"usage_keys"`

	Clock func() time.Time `yaml:"-"` // time.Now unless a test says otherwise
	// Unwell says which errors of done tell that the cluster is unwell. nil: all but
	// context.Canceled, which is the caller's leaving.
	Unwell func(error) bool `yaml:"-"`
}

// The classes that always are.
const (
	Serving   = "serving"   // someone waits: lookups
	Dashboard = "dashboard" // someone looks: the API's reads
	Bulk      = "bulk"      // nobody waits: backfill, exports, rolling up again
)

var builtin = map[string]Class{
	Serving: {OperationsPerSecond: 50_000, Burst: 50_000, Concurrency: 4096,
		MaxWait: 250 * time.Millisecond, Shrink: 3, Floor: 0.5},
	Dashboard: {OperationsPerSecond: 20_000, Burst: 20_000, Concurrency: 2048,
		MaxWait: 2 * time.Second, Shrink: 2, Floor: 0.2},
	Bulk: {OperationsPerSecond: 5_000, Burst: 5_000, Concurrency: 1024,
		MaxWait: 30 * time.Second, Shrink: 1, Floor: 0.05, TargetLatency: 500 * time.Millisecond},
}

// DefaultConfig has limits for a cluster of some ten nodes, and for up to ten processes without
// Redis.
func DefaultConfig() Config {
	return Config{
		Name:          "ringwatch",
		TargetLatency: 125 * time.Millisecond, SlowShare: 0.05, FailedShare: 0.01,
		HealthWindow: 500 * time.Millisecond,
		Refresh:      200 * time.Millisecond, Lease: 1500 * time.Millisecond,
		Timeout: 100 * time.Millisecond, LocalFraction: 0.1,
		MaxWaiting:    10_000,
		UsageInterval: 2 * time.Second, UsageKeys: 300,
		Clock: time.Now,
	}
}

// classes returns all classes with their defaults filled in.
func (c *Config) classes() map[string]Class {
	all := maps.Clone(builtin)
	for name, k := range c.Classes {
		base, ok := builtin[name]
		if !ok {
			base = builtin[Dashboard]
		}
		if k.Burst == 0 && k.OperationsPerSecond > 0 {
			k.Burst = max(2, int(k.OperationsPerSecond))
		}
		all[name] = Class{
			OperationsPerSecond: either(k.OperationsPerSecond, base.OperationsPerSecond),
			Burst:               either(k.Burst, base.Burst),
			Concurrency:         either(k.Concurrency, base.Concurrency),
			MaxWait:             either(k.MaxWait, base.MaxWait),
			Shrink:              either(k.Shrink, base.Shrink),
			Floor:               either(k.Floor, base.Floor),
			TargetLatency:       either(k.TargetLatency, base.TargetLatency),
		}
	}
	for name, k := range all {
		k.TargetLatency = either(k.TargetLatency, c.TargetLatency)
		all[name] = k
	}
	return all
}

// Largest returns how many operations a request of each class may ask for.
func (c *Config) Largest() map[string]int {
	most := map[string]int{}
	for name, k := range c.classes() {
		most[name] = min(k.Burst, k.Concurrency)
	}
	return most
}

func either[T comparable](own, other T) T {
	var zero T
	if own != zero {
		return own
	}
	return other
}

var namePattern = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,62}$`)

// Validate returns everything that is wrong with the configuration, at once.
func (c *Config) Validate() error {
	var wrong []error
	say := func(format string, args ...any) { wrong = append(wrong, fmt.Errorf(format, args...)) }
	if !namePattern.MatchString(c.Name) {
		say("name is %q: use 1 to 63 characters of a-z, 0-9, _ and -, and do not begin with _ or -",
			c.Name)
	}
	classes := c.classes()
	for _, name := range slices.Sorted(maps.Keys(classes)) {
		k := classes[name]
		at := "classes." + name
		if !namePattern.MatchString(name) || name == other {
			say("%s: a class needs a name of 1 to 63 characters of a-z, 0-9, _ and -, which does "+
				"not begin with _ or - and is not %s", at, other)
		}
		if !(k.OperationsPerSecond >= 0.01 && k.OperationsPerSecond <= 1e7) {
			say("%s.operations_per_second is %g: use 0.01 to 10000000", at, k.OperationsPerSecond)
		} else if least := max(2,
			k.OperationsPerSecond*2*c.Refresh.Seconds()); float64(k.Burst) < least ||
			k.Burst > 1e8 {
			say("%s.burst is %d: use at least %.0f, the operations of two refreshes, so that the "+
				"rate can be reached, and at most 100000000", at, k.Burst, least)
		}
		if k.Concurrency < 1 || k.Concurrency > 1e6 {
			say("%s.concurrency is %d: use 1 to 1000000", at, k.Concurrency)
		}
		if k.MaxWait <= 0 {
			say("%s.max_wait is %v: use more than 0", at, k.MaxWait)
		}
		if k.Shrink < 1 || k.Shrink > maxOrder {
			say("%s.shrink is %d: use 1, the first to shrink, to %d", at, k.Shrink, maxOrder)
		}
		if !(k.Floor >= 0.01 && k.Floor <= 1) {
			say("%s.floor is %g: use 0.01 to 1, a part of the limits", at, k.Floor)
		}
		if k.TargetLatency <= 0 {
			say("%s.target_latency is %v: use more than 0", at, k.TargetLatency)
		}
	}
	if _, known := classes[c.DefaultClass]; c.DefaultClass != "" && !known {
		say("default_class is %q, which is not a class: use one of %s, or leave it empty to "+
			"refuse unknown classes", c.DefaultClass, names(classes))
	}
	for _, part := range []struct {
		name  string
		value float64
	}{{"slow_share", c.SlowShare}, {"failed_share", c.FailedShare},
		{"local_fraction", c.LocalFraction}} {
		if !(part.value > 0 && part.value <= 1) {
			say("%s is %g: use more than 0 and at most 1", part.name, part.value)
		}
	}
	if c.Refresh < 20*time.Millisecond {
		say("refresh is %v: use at least 20ms", c.Refresh)
	}
	if c.Lease <= 0 || c.Lease < 3*c.Refresh {
		say("lease is %v: use at least three times refresh (%v), so that one lost answer costs "+
			"no share", c.Lease, c.Refresh)
	}
	for _, d := range []struct {
		name  string
		value time.Duration
	}{{"target_latency", c.TargetLatency}, {"health_window", c.HealthWindow},
		{"timeout", c.Timeout}} {
		if d.value <= 0 {
			say("%s is %v: use more than 0", d.name, d.value)
		}
	}
	if c.UsageInterval < 100*time.Millisecond {
		say("usage_interval is %v: use at least 100ms", c.UsageInterval)
	}
	if c.MaxWaiting < 1 || c.UsageKeys < 1 || c.UsageKeys > 10_000 {
		say("max_waiting is %d and usage_keys is %d: use more than 0, and at most 10000 keys",
			c.MaxWaiting, c.UsageKeys)
	}
	return errors.Join(wrong...)
}

func (c *Config) unwell(err error) bool {
	switch {
	case err == nil:
		return false
	case c.Unwell != nil:
		return c.Unwell(err)
	}
	return !errors.Is(err, context.Canceled)
}
