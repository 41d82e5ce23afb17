package cassandra

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ringwatch/ringwatch/store/rows"
)

// compaction cuts a TTL into time windows: 20 to 30 keep both the number of SSTables that a read
// may meet and what expires at once small.
func compaction(t *rows.Table) map[string]string {
	if t.AgeUnit == 0 {
		return map[string]string{"class": "SizeTieredCompactionStrategy"}
	}
	size, name := max(1, int((t.TTL+rows.AgeParts*t.AgeUnit-1)/(rows.AgeParts*t.AgeUnit))), "HOURS"
	switch {
	case t.AgeUnit == time.Minute:
		name = "MINUTES"
	case size > 48:
		size, name = (size+23)/24, "DAYS"
	}
	return map[string]string{"class": "TimeWindowCompactionStrategy",
		"compaction_window_unit": name, "compaction_window_size": strconv.Itoa(size)}
}

func compression(c rows.Compression) map[string]string {
	m := map[string]string{"class": "LZ4Compressor", "chunk_length_in_kb": strconv.Itoa(c.BlockKB)}
	if c.Level > 0 {
		m["class"], m["compression_level"] = "ZstdCompressor", strconv.Itoa(c.Level)
	}
	if c.Packed {
		m["min_compress_ratio"] = "1.1"
	}
	return m
}

// option is one setting of a table, as a statement has it.
type option struct{ name, value string }

// options are the table's settings. Read repair and speculative reads would cost every read for
// what quorum and the next write bring anyway.
func options(t *rows.Table) []option {
	list := []option{
		{"default_time_to_live", strconv.FormatInt(seconds(t.TTL), 10)},
		{"gc_grace_seconds", strconv.FormatInt(seconds(t.Grace), 10)},
		{"compression", mapLiteral(compression(t.Compression))},
		{"compaction", mapLiteral(compaction(t))},
		{"comment", "'" + strings.ReplaceAll(t.Comment, "'", "''") + "'"},
	}
	if t.AgeUnit > 0 {
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

// create returns the statement that creates a table of a full name.
func create(name string, t *rows.Table) string {
	var b strings.Builder
	fmt.Fprintf(&b, "CREATE TABLE IF NOT EXISTS %s (", name)
	for _, c := range slices.Concat(t.Partition, t.Clustering, t.Values) {
		fmt.Fprintf(&b, "%s %s, ", c.Name, kinds[c.Kind])
	}
	names := func(list []rows.Column) string {
		var s []string
		for _, c := range list {
			s = append(s, c.Name)
		}
		return strings.Join(s, ", ")
	}
	fmt.Fprintf(&b, "PRIMARY KEY ((%s)", names(t.Partition))
	if len(t.Clustering) > 0 {
		b.WriteString(", " + names(t.Clustering))
	}
	b.WriteString("))")
	with := " WITH "
	for _, o := range options(t) {
		b.WriteString(with + o.name + " = " + o.value)
		with = " AND "
	}
	var order []string
	for _, c := range t.Clustering {
		direction := "ASC"
		if c.Descending {
			direction = "DESC"
		}
		order = append(order, c.Name+" "+direction)
	}
	if len(order) > 0 {
		b.WriteString(with + "CLUSTERING ORDER BY (" + strings.Join(order, ", ") + ")")
	}
	return b.String()
}
