package store

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ringwatch/ringwatch/access/certs"
	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/memory"
	"github.com/ringwatch/ringwatch/ring"
	"github.com/ringwatch/ringwatch/store/calendar"
	"github.com/ringwatch/ringwatch/store/generations"
	"github.com/ringwatch/ringwatch/store/rows/cassandra"
)

// Config is how a store finds its database and how long it keeps what.
type Config struct {
	// Dir is the directory that rows lie in. Empty: they lie in Cassandra, and Hosts and what
	// follows say in which.
	Dir string `yaml:"-"`
	// MaxBytes bounds Dir, and Besides is what it bounds elsewhere; 0: there is no bound.
	MaxBytes int64        `yaml:"-"`
	Besides  func() int64 `yaml:"-"`
	// DirNow is the clock that rows of Dir expire by, as those of Cassandra do by its own; nil:
	// time.Now.
	DirNow func() time.Time `yaml:"-"`
	// DirMemory is what rows of Dir may take in memory. 0: 64 MiB.
	DirMemory int64 `yaml:"-"`
	// Hosts are contact points, "host" or "host:port"; the cluster's other nodes are found from
	// them.
	Hosts []string
	// Keyspace is created by Apply if it is not there. Several Ringwatch fleets can share a cluster
	// under different keyspaces.
	Keyspace string
	// ReplicationFactor is how many replicas each of Datacenters keeps.
	ReplicationFactor int
	// Datacenters are where the keyspace is replicated to. Empty: Datacenter, or the whole
	// cluster's SimpleStrategy if that is empty too.
	Datacenters []string
	// Datacenter is the local one: queries go nowhere else. Empty: any node.
	Datacenter string
	// Consistency is that of reads and writes. A window is closed from what a read of its frames
	// returns, so reads and writes must overlap: LOCAL_QUORUM, QUORUM or ALL; ONE only with one
	// replica.
	Consistency string
	// Username and Password are Cassandra's; empty: no authentication.
	Username, Password string
	// TLS to Cassandra. A node's certificate must have the node's address, a host name of Hosts, or
	// TLS.ServerName: see docs/rationale/building.md.
	TLS certs.Client `yaml:"tls"`
	// Generation is what a new keyspace begins with. Later only cutovers change it: ringwatch
	// schema cutover.
	Generation string
	// RawTTL is how long closed windows are kept. It is the tables' default, so it holds for what
	// is written after ApplyChanges has set it.
	RawTTL time.Duration
	// FiveMinutesTTL, HourTTL and DayTTL are how long rollups are kept, each at least as long as
	// what it is made of. They are the tables' defaults, too.
	FiveMinutesTTL, HourTTL, DayTTL time.Duration
	// EventsTTL is how long what happened on nodes is kept.
	EventsTTL time.Duration
	// EventsPerMinute is how many events of a cluster's minute are kept: the first ones that come.
	EventsPerMinute int
	// FreshTTL is how long frames are kept. It should cover the time from a frame's arrival to the
	// close of its window with what Cassandra may be away in between: frames that expired before
	// are read from the stream again, which costs a rebalance.
	FreshTTL time.Duration
	// Grace is how long after its end, and after its last frame, a window waits for late frames.
	// Later ones open it again, which costs a second encoding.
	Grace time.Duration
	// HourSpread is over how long the hours of a fleet are made once they are over, each node at
	// its own moment, so that the work is even. It must leave time before the rows of their windows
	// expire, three hours after they are written.
	HourSpread time.Duration
	// Timeout is how long one query may take.
	Timeout time.Duration
	// InFlight is how many frames are written at once.
	InFlight int

	// Ring is how many partitions at once are read, at Consistency and in Datacenter.
	Ring ring.Config `yaml:"-"`
	// Admit is asked before what can wait: what the API reads, and bulk work. nil: all may begin.
	// Frames are written and windows closed without it.
	Admit ring.Admit `yaml:"-"`
	// Memory is what closing windows may take, per account and together. nil: whatever it needs.
	// Reads take theirs from their Reader's lease.
	Memory *memory.Budget `yaml:"-"`
	// KeptBytes bounds the decoded columns of hours and windows that are kept for the next reading.
	// 0 keeps nothing.
	KeptBytes int `yaml:"-"`
	// Registerer takes the ring's metrics; nil: nobody.
	Registerer prometheus.Registerer `yaml:"-"`

	// Now is the clock; nil: time.Now.
	Now func() time.Time
	// Log takes what an operator should know; nil: slog.Default().
	Log *slog.Logger
}

