package ring

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	gocql "github.com/apache/cassandra-gocql-driver/v2"
)

// ErrNoTable is what errors.Is finds when keyspace, table or column are not there.
var ErrNoTable = errors.New("not there")

// Table is what a table looks like.
type Table struct {
	Keyspace, Name string
	Key            []Column // the partition key
	// all, partition key first, then clustering columns, then the others by name
	Columns []Column
}

// Column is a column of a table.
type Column struct {
	Name string
	Type gocql.TypeInfo
}

// table is what the reader knows of one. The driver remembers a statement's columns by its text.
// If a table is made anew with other types, the driver would go on with the old ones, and find no
// row, without an error. So each statement ends with a tag, which changes with what the table
// looks like.
type table struct {
	Table
	id          string // another one when it is dropped and made anew
	columns     []tableColumn
	tag         string // ends each statement: a comment that changes with what the table looks like
	replication replication
	latency     *latency
}

type tableColumn struct {
	name, kind, cql string
	position        int
}

func (t *table) same(o *table) bool {
	return t.tag == o.tag && t.replication.equal(o.replication)
}

// column finds a column.
func (t *table) column(name string) (Column, error) {
	for _, c := range t.Columns {
		if c.Name == name {
			return c, nil
		}
	}
	return Column{}, fmt.Errorf("column %s of table %s.%s is %w", name, t.Keyspace, t.Name,
		ErrNoTable)
}

// tables keeps what was read of the schema until the schema changes.
type tables struct {
	mu      sync.Mutex
	version int64 // of the schema: it grows
	known   map[string]*knownTable
}

type knownTable struct {
	turn    chan struct{} // of capacity 1, full while it is read
	version int64
	table   *table
	stale   atomic.Bool
	doubted atomic.Int64
}

// changed makes all tables be looked at again before they are used.
func (t *tables) changed() {
	t.mu.Lock()
	t.version++
	t.mu.Unlock()
}

// doubt makes one table be looked at again, unless that was just done.
func (t *tables) doubt(old *table, now int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if k := t.known[old.Keyspace+"\x00"+old.Name]; k != nil &&
		now-k.doubted.Swap(now) > int64(doubtEvery) {
		k.stale.Store(true)
	}
}

// doubtEvery is how often a table is looked at again at the most because a node refused a key.
const doubtEvery = 200 * time.Millisecond

// maxTables bounds what is kept; more are read anew.
const maxTables = 10000

