// Package lookup reads rows of allowed tables by their partition keys, for clients that speak
// JSON, and answers POST /v1/lookup/{keyspace}/{table}. Begin with Lookup, and with Handler for the
// endpoint. Of our packages it imports ring, which does the reading, ring/throttle, access, and the
// ground of api.
//
// What it promises:
//   - A table or column that an account may not read does not exist for it.
//   - A key means exactly the value that it says, or is refused: there is no rounding, there are no
//     replaced characters and no guessed zones.
//   - A value's JSON follows from its column's type alone, and loses nothing.
//
// What bites: an answer holds whole partitions, up to max_rows rows of each; a wide table wants a
// small max_rows.
package lookup

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	gocql "github.com/apache/cassandra-gocql-driver/v2"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/ringwatch/ringwatch/api/refusal"
	"github.com/ringwatch/ringwatch/ring"
)

// Lookup answers lookups. Its methods may be called from many goroutines.
type Lookup struct {
	config Config
	ring   ring.Config
	admit  ring.Admit
	reg    prometheus.Registerer
	log    *slog.Logger
	tables map[string]*Table

	reader   atomic.Pointer[ring.Reader] // nil: not connected yet
	complain sync.Map                    // what the log was told of a table, once
}

// New checks the configuration. It starts nothing: call Run. The ring's own settings are r; admit
// may be nil.
func New(c Config, r ring.Config, admit ring.Admit, reg prometheus.Registerer,
	log *slog.Logger) (*Lookup, error) {
	if err := c.Validate(); err != nil {
		return nil, fmt.Errorf("lookup: %w", err)
	}
	l := &Lookup{config: c, ring: r, admit: admit, reg: reg, log: log, tables: map[string]*Table{}}
	l.ring.Datacenter = cmp.Or(c.Datacenter, r.Datacenter)
	l.ring.CacheTTL = maps.Clone(r.CacheTTL)
	if l.ring.CacheTTL == nil {
		l.ring.CacheTTL = map[string]time.Duration{}
	}
	for i := range c.Tables {
		t := c.Tables[i]
		t.Class, t.MaxKeys, t.MaxRows = cmp.Or(t.Class, r.Class), cmp.Or(t.MaxKeys, c.MaxKeys),
			cmp.Or(t.MaxRows, c.MaxRows)
		l.tables[t.Table] = &t
		if t.CacheTTL > 0 {
			l.ring.CacheTTL[t.Table] = t.CacheTTL
		}
	}
	if err := l.ring.Validate(); err != nil {
		return nil, fmt.Errorf("lookup: %w", err)
	}
	return l, nil
}

// Run connects, trying again until it succeeds, and keeps the connection until ctx ends. Before
// that every Read fails with status 503.
func (l *Lookup) Run(ctx context.Context) error {
	session := l.connect(ctx)
	if session == nil {
		return nil
	}
	defer session.Close()
	reader, err := ring.Connect(ctx, session, l.ring, l.admit, l.reg)
	if err != nil {
		return fmt.Errorf("lookup: %w", err)
	}
	defer reader.Close()
	l.reader.Store(reader)
	<-ctx.Done()
	l.reader.Store(nil)
	return nil
}

// connect returns nil when ctx has ended.
func (l *Lookup) connect(ctx context.Context) *gocql.Session {
	for pause := 100 * time.Millisecond; ; pause = min(2*pause, 5*time.Second) {
		session, err := l.config.cluster(l.log).CreateSession()
		if err == nil {
			return session
		}
		l.log.Warn("lookup: cannot connect to Cassandra; trying again", "hosts", l.config.Hosts,
			"error", err)
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(pause):
		}
	}
}

// cluster translates the configuration for the driver. Lookups have connections of their own, also
// where the Cassandra is the store's: they do not wait behind the store's big answers, and their
// rights can be less.
func (c *Config) cluster(log *slog.Logger) *gocql.ClusterConfig {
	cluster := gocql.NewCluster()
	cluster.Hosts, cluster.Port, _ = ring.ContactPoints(c.Hosts) // validated
	cluster.Consistency = gocql.LocalOne
	cluster.Timeout, cluster.ConnectTimeout, cluster.WriteTimeout = c.Timeout, c.Timeout, c.Timeout
	if c.Username != "" {
		cluster.Authenticator = gocql.PasswordAuthenticator{Username: c.Username,
			Password: c.Password}
	}
	if c.TLS.Enabled {
		cluster.Dialer = c.TLS.Dialer(log, c.Hosts...)
		cluster.WriteCoalesceWaitTime = 0 // TLS cannot send several buffers at once
	}
	fallback := gocql.RoundRobinHostPolicy()
	if c.Datacenter != "" {
		fallback = gocql.DCAwareRoundRobinPolicy(c.Datacenter)
	}
	cluster.PoolConfig.HostSelectionPolicy = gocql.TokenAwareHostPolicy(fallback)
	cluster.DefaultIdempotence = true // these are reads
	cluster.ReconnectInterval = time.Second
	return cluster
}

// Query is what a client asks of a table.
type Query struct {
	Account         string
	Client          string // for the throttle: who must not starve others
	Keyspace, Table string
	Columns         []string          // none: all that are allowed
	Keys            []json.RawMessage // see README.md, Look up rows
	Rows            int               // at most of each key; 0: as many as the table allows
	Class           string            // the table's, or Bulk; empty: the table's
}

