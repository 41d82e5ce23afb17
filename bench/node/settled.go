package node

import (
	"context"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/ringwatch/ringwatch/bench/line"
	"github.com/ringwatch/ringwatch/dev/engines"
)

// Settled waits until compactions have ended and what they replaced is off the disk, which is
// after nodetool returns: their logs are there until then.
func Settled(ctx context.Context, c *engines.Cassandra, keyspace string) error {
	root, err := Keyspace(c.Dir, keyspace)
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

// Keyspace returns the folder of a keyspace's tables below a Cassandra's folder.
func Keyspace(dir, keyspace string) (found string, err error) {
	err = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.IsDir() && e.Name() == keyspace &&
			filepath.Base(filepath.Dir(path)) == "data" {
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
