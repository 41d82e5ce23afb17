package cassandra

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"strconv"
	"strings"
	"time"

	gocql "github.com/apache/cassandra-gocql-driver/v2"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/ringwatch/ringwatch/access/certs"
	"github.com/ringwatch/ringwatch/ring"
)

// Config is how a Session finds its Cassandra and what it does there.
type Config struct {
	Hosts             []string // contact points, "host" or "host:port"
	Keyspace          string
	ReplicationFactor int // in each of Datacenters
	// where the keyspace is replicated to; none: Datacenter, or all if that is empty
	Datacenters        []string
	Datacenter         string // the local one: queries go nowhere else; empty: any node
	Consistency        string // of reads and writes
	Username, Password string // empty: no authentication
	TLS                certs.Client
	Timeout            time.Duration // of one query

	// how many partitions at once are read, at Consistency and in Datacenter
	Ring ring.Config
	// is asked before calls whose Work has a class; nil: all may begin
	Admit      ring.Admit
	Registerer prometheus.Registerer // takes the ring's metrics; nil: nobody

	// how long Cassandra may contradict itself about the schema; 0: half a minute
	Settle time.Duration
	// is told when a change of the schema is tried again; nil: nobody
	Retried func()
	// is told after each statement, batch and page; nil: nobody
	Observed func()
	// is told of the rows of each statement, batch and page; nil: nobody
	Counted func(table string, read, written int)
	// takes what an operator should know; nil: slog.Default()
	Log *slog.Logger
}

var keyspaceName = regexp.MustCompile(`^[a-z][a-z0-9_]{0,47}$`)

// Validate returns all that is wrong with the configuration, joined, or nil.
func (c *Config) Validate() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	_, _, err := ring.ContactPoints(c.Hosts)
	errs = append(errs, err)
	if !keyspaceName.MatchString(c.Keyspace) {
		bad("keyspace: %q must be 1 to 48 of a-z, 0-9 and _, beginning with a letter", c.Keyspace)
	}
	if c.ReplicationFactor < 1 || c.ReplicationFactor > 100 {
		bad("replication_factor: %d: use 1 to 100", c.ReplicationFactor)
	}
	if level, err := gocql.ParseConsistencyWrapper(c.Consistency); err != nil {
		bad("consistency: Cassandra does not know %q; use LOCAL_QUORUM", c.Consistency)
	} else if level == gocql.Any ||
		(level == gocql.One || level == gocql.LocalOne || level == gocql.Two ||
			level == gocql.Three) && c.ReplicationFactor > 1 {
		bad("consistency: %s with %d replicas lets a read miss what was written; use LOCAL_QUORUM",
			c.Consistency, c.ReplicationFactor)
	}
	if c.Username == "" && c.Password != "" {
		bad("username: it is empty, and a password is set: set both or neither")
	}
	if c.Timeout < 100*time.Millisecond {
		bad("timeout: %s: use at least 100ms", c.Timeout)
	}
	return errors.Join(errs...)
}

// schemaWait is how long a change of the schema waits for all nodes to know it, before it says that
// they do not and is tried again.
const schemaWait = 5 * time.Second

// cluster translates the configuration for the driver.
func (c *Config) cluster() *gocql.ClusterConfig {
	cluster := gocql.NewCluster()
	cluster.Hosts, cluster.Port, _ = ring.ContactPoints(c.Hosts) // validated
	level, _ := gocql.ParseConsistencyWrapper(c.Consistency)     // validated
	cluster.Consistency = level
	cluster.Timeout, cluster.ConnectTimeout, cluster.WriteTimeout = c.Timeout, c.Timeout, c.Timeout
	if c.Username != "" {
		cluster.Authenticator = gocql.PasswordAuthenticator{Username: c.Username,
			Password: c.Password}
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
	// every statement here is: they carry their own keys and timestamps
	cluster.DefaultIdempotence = true
	// a node that comes back is used at once; it costs a connection attempt a second
	cluster.ReconnectInterval = time.Second
	// tables of others do not interest us, and there may be thousands
	cluster.Metadata.CacheMode = gocql.KeyspaceOnly
	cluster.MaxWaitSchemaAgreement = schemaWait
	cluster.PageSize = 500 // rows are kilobytes
	if c.Observed != nil || c.Counted != nil {
		cluster.QueryObserver, cluster.BatchObserver = observer{c}, observer{c}
	}
	return cluster
}

// replication returns the keyspace's replication as it should be.
func (c *Config) replication() map[string]string {
	centers := c.Datacenters
	if len(centers) == 0 && c.Datacenter != "" {
		centers = []string{c.Datacenter}
	}
	copies := strconv.Itoa(c.ReplicationFactor)
	if len(centers) == 0 {
		return map[string]string{"class": "SimpleStrategy", "replication_factor": copies}
	}
	m := map[string]string{"class": "NetworkTopologyStrategy"}
	for _, dc := range centers {
		m[strings.ReplaceAll(dc, "'", "''")] = copies
	}
	return m
}

// ringAdmit is Admit for the ring, which asks for each of its requests.
func (c *Config) ringAdmit() ring.Admit {
	if c.Admit == nil {
		return nil
	}
	return func(ctx context.Context, w ring.Work, keyspace, table string,
		n int) (func(time.Duration, error), error) {
		if w.Class == unthrottled {
			return func(time.Duration, error) {}, nil
		}
		return c.Admit(ctx, w, keyspace, table, n)
	}
}
