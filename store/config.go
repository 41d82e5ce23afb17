package store

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"regexp"
	"strconv"
	"time"

	gocql "github.com/apache/cassandra-gocql-driver/v2"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/ringwatch/ringwatch/certs"
	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/memory"
	"github.com/ringwatch/ringwatch/ring"
)

// Config is how a store finds its Cassandra and how long it keeps what.
type Config struct {
	// Hosts are contact points, "host" or "host:port"; the cluster's other nodes are found from them.
	Hosts []string
	// Keyspace is created by Apply if it is not there. Several Ringwatch fleets can share a cluster under different keyspaces.
	Keyspace string
	// ReplicationFactor is how many replicas each of Datacenters keeps.
	ReplicationFactor int
	// Datacenters are where the keyspace is replicated to. Empty: Datacenter, or the whole cluster's SimpleStrategy if that is empty too.
	Datacenters []string
	// Datacenter is the local one: queries go nowhere else. Empty: any node.
	Datacenter string
	// Consistency is that of reads and writes. A window is closed from what a read of its frames returns, so reads and writes must overlap:
	// LOCAL_QUORUM, QUORUM or ALL; ONE only with one replica.
	Consistency string
	// Username and Password are Cassandra's; empty: no authentication.
	Username, Password string
	// TLS to Cassandra. A node's certificate must have the node's address, a host name of Hosts, or
	// TLS.ServerName: see docs/RATIONALE.md.
	TLS certs.Client `yaml:"tls"`
	// Generation is what a new keyspace begins with. Later only cutovers change it: ringwatch schema cutover.
	Generation string
	// RawTTL is how long closed windows are kept. It is the tables' default, so it holds for what is written after ApplyChanges has set it.
	RawTTL time.Duration
	// FiveMinutesTTL, HourTTL and DayTTL are how long rollups are kept, each at least as long as what it is made of. They are the tables' defaults, too.
	FiveMinutesTTL, HourTTL, DayTTL time.Duration
	// FreshTTL is how long frames are kept. It should cover the time from a frame's arrival to the close of its window with what Cassandra may be away in
	// between: frames that expired before are read from the stream again, which costs a rebalance.
	FreshTTL time.Duration
	// Grace is how long after its end, and after its last frame, a window waits for late frames. Later ones open it again, which costs a second encoding.
	Grace time.Duration
	// HourSpread is over how long the hours of a fleet are made once they are over, each node at its own moment, so that the work is even. It must leave time
	// before the rows of their windows expire, three hours after they are written.
	HourSpread time.Duration
	// Timeout is how long one query may take.
	Timeout time.Duration
	// InFlight is how many frames are written at once.
	InFlight int

	// Ring is how many partitions at once are read, at Consistency and in Datacenter.
	Ring ring.Config `yaml:"-"`
	// Admit is asked before what can wait: what the API reads, and bulk work. nil: all may begin. Frames are written and windows closed without it.
	Admit ring.Admit `yaml:"-"`
	// Memory is what closing windows may take, per account and together. nil: whatever it needs. Reads take theirs from their context's lease.
	Memory *memory.Budget `yaml:"-"`
	// KeptBytes bounds what is kept of what closed windows said to a reading, for the next that asks them the same. 0 keeps nothing.
	KeptBytes int `yaml:"-"`
	// Registerer takes the ring's metrics; nil: nobody.
	Registerer prometheus.Registerer `yaml:"-"`

	// Now is the clock; nil: time.Now.
	Now func() time.Time
	// Log takes what an operator should know; nil: slog.Default().
	Log *slog.Logger
}

// DefaultConfig returns the settings for one Cassandra on this machine.
func DefaultConfig() Config {
	return Config{
		Hosts:             []string{"127.0.0.1:9042"},
		TLS:               certs.Section("cassandra.tls"),
		Keyspace:          "ringwatch",
		ReplicationFactor: 1,
		Consistency:       "LOCAL_QUORUM",
		Generation:        DefaultGeneration,
		RawTTL:            14 * 24 * time.Hour,
		FiveMinutesTTL:    60 * 24 * time.Hour,
		HourTTL:           365 * 24 * time.Hour,
		DayTTL:            5 * 365 * 24 * time.Hour,
		FreshTTL:          time.Hour,
		Grace:             20 * time.Second,
		HourSpread:        50 * time.Minute,
		Timeout:           5 * time.Second,
		InFlight:          64,
		Ring:              ring.DefaultConfig(),
	}
}

// schemaWait is how long a change of the schema waits for all nodes to know it, before it says that they do not and is tried again.
const schemaWait = 5 * time.Second

