package store

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	gocql "github.com/apache/cassandra-gocql-driver/v2"
)

// The tables of generation v3, and nodes, which all generations share.
const (
	freshTable  = "v3_fresh"
	rawTable    = "v3_raw"
	seriesTable = "v3_series"
	nodesTable  = "nodes"
)

// tableLayout is what a table must be like.
type tableLayout struct {
	name      string
	partition []columnLayout
	cluster   []columnLayout
	rest      []columnLayout
	options   string
}

type columnLayout struct {
	name, kind string
	descending bool
}

// Times are CQL timestamps, so that a person at cqlsh can read them.
func (c *Config) layouts() []tableLayout {
	account, node := columnLayout{name: "account", kind: "text"}, columnLayout{name: "node", kind: "uuid"}
	return append([]tableLayout{{
		name:      freshTable,
		partition: []columnLayout{account, node, {name: "window", kind: "timestamp"}},
		// Newest first: the present state is the first row and its key frame's.
		cluster: []columnLayout{{name: "at", kind: "timestamp", descending: true}},
		rest:    []columnLayout{{name: "frame", kind: "blob"}, {name: "key_at", kind: "timestamp"}, {name: "received", kind: "timestamp"}},
		// Frames are packed already: chunks that zstd does not make smaller are kept as they are, so that reading them costs nothing.
		options: options(c.FreshTTL, time.Minute, `{'class': 'ZstdCompressor', 'compression_level': 1, 'chunk_length_in_kb': 16, 'min_compress_ratio': 1.1}`, 10*time.Minute,
			"Ringwatch: frames as they came, until the columns of their window are written"),
	}, {
		name:      rawTable,
		partition: []columnLayout{account, node, {name: "bucket", kind: "timestamp"}},
		// A metric's windows are neighbours: a read of one metric is one slice, and compression sees what repeats from window to window.
		cluster: []columnLayout{{name: "entity_type", kind: "text"}, {name: "metric", kind: "text"}, {name: "window", kind: "timestamp"}},
		rest:    []columnLayout{{name: "blob", kind: "blob"}},
		options: options(c.RawTTL, time.Hour, `{'class': 'ZstdCompressor', 'compression_level': 3, 'chunk_length_in_kb': 64}`, 3*time.Hour,
			"Ringwatch: columns; entity_type = metric = empty is the meta row of its window, written last"),
	}, {
		name:      seriesTable,
		partition: []columnLayout{account, node},
		cluster:   []columnLayout{{name: "day", kind: "timestamp"}, {name: "entity_type", kind: "text"}, {name: "hash", kind: "blob"}},
		rest:      []columnLayout{{name: "blob", kind: "blob"}},
		options: options(c.RawTTL+24*time.Hour, time.Hour, `{'class': 'ZstdCompressor', 'compression_level': 3, 'chunk_length_in_kb': 16}`, 3*time.Hour,
			"Ringwatch: dictionaries by content; columns refer to them"),
	}, {
		name:      nodesTable,
		partition: []columnLayout{account},
		cluster:   []columnLayout{{name: "cluster", kind: "text"}, node},
		rest: []columnLayout{{name: "datacenter", kind: "text"}, {name: "rack", kind: "text"}, {name: "facts", kind: "frozen<map<text, text>>"},
			{name: "interval_ms", kind: "bigint"}, {name: "last_key", kind: "timestamp"}},
		options: fmt.Sprintf("default_time_to_live = %d AND gc_grace_seconds = %d AND comment = 'Ringwatch: the newest key frame of each node'",
			seconds(c.RawTTL), seconds(3*time.Hour)),
	}}, c.rollupLayouts()...)
}

// sstables is how many time windows of compaction a TTL is cut into: 20 to 30 keep both the number of SSTables that a read may meet and what expires
// at once small.
const sstables = 24

// options are those of a table whose rows expire and are never deleted. gc_grace bounds only how long hints live, so it may be short; read repair and
// speculative reads would cost every read for what quorum and the next write bring anyway.
func options(ttl, unit time.Duration, compression string, gcGrace time.Duration, comment string) string {
	size, name := max(1, int((ttl+sstables*unit-1)/(sstables*unit))), "HOURS"
	if unit == time.Minute {
		name = "MINUTES"
	}
	return fmt.Sprintf("default_time_to_live = %d AND gc_grace_seconds = %d AND compression = %s AND "+
		"compaction = {'class': 'TimeWindowCompactionStrategy', 'compaction_window_unit': '%s', 'compaction_window_size': %d} AND "+
		"read_repair = 'NONE' AND speculative_retry = 'NONE' AND comment = '%s'",
		seconds(ttl), seconds(gcGrace), compression, name, size, strings.ReplaceAll(comment, "'", "''"))
}

func seconds(d time.Duration) int64 { return int64(d / time.Second) }

// Apply creates what is missing of keyspace and tables. It may be called by several processes at once and again at any time. A table that is there with other
// columns is an error that wraps ErrLayout; nothing of it is touched. Settings of existing tables stay as they are.
func (s *Store) Apply(ctx context.Context) error {
	return s.retry(ctx, "apply schema", func() error { return s.apply(ctx) })
}

