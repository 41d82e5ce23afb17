package ring

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	gocql "github.com/apache/cassandra-gocql-driver/v2"
)

// Config is how a Reader reads.
type Config struct {
	// Datacenter is the local one; its replicas are asked, others never. Empty: any.
	Datacenter string `yaml:"datacenter"`
	// Consistency of queries that name none.
	Consistency string `yaml:"consistency"`
	// Class of queries that name none.
	Class string `yaml:"class"`
	// GroupKeys is how many keys one request to a replica asks for at most.
	GroupKeys int `yaml:"group_keys"`
	// Speculation is when a late group is raced by another replica: "15ms" (a delay), "p95" (a
	// percentile of the table's own recent answers), "always" or "never".
	Speculation string `yaml:"speculation"`
	// SpeculationFloor is the least delay that a percentile gives.
	SpeculationFloor time.Duration `yaml:"speculation_floor"`
	// SpeculationShare bounds the extra load: at most this share of all requests to replicas are
	// races, after a hundred at the start. It bounds "always" too.
	SpeculationShare float64 `yaml:"speculation_share"`
	// Timeout bounds a read whose context has no deadline.
	Timeout time.Duration `yaml:"timeout"`
	// CacheBytes bounds the row cache; 0: none.
	CacheBytes int64 `yaml:"cache_bytes"`
	// CacheTTL is how long a row may be answered from memory, by "keyspace.table"; "*" for all
	// others. 0 or absent: not at all.
	CacheTTL map[string]time.Duration `yaml:"cache_ttl"`
}

// DefaultConfig races after 15 ms and keeps no rows.
func DefaultConfig() Config {
	return Config{
		Consistency: "LOCAL_ONE", Class: "serving", GroupKeys: 100, Speculation: "15ms",
		SpeculationFloor: 2 * time.Millisecond, SpeculationShare: 0.1, Timeout: 10 * time.Second,
	}
}

// maxGroupKeys is Cassandra's own bound for values of one IN that take part in no other.
const maxGroupKeys = 1000

// Validate returns everything that is wrong with the configuration, at once.
func (c *Config) Validate() error {
	var errs []error
	wrong := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if level, err := gocql.ParseConsistencyWrapper(c.Consistency); err != nil {
		wrong("consistency %q is unknown: use one of Cassandra's, such as LOCAL_ONE, ONE or "+
			"LOCAL_QUORUM", c.Consistency)
	} else if err := readable(level); err != nil {
		wrong("consistency %s: %w", c.Consistency, err)
	}
	if c.Class == "" {
		wrong("class is empty: name the workload class of reads that name none, such as serving")
	}
	if c.GroupKeys < 1 || c.GroupKeys > maxGroupKeys {
		wrong("group_keys is %d: use 1 to %d", c.GroupKeys, maxGroupKeys)
	}
	if _, err := parseSpeculation(c.Speculation, c.SpeculationFloor); err != nil {
		errs = append(errs, err)
	}
	if c.SpeculationFloor < 0 {
		wrong("speculation_floor is %s: use 0 or more", c.SpeculationFloor)
	}
	if !(c.SpeculationShare >= 0 && c.SpeculationShare <= 1) {
		wrong("speculation_share is %v: use 0 to 1, a share of all requests", c.SpeculationShare)
	}
	if c.Timeout <= 0 {
		wrong("timeout is %s: a read without a deadline needs one, such as 10s", c.Timeout)
	}
	if c.CacheBytes < 0 {
		wrong("cache_bytes is %d: use 0 to keep no rows, or more", c.CacheBytes)
	}
	names := make([]string, 0, len(c.CacheTTL))
	for name := range c.CacheTTL {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		if keyspace, table, both := strings.Cut(name, "."); name != "*" &&
			(!both || keyspace == "" || table == "") {
			wrong(`cache_ttl has %q: name a table as keyspace.table, or "*" for all others`, name)
		}
		if ttl := c.CacheTTL[name]; ttl < 0 {
			wrong("cache_ttl of %s is %s: use 0 to keep nothing, or more", name, ttl)
		} else if ttl > 0 && c.CacheBytes == 0 {
			wrong("cache_ttl of %s is %s, and cache_bytes is 0: say how much memory rows may take",
				name, ttl)
		}
	}
	return errors.Join(errs...)
}

// keptFor is how long rows of a table may be answered from memory; 0: not at all.
func (c *Config) keptFor(keyspace, table string) time.Duration {
	if c.CacheBytes == 0 {
		return 0
	}
	if ttl, named := c.CacheTTL[keyspace+"."+table]; named {
		return ttl
	}
	return c.CacheTTL["*"]
}

// readable refuses what no read can have.
func readable(level gocql.Consistency) error {
	switch level {
	case gocql.One, gocql.Two, gocql.Three, gocql.Quorum, gocql.All, gocql.LocalQuorum,
		gocql.EachQuorum, gocql.LocalOne:
		return nil
	case gocql.Serial, gocql.LocalSerial:
		return errors.New("serial reads cannot be grouped, since each is a transaction of its " +
			"own: use the driver for them")
	default:
		return fmt.Errorf("%s is not for reads", level)
	}
}

// speculation says when a late group is raced.
type speculation struct {
	never      bool
	delay      time.Duration // 0: at once
	percentile float64       // of the table's answers, instead of delay; 0: none
	floor      time.Duration
}

func parseSpeculation(text string, floor time.Duration) (speculation, error) {
	switch {
	case text == "never":
		return speculation{never: true}, nil
	case text == "always":
		return speculation{}, nil
	case strings.HasPrefix(text, "p"):
		if p, err := strconv.ParseFloat(text[1:], 64); err == nil && p >= 1 && p < 100 {
			return speculation{percentile: p / 100, floor: floor}, nil
		}
	default:
		if d, err := time.ParseDuration(text); err == nil && d > 0 {
			return speculation{delay: d}, nil
		}
	}
	return speculation{}, fmt.Errorf("speculation %q: use a delay such as 15ms, a percentile "+
		"such as p95 (p1 to below p100), always or never", text)
}
