package store

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The tables that all generations share. Those of one generation begin with its name.
const (
	freshTable    = "fresh"
	lateTable     = "late"
	progressTable = "progress"
	seriesTable   = "series"
	writtenTable  = "series_written"
	nodesTable    = "nodes"
	cutoverTable  = "schema_cutovers"
)

// tableLayout is what a table must be like.
type tableLayout struct {
	name      string
	partition []columnLayout
	cluster   []columnLayout
	rest      []columnLayout
	comment   string

	// Rows expire and are never deleted. gcGrace bounds only how long hints live, so it may be short.
	ttl     time.Duration // 0: for ever
	gcGrace time.Duration
	// unit, an hour or a minute, is what the time windows of compaction are counted in; 0: size-tiered.
	unit        time.Duration
	compression map[string]string
}

type columnLayout struct {
	name, kind string
	descending bool
}

func zstd(level, chunkKB int) map[string]string {
	return map[string]string{"class": "ZstdCompressor", "compression_level": strconv.Itoa(level), "chunk_length_in_kb": strconv.Itoa(chunkKB)}
}

// lz4 is Cassandra's own default, which older layouts have lived with.
var lz4 = map[string]string{"class": "LZ4Compressor", "chunk_length_in_kb": "16"}

// tables returns the tables that serve whatever the generation. Times are CQL timestamps, so that a person at cqlsh can read them.
func (c *Config) tables() []tableLayout {
	account, node := columnLayout{name: "account", kind: "text"}, columnLayout{name: "node", kind: "uuid"}
	// Frames are packed already: chunks that zstd does not make smaller are kept as they are, so that reading them costs nothing.
	packed := zstd(1, 16)
	packed["min_compress_ratio"] = "1.1"
	return append([]tableLayout{{
		name:    cutoverTable,
		comment: "Ringwatch: which generation of tables serves the windows from a time on; ringwatch schema cutover writes it",
		// One partition, so that who reads it sees all or nothing.
		partition: []columnLayout{{name: "scope", kind: "text"}},
		cluster:   []columnLayout{{name: "at", kind: "timestamp"}},
		rest:      []columnLayout{{name: "generation", kind: "text"}, {name: "written_by", kind: "text"}, {name: "written_at", kind: "timestamp"}},
		gcGrace:   10 * 24 * time.Hour, compression: lz4,
	}, {
		name:      freshTable,
		comment:   "Ringwatch: frames as they came, until their window is closed",
		partition: []columnLayout{account, node, {name: "window", kind: "timestamp"}},
		// Newest first: the present state is the first row and its key frame's.
		cluster: []columnLayout{{name: "at", kind: "timestamp", descending: true}},
		rest:    []columnLayout{{name: "frame", kind: "blob"}, {name: "key_at", kind: "timestamp"}, {name: "received", kind: "timestamp"}},
		ttl:     c.FreshTTL, unit: time.Minute, gcGrace: 10 * time.Minute, compression: packed,
	}, c.lateLayout(), {
		name:      seriesTable,
		comment:   "Ringwatch: dictionaries by content; closed windows refer to them",
		partition: []columnLayout{account, node},
		cluster:   []columnLayout{{name: "day", kind: "timestamp"}, {name: "entity_type", kind: "text"}, {name: "hash", kind: "blob"}},
		rest:      []columnLayout{{name: "blob", kind: "blob"}},
		ttl:       c.RawTTL + 24*time.Hour, unit: time.Hour, gcGrace: 3 * time.Hour, compression: zstd(3, 16),
	}, writtenLayout(), dueLayout(), {
		name:      nodesTable,
		comment:   "Ringwatch: the newest key frame of each node",
		partition: []columnLayout{account},
		cluster:   []columnLayout{{name: "cluster", kind: "text"}, node},
		rest: []columnLayout{{name: "datacenter", kind: "text"}, {name: "rack", kind: "text"}, {name: "facts", kind: "frozen<map<text, text>>"},
			{name: "interval_ms", kind: "bigint"}, {name: "last_key", kind: "timestamp"}},
		ttl: c.RawTTL, gcGrace: 3 * time.Hour, compression: lz4,
	}, c.progressLayout(), keysLayout(), keyNodesLayout()}, c.rollupLayouts()...)
}

// compactionWindows is how many time windows of compaction a TTL is cut into: 20 to 30 keep both the number of SSTables that a read may meet and what expires
// at once small.
const compactionWindows = 24

func (t *tableLayout) compaction() map[string]string {
	if t.unit == 0 {
		return map[string]string{"class": "SizeTieredCompactionStrategy"}
	}
	size, name := max(1, int((t.ttl+compactionWindows*t.unit-1)/(compactionWindows*t.unit))), "HOURS"
	switch {
	case t.unit == time.Minute:
		name = "MINUTES"
	case size > 48:
		size, name = (size+23)/24, "DAYS"
	}
	return map[string]string{"class": "TimeWindowCompactionStrategy", "compaction_window_unit": name, "compaction_window_size": strconv.Itoa(size)}
}

// option is one setting of a table, as a statement has it.
type option struct{ name, value string }

// options are the table's settings. Read repair and speculative reads would cost every read for what quorum and the next write bring anyway.
func (t *tableLayout) options() []option {
	list := []option{
		{"default_time_to_live", strconv.FormatInt(seconds(t.ttl), 10)},
		{"gc_grace_seconds", strconv.FormatInt(seconds(t.gcGrace), 10)},
		{"compression", mapLiteral(t.compression)},
		{"compaction", mapLiteral(t.compaction())},
		{"comment", "'" + strings.ReplaceAll(t.comment, "'", "''") + "'"},
	}
	if t.unit > 0 {
		list = append(list, option{"read_repair", "'NONE'"}, option{"speculative_retry", "'NONE'"})
	}
	return list
}

func mapLiteral(m map[string]string) string {
	var b strings.Builder
	for i, k := range slices.Sorted(maps.Keys(m)) {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "'%s': '%s'", k, m[k])
	}
	return "{" + b.String() + "}"
}

func seconds(d time.Duration) int64 { return int64(d / time.Second) }

func (t *tableLayout) create(keyspace string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "CREATE TABLE IF NOT EXISTS %s.%s (", keyspace, t.name)
	for _, c := range slices.Concat(t.partition, t.cluster, t.rest) {
		fmt.Fprintf(&b, "%s %s, ", c.name, c.kind)
	}
	names := func(list []columnLayout) string {
		var s []string
		for _, c := range list {
			s = append(s, c.name)
		}
		return strings.Join(s, ", ")
	}
	fmt.Fprintf(&b, "PRIMARY KEY ((%s)", names(t.partition))
	if len(t.cluster) > 0 {
		b.WriteString(", " + names(t.cluster))
	}
	b.WriteString("))")
	with := " WITH "
	for _, o := range t.options() {
		b.WriteString(with + o.name + " = " + o.value)
		with = " AND "
	}
	var order []string
	for _, c := range t.cluster {
		direction := "ASC"
		if c.descending {
			direction = "DESC"
		}
		order = append(order, c.name+" "+direction)
	}
	if len(order) > 0 {
		b.WriteString(with + "CLUSTERING ORDER BY (" + strings.Join(order, ", ") + ")")
	}
	return b.String()
}