// table returns a table as it is now, or as it was when nobody can be asked.
func (r *Reader) table(ctx context.Context, keyspace, name string) (*table, error) {
	key := keyspace + "\x00" + name
	r.tables.mu.Lock()
	version := r.tables.version
	k := r.tables.known[key]
	if k == nil {
		if len(r.tables.known) >= maxTables {
			clear(r.tables.known)
		}
		k = &knownTable{turn: make(chan struct{}, 1), version: -1}
		r.tables.known[key] = k
	}
	r.tables.mu.Unlock()
	select {
	case k.turn <- struct{}{}:
		defer func() { <-k.turn }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if k.table != nil && k.version >= version && !k.stale.Swap(false) {
		return k.table, nil
	}
	t, err := r.readTable(ctx, keyspace, name)
	if err != nil {
		if k.table != nil && !errors.Is(err, ErrNoTable) {
			return k.table, nil
		}
		k.table = nil
		r.tables.mu.Lock()
		if r.tables.known[key] == k {
			delete(r.tables.known, key)
		}
		r.tables.mu.Unlock()
		return nil, err
	}
	if k.table == nil || !k.table.same(t) {
		k.table = t
	}
	k.version = version
	return k.table, nil
}

// readTable asks the cluster for a table's schema.
func (r *Reader) readTable(ctx context.Context, keyspace, name string) (*table, error) {
	t := &table{Table: Table{Keyspace: keyspace, Name: name}, latency: newLatency()}
	err := r.askAny(ctx, func(ctx context.Context, id string) error {
		return r.readSchema(ctx, id, t)
	})
	if err != nil {
		return nil, fmt.Errorf("cannot read what table %s.%s looks like: %w", keyspace, name, err)
	}
	return t, nil
}

func (r *Reader) readSchema(ctx context.Context, id string, t *table) error {
	missing := fmt.Errorf("table %s.%s is %w", t.Keyspace, t.Name, ErrNoTable)
	scan := func(into []any, statement string, args ...any) error {
		return r.control(statement, args...).SetHostID(id).ScanContext(ctx, into...)
	}
	var options map[string]string
	if err := scan([]any{&options},
		"SELECT replication FROM system_schema.keyspaces WHERE keyspace_name = ?",
		t.Keyspace); errors.Is(err, gocql.ErrNotFound) {
		return missing
	} else if err != nil {
		return err
	}
	t.replication = parseReplication(options)
	var uuid gocql.UUID
	err := scan([]any{&uuid}, "SELECT id FROM system_schema.tables WHERE keyspace_name = ? AND "+
		"table_name = ?", t.Keyspace, t.Name)
	if errors.Is(err, gocql.ErrNotFound) {
		err = scan([]any{&uuid}, "SELECT id FROM system_schema.views WHERE keyspace_name = ? AND "+
			"view_name = ?", t.Keyspace, t.Name)
	}
	if errors.Is(err, gocql.ErrNotFound) {
		return missing
	} else if err != nil {
		return err
	}
	t.id = uuid.String()
	t.columns = nil
	iter := r.control("SELECT column_name, kind, position, type FROM system_schema.columns WHERE "+
		"keyspace_name = ? AND table_name = ?", t.Keyspace, t.Name).SetHostID(id).IterContext(ctx)
	for c := (tableColumn{}); iter.Scan(&c.name, &c.kind, &c.position, &c.cql); {
		t.columns = append(t.columns, c)
	}
	if err := iter.Close(); err != nil {
		return err
	}
	if len(t.columns) == 0 {
		return missing
	}
	order := []string{"partition_key", "clustering", "static", "regular"}
	slices.SortFunc(t.columns, func(a, b tableColumn) int {
		if n := slices.Index(order, a.kind) - slices.Index(order, b.kind); n != 0 {
			return n
		}
		if n := a.position - b.position; n != 0 {
			return n
		}
		return strings.Compare(a.name, b.name)
	})
	var name string
	var fields, types []string
	var all strings.Builder
	iter = r.control("SELECT type_name, field_names, field_types FROM system_schema.types WHERE "+
		"keyspace_name = ?", t.Keyspace).SetHostID(id).IterContext(ctx)
	for iter.Scan(&name, &fields, &types) {
		fmt.Fprintf(&all, "%q %q %q\n", name, fields, types)
	}
	if err := iter.Close(); err != nil {
		return err
	}
	// The driver keeps what a statement's columns and markers are by its text, and does not see
	// that a table was made anew with other types until it executes it.
	hash := fnv.New64a()
	fmt.Fprintf(hash, "%s %v %s", t.id, t.columns, all.String())
	t.tag = fmt.Sprintf(" /* %x */", hash.Sum64())
	names := make([]string, len(t.columns))
	for i, c := range t.columns {
		names[i] = quoted(c.name)
	}
	info, err := r.prepareAt(ctx, id, "SELECT "+strings.Join(names, ", ")+" FROM "+
		quoted(t.Keyspace)+"."+quoted(t.Name)+t.tag)
	if err != nil {
		return err
	}
	if len(info.Rval) != len(t.columns) {
		return fmt.Errorf("the driver counts %d columns where there are %d", len(info.Rval),
			len(t.columns))
	}
	t.Columns, t.Key = make([]Column, len(t.columns)), nil
	for i, c := range t.columns {
		t.Columns[i] = Column{Name: c.name, Type: info.Rval[i].TypeInfo}
		if c.kind == "partition_key" {
			t.Key = t.Columns[: i+1 : i+1]
		}
	}
	return nil
}

// prepareAt has a node parse a statement, and returns its markers and columns. The driver keeps
// it, so that executing it later on that node costs no more.
func (r *Reader) prepareAt(ctx context.Context, id, statement string) (*gocql.QueryInfo, error) {
	var info *gocql.QueryInfo
	done := errors.New("it was to be prepared only")
	q := r.session.Bind(statement, func(i *gocql.QueryInfo) ([]any, error) {
		info = i
		return nil, done
	}).RetryPolicy(nil)
	if id != "" {
		q.SetHostID(id)
	}
	if err := q.IterContext(ctx).Close(); err != nil && !errors.Is(err, done) {
		return nil, err
	}
	if info == nil {
		return nil, errors.New("the driver did not prepare the statement")
	}
	return info, nil
}