var keyspaceName = regexp.MustCompile(`^[a-z][a-z0-9_]{0,47}$`)

// Validate returns all that is wrong with the configuration, joined, or nil.
func (c *Config) Validate() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if len(c.Hosts) == 0 {
		bad("hosts: name at least one Cassandra node")
	}
	port := 0
	for _, h := range c.Hosts {
		_, p, err := splitHost(h)
		switch {
		case err != nil:
			bad("hosts: %q is neither host nor host:port", h)
		case port != 0 && p != port:
			bad("hosts: ports %d and %d differ; all nodes of a cluster must use one port", port, p)
		default:
			port = p
		}
	}
	if !keyspaceName.MatchString(c.Keyspace) {
		bad("keyspace: %q must be 1 to 48 of a-z, 0-9 and _, beginning with a letter", c.Keyspace)
	}
	if c.ReplicationFactor < 1 || c.ReplicationFactor > 100 {
		bad("replication_factor: %d: use 1 to 100", c.ReplicationFactor)
	}
	if level, err := gocql.ParseConsistencyWrapper(c.Consistency); err != nil {
		bad("consistency: Cassandra does not know %q; use LOCAL_QUORUM", c.Consistency)
	} else if level == gocql.Any || (level == gocql.One || level == gocql.LocalOne || level == gocql.Two || level == gocql.Three) && c.ReplicationFactor > 1 {
		bad("consistency: %s with %d replicas lets a read miss what was written; use LOCAL_QUORUM", c.Consistency, c.ReplicationFactor)
	}
	if c.Username == "" && c.Password != "" {
		bad("username: it is empty, and a password is set: set both or neither")
	}
	if !knownGeneration(c.Generation) {
		bad("generation: %q must be one of %v", c.Generation, Generations())
	}
	if c.RawTTL < time.Hour {
		bad("raw_ttl: %s: use at least 1h", c.RawTTL)
	}
	window := frame.WindowMillis * time.Millisecond
	if c.FreshTTL < 2*window+c.Grace {
		bad("fresh_ttl: %s: use at least two windows and the grace, %s", c.FreshTTL, 2*window+c.Grace)
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
	if c.Timeout < 100*time.Millisecond {
		bad("timeout: %s: use at least 100ms", c.Timeout)
	}
	if c.InFlight < 1 || c.InFlight > 10_000 {
		bad("in_flight: %d: use 1 to 10000", c.InFlight)
	}
	return errors.Join(errs...)
}

// splitHost returns host and port of "host" or "host:port".
func splitHost(s string) (string, int, error) {
	host, port, err := net.SplitHostPort(s)
	if err != nil {
		host, port = s, "9042"
	}
	n, err := strconv.Atoi(port)
	if err != nil || n < 1 || n > 65535 || host == "" {
		return "", 0, fmt.Errorf("%q is not an address", s)
	}
	return host, n, nil
}

// cluster translates the configuration for the driver.
func (c *Config) cluster() *gocql.ClusterConfig {
	cluster := gocql.NewCluster()
	for _, h := range c.Hosts {
		host, port, _ := splitHost(h) // validated
		cluster.Hosts = append(cluster.Hosts, host)
		cluster.Port = port
	}
	level, _ := gocql.ParseConsistencyWrapper(c.Consistency) // validated
	cluster.Consistency = level
	cluster.Timeout, cluster.ConnectTimeout, cluster.WriteTimeout = c.Timeout, c.Timeout, c.Timeout
	if c.Username != "" {
		cluster.Authenticator = gocql.PasswordAuthenticator{Username: c.Username, Password: c.Password}
	}
	if c.TLS.Enabled {
		cluster.Dialer = c.TLS.Dialer(c.Log, c.Hosts...)
		cluster.WriteCoalesceWaitTime = 0 // TLS cannot send several buffers at once
	}
	fallback := gocql.RoundRobinHostPolicy()
	if c.Datacenter != "" {
		fallback = gocql.DCAwareRoundRobinPolicy(c.Datacenter)
	}
	cluster.PoolConfig.HostSelectionPolicy = gocql.TokenAwareHostPolicy(fallback)
	cluster.DefaultIdempotence = true               // every statement here is: they carry their own keys and timestamps
	cluster.ReconnectInterval = time.Second         // a node that comes back is used at once; it costs a connection attempt a second
	cluster.Metadata.CacheMode = gocql.KeyspaceOnly // tables of others do not interest us, and there may be thousands
	cluster.MaxWaitSchemaAgreement = schemaWait
	cluster.PageSize = 500 // rows are kilobytes
	return cluster
}