func (s *Store) apply(ctx context.Context) error {
	var there string
	err := s.each(ctx, func(scan func(...any) bool) bool { return scan(&there) },
		"SELECT keyspace_name FROM system_schema.keyspaces WHERE keyspace_name = ?", s.config.Keyspace)
	if err != nil {
		return err
	}
	if there == "" {
		if err := s.change(ctx, s.keyspaceStatement()); err != nil {
			return err
		}
	}
	for _, t := range s.config.layouts() {
		found, err := s.check(ctx, t)
		if err != nil {
			return err
		}
		if found {
			continue
		}
		if err := s.change(ctx, t.create(s.config.Keyspace)); err != nil {
			return err
		}
		if found, err = s.check(ctx, t); err != nil || !found { // another process may have created it, in another layout
			return errorsOr(err, fmt.Errorf("store: table %s.%s is not there after it was created; look at Cassandra's log", s.config.Keyspace, t.name))
		}
	}
	return nil
}

func errorsOr(err, other error) error {
	if err != nil {
		return err
	}
	return other
}

func (s *Store) keyspaceStatement() string {
	c := &s.config
	centers := c.Datacenters
	if len(centers) == 0 && c.Datacenter != "" {
		centers = []string{c.Datacenter}
	}
	replication := fmt.Sprintf("'class': 'SimpleStrategy', 'replication_factor': %d", c.ReplicationFactor)
	if len(centers) > 0 {
		replication = "'class': 'NetworkTopologyStrategy'"
		for _, dc := range centers {
			replication += fmt.Sprintf(", '%s': %d", strings.ReplaceAll(dc, "'", "''"), c.ReplicationFactor)
		}
	}
	return fmt.Sprintf("CREATE KEYSPACE IF NOT EXISTS %s WITH replication = {%s}", c.Keyspace, replication)
}

func (t *tableLayout) create(keyspace string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "CREATE TABLE IF NOT EXISTS %s.%s (", keyspace, t.name)
	for _, c := range slices.Concat(t.partition, t.cluster, t.rest) {
		fmt.Fprintf(&b, "%s %s, ", c.name, c.kind)
	}
	names := func(list []columnLayout) string {
		var n []string
		for _, c := range list {
			n = append(n, c.name)
		}
		return strings.Join(n, ", ")
	}
	fmt.Fprintf(&b, "PRIMARY KEY ((%s), %s)) WITH %s", names(t.partition), names(t.cluster), t.options)
	var order []string
	for _, c := range t.cluster {
		direction := "ASC"
		if c.descending {
			direction = "DESC"
		}
		order = append(order, c.name+" "+direction)
	}
	fmt.Fprintf(&b, " AND CLUSTERING ORDER BY (%s)", strings.Join(order, ", "))
	return b.String()
}

// change runs a schema statement on the node with the lowest host id that is up. All processes do, so that node does one after the other: two
// nodes that create one table at once would give it two identities.
func (s *Store) change(ctx context.Context, statement string) error {
	session, err := s.cql()
	if err != nil {
		return err
	}
	var lowest string
	for _, h := range session.GetHosts() {
		if h.IsUp() && (lowest == "" || h.HostID() < lowest) {
			lowest = h.HostID()
		}
	}
	q := session.Query(statement)
	if lowest != "" {
		q = q.SetHostID(lowest)
	}
	if err := q.ExecContext(ctx); err != nil {
		var exists *gocql.RequestErrAlreadyExists
		if !asError(err, &exists) {
			s.note(err)
			return fmt.Errorf("store: schema change failed: %w", err)
		}
	}
	if err := session.AwaitSchemaAgreement(ctx); err != nil {
		return fmt.Errorf("store: the cluster's nodes do not agree on the schema: %w", err)
	}
	return nil
}

// check compares a table with its layout. Further regular columns are a newer version's and do no harm.
func (s *Store) check(ctx context.Context, t tableLayout) (bool, error) {
	want := map[string]string{}
	describe := func(list []columnLayout, kind string) {
		for i, c := range list {
			position, order := i, "none"
			switch {
			case kind == "regular":
				position = -1
			case kind == "clustering" && c.descending:
				order = "desc"
			case kind == "clustering":
				order = "asc"
			}
			want[c.name] = fmt.Sprintf("%s %s %d %s", c.kind, kind, position, order)
		}
	}
	describe(t.partition, "partition_key")
	describe(t.cluster, "clustering")
	describe(t.rest, "regular")
	var wrong []string
	found := 0
	var name, order, kind, typ string
	var position int
	err := s.each(ctx, func(scan func(...any) bool) bool {
		if !scan(&name, &order, &kind, &position, &typ) {
			return false
		}
		found++
		got := fmt.Sprintf("%s %s %d %s", typ, kind, position, order)
		if w, known := want[name]; known && w != got || !known && kind != "regular" {
			wrong = append(wrong, fmt.Sprintf("%s is %q, not %q", name, got, w))
		}
		delete(want, name)
		return true
	}, "SELECT column_name, clustering_order, kind, position, type FROM system_schema.columns WHERE keyspace_name = ? AND table_name = ?", s.config.Keyspace, t.name)
	if err != nil || found == 0 {
		return false, err
	}
	for missing := range want {
		wrong = append(wrong, missing+" is missing")
	}
	if len(wrong) > 0 {
		slices.Sort(wrong)
		return false, fmt.Errorf("%w: %s.%s is not Ringwatch's (%s); set another keyspace, or rename or drop that table", ErrLayout, s.config.Keyspace, t.name, strings.Join(wrong, "; "))
	}
	return true, nil
}
