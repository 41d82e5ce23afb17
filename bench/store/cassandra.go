package main

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/ringwatch/ringwatch/bench"
	"github.com/ringwatch/ringwatch/bench/node"
	"github.com/ringwatch/ringwatch/dev/engines"
)

// format is one of Cassandra 5's two kinds of SSTable: big has an index entry per partition, bti a
// trie of hashed keys' prefixes.
type format string

const (
	big format = "big"
	bti format = "bti"
)

// startCassandra starts the bench's node; the directory keeps its data between both formats.
func startCassandra(ctx context.Context, dir string, f format) (*engines.Cassandra, error) {
	return engines.StartCassandra(ctx, engines.CassandraConfig{Dir: filepath.Join(dir, "cassandra"),
		Heap: "1G", ClusterName: "bench",
		Extra: map[string]any{
			"sstable":                    map[string]any{"selected_format": string(f)},
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
	tables := map[string]size{}
	err = filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			if os.IsNotExist(err) { // compacted away meanwhile
				return nil
			}
			return err
		}
		rel, _ := filepath.Rel(root, path)
		table, _, _ := strings.Cut(strings.Split(rel, string(filepath.Separator))[0], "-")
		if e.IsDir() {
			if e.Name() == "snapshots" || e.Name() == "backups" {
				return filepath.SkipDir
			}
			return nil
		}
		i, err := e.Info()
		if err != nil {
			return nil
		}
		s := tables[table]
		if strings.HasSuffix(path, "-Data.db") {
			s.data += i.Size()
		} else {
			s.index += i.Size()
		}
		tables[table] = s
		return nil
	})
	return tables, err
}
