package node

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/ringwatch/ringwatch/dev/engines"
)

// Config says what to run.
type Config struct {
	Tables   int
	Dir      string // is made anew
	Heap     string // "2G" by default
	Side     Side
	Progress func(string)
}

// Node is a running Cassandra with an exporter in it, or none.
type Node struct {
	*engines.Cassandra
	Side  Side
	GCLog string
}

// Start copies the prepared data and starts a node on it.
func Start(ctx context.Context, c Config) (*Node, error) {
	from, err := Prepared(ctx, c.Tables, c.Progress)
	if err != nil {
		return nil, err
	}
	dir, err := filepath.Abs(c.Dir)
	if err != nil {
		return nil, err
	}
	if err := os.RemoveAll(dir); err != nil {
		return nil, err
	}
	if err := os.CopyFS(dir, os.DirFS(from)); err != nil {
		return nil, fmt.Errorf("cannot copy the prepared node: %w", err)
	}
	if c.Heap == "" {
		c.Heap = "2G"
	}
	n := &Node{Side: c.Side, GCLog: filepath.Join(dir, "gc.log")}
	args := append([]string{"-Xlog:gc:file=" + n.GCLog + ":uptime"}, c.Side.Args...)
	n.Cassandra, err = engines.StartCassandra(ctx, engines.CassandraConfig{
		TimerSlack: engines.KernelSlack, Dir: dir, Heap: c.Heap, ClusterName: clusterName,
		JVMArgs: args, Extra: settings, Progress: c.Progress})
	return n, err
}