// Answer is what there is of a key.
type Answer struct {
	Rows []byte // a JSON list of objects; nil: there is no such row
	More bool   // the key has more rows than were asked for
	Err  *Error // it could not be read
}

// readable returns the tables that an account may read, in order, without one that is not there.
func (l *Lookup) readable(account, missing string) []string {
	var names []string
	for name, t := range l.tables {
		if name != missing && t.allows(account) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// Read calls take once for each key, with its index, as answers come: one call at a time, the
// last before Read returns. An error, always an *Error, is about the request as a whole; then
// take was not called.
func (l *Lookup) Read(ctx context.Context, q *Query, take func(i int, a Answer)) error {
	name := q.Keyspace + "." + q.Table
	t := l.tables[name]
	if t == nil || !t.allows(q.Account) {
		return notThere(name, l.readable(q.Account, ""), nil)
	}
	limit := t.MaxRows
	switch {
	case len(q.Keys) == 0:
		return refusal.Bad("no_keys", "keys",
			"the request has no keys: keys is a list of partition keys")
	case len(q.Keys) > t.MaxKeys:
		return refusal.Bad("too_many_keys", "keys",
			"the request has %d keys, and %d are allowed: ask in several requests", len(q.Keys),
			t.MaxKeys)
	case q.Rows < 0 || q.Rows > limit:
		return refusal.Bad("bad_rows", "rows", "rows must be 1 to %d for this table, not %d",
			limit, q.Rows)
	case q.Class != "" && q.Class != Bulk && q.Class != t.Class:
		return refusal.Bad("bad_class", "class",
			"class must be %q, or left out to use the table's own",
			Bulk)
	}
	reader := l.reader.Load()
	if reader == nil {
		return away("unavailable",
			"the Cassandra that has the tables does not answer now: ask again in a moment", nil)
	}
	table, err := reader.Table(ctx, q.Keyspace, q.Table)
	if errors.Is(err, ring.ErrNoTable) {
		l.once(name, "lookup: a table of the configuration is not in Cassandra", "table", name)
		return notThere(name, l.readable(q.Account, name), err)
	}
	if err != nil {
		return failed(err)
	}
	columns, err := l.columns(t, table, q.Columns)
	if err != nil {
		return err
	}
	keys := make([]ring.Key, len(q.Keys))
	for i, raw := range q.Keys {
		if keys[i], err = parseKey(table.Key, raw, fmt.Sprintf("keys[%d]", i)); err != nil {
			return err
		}
	}
	limit = cmp.Or(q.Rows, limit)
	taken := false
	err = reader.Stream(ctx, ring.Query{
		Keyspace: q.Keyspace, Table: q.Table, Columns: columns, Limit: limit + 1,
		Work: ring.Work{Class: cmp.Or(q.Class, t.Class), Client: q.Client},
	}, keys, func(i int, result ring.Result) {
		taken = true
		take(i, answerOf(result, limit))
	})
	if err != nil && !taken {
		return failed(err)
	}
	return nil
}

// columns returns which columns are read: those asked for, each of which must be allowed and
// there, or all.
func (l *Lookup) columns(t *Table, table *ring.Table, asked []string) ([]string, error) {
	var there, readable []string
	for _, c := range table.Columns {
		there = append(there, c.Name)
	}
	if len(t.Columns) == 0 {
		readable = there
	}
	for _, c := range t.Columns {
		if slices.Contains(there, c) {
			readable = append(readable, c)
		} else {
			l.once(t.Table+"."+c, "lookup: a column of the configuration is not in Cassandra",
				"table", t.Table, "column", c)
		}
	}
	for i, c := range asked {
		switch {
		case !slices.Contains(readable, c):
			return nil, refusal.Bad("unknown_column", "columns",
				"the table has no column %q: it has %s",
				c, strings.Join(readable, ", "))
		case slices.Contains(asked[:i], c):
			return nil, refusal.Bad("repeated_column", "columns", "%s is named more than once", c)
		}
	}
	if len(asked) > 0 {
		return asked, nil
	}
	if len(readable) == 0 {
		return nil, notThere(t.Table, nil, nil)
	}
	return readable, nil
}

// once tells the log something once.
func (l *Lookup) once(key, message string, args ...any) {
	if _, told := l.complain.LoadOrStore(key, true); !told {
		l.log.Warn(message, args...)
	}
}

// answerOf is a result of the ring with at most so many rows.
func answerOf(result ring.Result, limit int) Answer {
	if result.Err != nil {
		return Answer{Err: failed(result.Err)}
	}
	if len(result.Rows) == 0 {
		return Answer{}
	}
	a := Answer{More: len(result.Rows) > limit}
	b := []byte{'['}
	for i, row := range result.Rows[:min(limit, len(result.Rows))] {
		if i > 0 {
			b = append(b, ',')
		}
		var err error
		if b, err = appendRow(b, row); err != nil {
			return Answer{Err: away("unreadable",
				"its stored bytes do not match its types: "+err.Error(), err)}
		}
	}
	a.Rows = append(b, ']')
	return a
}
