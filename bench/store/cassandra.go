package main

import (
	"context"
	"path/filepath"
	"strings"

	"github.com/ringwatch/ringwatch/bench"
	"github.com/ringwatch/ringwatch/bench/node"
	"github.com/ringwatch/ringwatch/dev/engines"
)

// startCassandra starts the bench's node, with SSTables that have an index entry per partition.
func startCassandra(ctx context.Context, dir string) (*engines.Cassandra, error) {
	return engines.StartCassandra(ctx, engines.CassandraConfig{Dir: filepath.Join(dir, "cassandra"),
		Heap: "1G", ClusterName: "bench",
		Extra: map[string]any{
			"sstable":                    map[string]any{"selected_format": "big"},
			"storage_compatibility_mode": "NONE",
			"compaction_throughput":      "0MiB/s", // settling is not what is timed
		},
		Progress: bench.Say})
}

// size is what a table's SSTables take: data, and everything else (index, filter, summary,
// statistics).
type size struct{ data, index int64 }

// tableBytes sums up the SSTables of a keyspace, by table.
func tableBytes(c *engines.Cassandra, keyspace string) (map[string]size, error) {
	root, err := node.Keyspace(c.Dir, keyspace)
	if err != nil {
		return nil, err
	}
	files, err := filepath.Glob(filepath.Join(root, "*", "*.*"))
	tables := map[string]size{}
	for _, file := range files {
		table, _, _ := strings.Cut(filepath.Base(filepath.Dir(file)), "-")
		n, err := bench.Bytes(file)
		if err != nil {
			return nil, err
		}
		s := tables[table]
		if strings.HasSuffix(file, "-Data.db") {
			s.data += n
		} else {
			s.index += n
		}
		tables[table] = s
	}
	return tables, err
}
