package ring

import (
	"context"
	"errors"
	"time"

	gocql "github.com/apache/cassandra-gocql-driver/v2"
	"github.com/prometheus/client_golang/prometheus"
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
	// Speculation is when a late group is raced by another replica: "15ms" (a delay), "p95" (a percentile of the table's own recent answers), "always" or "never".
	Speculation string `yaml:"speculation"`
	// SpeculationFloor is the least delay that a percentile gives.
	SpeculationFloor time.Duration `yaml:"speculation_floor"`
	// SpeculationShare bounds the extra load: at most this share of all requests to replicas are races.
	SpeculationShare float64 `yaml:"speculation_share"`
	// Timeout bounds a read whose context has no deadline.
	Timeout time.Duration `yaml:"timeout"`
	// CacheBytes bounds the row cache; 0: none.
	CacheBytes int64 `yaml:"cache_bytes"`
	// CacheTTL is how long a row may be answered from memory, by "keyspace.table"; "*" for all others. 0 or absent: not at all.
	CacheTTL map[string]time.Duration `yaml:"cache_ttl"`
}

// DefaultConfig races after 15 ms and keeps no rows.
func DefaultConfig() Config {
	return Config{
		Consistency: "LOCAL_ONE", Class: "serving", GroupKeys: 100, Speculation: "15ms", SpeculationFloor: 2 * time.Millisecond, SpeculationShare: 0.1, Timeout: 10 * time.Second,
	}
}

// Validate returns everything that is wrong with the configuration, at once.
func (c *Config) Validate() error { return nil }

// Reader reads by key. Its methods may be called from many goroutines.
type Reader struct {
	session *gocql.Session
	config  Config
	admit   Admit
}

// New returns a reader on a session, which stays the caller's; admit may be nil. It follows the cluster's topology until Close.
func New(session *gocql.Session, c Config, admit Admit, reg prometheus.Registerer) (*Reader, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	return &Reader{session: session, config: c, admit: admit}, nil
}

// Close ends what New has begun. Reads under way end with errors.
func (r *Reader) Close() {}

// Read answers all keys, in their order. Its error is about the query as a whole (a table or column that is not there, a Where that does not parse); what is wrong with one key is in its Result.
func (r *Reader) Read(ctx context.Context, q Query, keys []Key) ([]Result, error) {
	results := make([]Result, len(keys))
	err := r.Stream(ctx, q, keys, func(i int, result Result) { results[i] = result })
	return results, err
}

// Stream calls take once for each key, with its index, as answers come; one call at a time, the last before Stream returns.
func (r *Reader) Stream(ctx context.Context, q Query, keys []Key, take func(i int, result Result)) error {
	return errors.New("ring: not built yet")
}

// Forget takes partitions out of the row cache, so that the next read sees what was just written. Only this process's.
func (r *Reader) Forget(keyspace, table string, keys ...Key) error { return nil }

// Table tells of a table's columns.
func (r *Reader) Table(ctx context.Context, keyspace, table string) (*Table, error) {
	return nil, errors.New("ring: not built yet")
}

// ErrNoTable is what errors.Is finds when keyspace, table or column are not there.
var ErrNoTable = errors.New("not there")

// Table is what a table looks like.
type Table struct {
	Keyspace, Name string
	Key            []Column // the partition key
	Columns        []Column // all, partition key first, then clustering columns
}

// Column is a column of a table.
type Column struct {
	Name string
	Type gocql.TypeInfo
}

// Row is one row of an answer. It is shared with others and must not be changed.
type Row struct {
	columns []Column
	values  [][]byte
}

// Columns are the row's columns in order.
func (r Row) Columns() []Column { return r.columns }

// Raw is column i as Cassandra sent it; nil: null.
func (r Row) Raw(i int) []byte { return r.values[i] }

// Scan converts the columns into what into points to, as gocql does; nil skips one.
func (r Row) Scan(into ...any) error { return nil }