// DefaultConfig returns the settings for one Cassandra or one directory; Hosts or Dir says which.
func DefaultConfig() Config {
	return Config{
		TLS:               certs.Section("cassandra.tls"),
		Keyspace:          "ringwatch",
		ReplicationFactor: 1,
		Consistency:       "LOCAL_QUORUM",
		Generation:        generations.Default,
		RawTTL:            14 * 24 * time.Hour,
		FiveMinutesTTL:    60 * 24 * time.Hour,
		HourTTL:           365 * 24 * time.Hour,
		DayTTL:            5 * 365 * 24 * time.Hour,
		EventsTTL:         30 * 24 * time.Hour,
		EventsPerMinute:   3000,
		FreshTTL:          time.Hour,
		Grace:             20 * time.Second,
		HourSpread:        50 * time.Minute,
		Timeout:           5 * time.Second,
		InFlight:          32,
		Ring:              ring.DefaultConfig(),
	}
}

// Validate returns all that is wrong with the configuration, joined, or nil.
func (c *Config) Validate() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if c.Dir == "" && len(c.Hosts) == 0 {
		bad("hosts: name at least one Cassandra node")
	}
	cluster := c.cluster()
	errs = append(errs, cluster.Validate())
	if !generations.Known(c.Generation) {
		bad("generation: %q must be one of %v", c.Generation, generations.Names())
	}
	if c.RawTTL < time.Hour {
		bad("raw_ttl: %s: use at least 1h", c.RawTTL)
	}
	if c.EventsTTL < time.Hour {
		bad("events_ttl: %s: use at least 1h", c.EventsTTL)
	}
	if c.EventsPerMinute < 1 {
		bad("events_per_minute: %d: use 1 or more", c.EventsPerMinute)
	}
	window := frame.WindowMillis * time.Millisecond
	if c.FreshTTL < 2*window+c.Grace {
		bad("fresh_ttl: %s: use at least two windows and the grace, %s", c.FreshTTL,
			2*window+c.Grace)
	}
	if c.FreshTTL > c.RawTTL {
		bad("fresh_ttl: %s is longer than raw_ttl, %s", c.FreshTTL, c.RawTTL)
	}
	if err := c.validateRollups(); err != nil {
		errs = append(errs, err)
	}
	if c.Grace < 0 || c.Grace > window {
		bad("grace: %s: use 0 to %s", c.Grace, window)
	}
	if c.HourSpread < 0 || c.HourSpread > time.Hour {
		bad("hour_spread: %s: use 0 to 1h", c.HourSpread)
	}
	if c.InFlight < 1 || c.InFlight > 10_000 {
		bad("in_flight: %d: use 1 to 10000", c.InFlight)
	}
	return errors.Join(errs...)
}

// validateRollups returns what is wrong with the TTLs. A coarser level is computed anew from the
// finer one when a late frame comes, so that must still be there.
func (c *Config) validateRollups() error {
	var errs []error
	below, name := c.RawTTL+24*time.Hour, "raw_ttl and a day"
	for _, l := range []struct {
		name string
		ttl  time.Duration
	}{{"five_minutes_ttl", c.FiveMinutesTTL}, {"hour_ttl", c.HourTTL}, {"day_ttl", c.DayTTL}} {
		if l.ttl < below {
			errs = append(errs, fmt.Errorf("%s: %s: use at least %s, %s", l.name, l.ttl,
				name, below))
		}
		below, name = l.ttl, l.name
		if l.ttl > maxTTL {
			errs = append(errs, fmt.Errorf("%s: %s: use at most %s, which is what Cassandra takes",
				l.name, l.ttl, maxTTL))
		}
	}
	return errors.Join(errs...)
}

// maxTTL is Cassandra's 20 years, less a year in which dictionaries outlive the rollups of their
// partition.
const maxTTL = 19 * 365 * 24 * time.Hour

// limits are how long what lives, and how long what may take.
func (c *Config) limits() *calendar.Limits {
	return &calendar.Limits{RawTTL: c.RawTTL, FiveMinutesTTL: c.FiveMinutesTTL, HourTTL: c.HourTTL,
		DayTTL: c.DayTTL, EventsTTL: c.EventsTTL, FreshTTL: c.FreshTTL, Grace: c.Grace,
		Timeout: c.Timeout}
}

// cluster is what of the configuration is about Cassandra.
func (c *Config) cluster() cassandra.Config {
	return cassandra.Config{
		Hosts: c.Hosts, Keyspace: c.Keyspace, ReplicationFactor: c.ReplicationFactor,
		Datacenters: c.Datacenters, Datacenter: c.Datacenter, Consistency: c.Consistency,
		Username: c.Username, Password: c.Password, TLS: c.TLS, Timeout: c.Timeout, Ring: c.Ring,
		Admit: c.Admit, Registerer: c.Registerer, Log: c.Log,
	}
}
