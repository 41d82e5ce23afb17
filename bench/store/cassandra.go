package main

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/ringwatch/ringwatch/bench/line"
	"github.com/ringwatch/ringwatch/engines"
)

// format is one of Cassandra 5's two kinds of SSTable: big has an index entry per partition, bti a trie of hashed keys' prefixes.
type format string

const (
	big format = "big"
	bti format = "bti"
)

// startCassandra starts the bench's node; the directory keeps its data between both formats.
func startCassandra(ctx context.Context, dir string, f format, progress func(string, ...any)) (*engines.Cassandra, error) {
	return engines.StartCassandra(ctx, engines.CassandraConfig{Dir: filepath.Join(dir, "cassandra"), Heap: "1G", ClusterName: "bench",
		Extra: map[string]any{
			"sstable": map[string]any{"selected_format": string(f)}, "storage_compatibility_mode": "NONE",
			"compaction_throughput": "0MiB/s", // settling is not what is timed
		},
		Progress: func(s string) { progress("%s", s) }})
}

// settled waits until compactions have ended and what they replaced is off the disk, which is after nodetool returns: their logs are there until then.
func settled(ctx context.Context, c *engines.Cassandra, keyspace string) error {
	root, err := findKeyspace(c.Dir, keyspace)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Minute)
	defer cancel()
	quiet := 0
	return line.Until(ctx, "Cassandra to compact", func(context.Context) error {
		logs, err := filepath.Glob(filepath.Join(root, "*", "*_txn_*.log"))
		if err != nil {
			return err
		}
		if quiet++; len(logs) > 0 {
			quiet = 0
			return fmt.Errorf("%s is there", logs[0])
		}
		if quiet < 100 { // a compaction that begins a moment later
			return fmt.Errorf("it may still begin to compact")
		}
		return nil
	})
}

// tableBytes sums up the SSTables of a keyspace's tables that want picks: data, and everything else (index, filter, summary, statistics).
func tableBytes(c *engines.Cassandra, keyspace string, want func(table string) bool) (data, index int64, err error) {
	root, err := findKeyspace(c.Dir, keyspace)
	if err != nil {
		return 0, 0, err
	}
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
		if !want(table) {
			return nil
		}
		i, err := e.Info()
		if err != nil {
			return nil
		}
		if strings.HasSuffix(path, "-Data.db") {
			data += i.Size()
		} else {
			index += i.Size()
		}
		return nil
	})
	return data, index, err
}

func findKeyspace(dir, keyspace string) (found string, err error) {
	err = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.IsDir() && e.Name() == keyspace && filepath.Base(filepath.Dir(path)) == "data" {
			found = path
			return filepath.SkipAll
		}
		return nil
	})
	if err == nil && found == "" {
		err = fmt.Errorf("found no data of keyspace %s below %s", keyspace, dir)
	}
	return found, err
}
