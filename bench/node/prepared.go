// Package node runs one Cassandra with many tables and one exporter, or none, in it, and reads
// what it costs the process. bench/agent and bench/load share it.
//
// Making a thousand tables takes minutes, so a prepared data directory is kept in the engines'
// cache and copied for every run.
package node

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	gocql "github.com/apache/cassandra-gocql-driver/v2"

	"github.com/ringwatch/ringwatch/bench"
	"github.com/ringwatch/ringwatch/dev/engines"
)

// PerKeyspace is how many tables share a keyspace.
const PerKeyspace = 10

// rows are written to each table and flushed: an operator's idle table has data, and gauges of
// SSTables something to say.
const rows = 20

// layout is raised when what is prepared changes.
const layout = 2

const clusterName = "prepared"

// A thousand written tables hold a thousand slabs of a megabyte, two of G1's regions each: more
// than the heap. Without slabs they fit.
var settings = map[string]any{"memtable_allocation_type": "unslabbed_heap_buffers"}

// Table returns the name of table i with its keyspace.
func Table(i int) string { return fmt.Sprintf("ks%d.t%d", i/PerKeyspace, i) }

// Prepared returns the cached data directory of a stopped node with that many tables, each with
// an SSTable of a few rows, making it first if need be.
func Prepared(ctx context.Context, tables int, progress func(string)) (string, error) {
	cache, err := engines.CacheDir()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cache, fmt.Sprintf("prepared-%s-%d-tables-%d", engines.CassandraVersion,
		tables, layout))
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return "", err
	}
	fresh, err := os.MkdirTemp(cache, "preparing-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(fresh)
	if err := prepare(ctx, fresh, tables, progress); err != nil {
		words, _ := engines.LastWords(filepath.Join(fresh, "cassandra.log"))
		return "", fmt.Errorf("preparing a node with %d tables: %w; its log ends with %q", tables,
			err, words)
	}
	// another process was as fast
	if err := os.Rename(fresh, dir); err != nil && !errors.Is(err, os.ErrExist) {
		return "", err
	}
	return dir, nil
}

func prepare(ctx context.Context, dir string, tables int, progress func(string)) error {
	// The schema is in the commit log as well: without a flush for each statement, tables come
	// ten times faster.
	c, err := engines.StartCassandra(ctx, engines.CassandraConfig{
		TimerSlack: engines.KernelSlack, Dir: dir, Heap: "2G", ClusterName: clusterName,
		Extra: settings, Progress: progress,
		JVMArgs: []string{"-Dcassandra.test.flush_local_schema_changes=false"}})
	if err != nil {
		return err
	}
	defer c.Kill()
	session, err := Session(c)
	if err != nil {
		return err
	}
	defer session.Close()
	if err := CreateTables(ctx, session, tables, progress); err != nil {
		return err
	}
	if err := WriteAll(ctx, session, tables, rows); err != nil {
		return err
	}
	session.Close()
	// Stopping drains, too, but a busy machine takes longer over a thousand tables than a process
	// is given to stop: then the schema itself would be lost.
	if err := Tool(ctx, c, "drain"); err != nil {
		return err
	}
	return c.Stop(ctx)
}

// CreateTables creates the tables that Table names, in keyspaces of one replica.
func CreateTables(ctx context.Context, session *gocql.Session, tables int,
	progress func(string)) error {
	for i, told := 0, time.Now(); i < tables; i++ {
		if i%PerKeyspace == 0 {
			stmt := fmt.Sprintf("CREATE KEYSPACE IF NOT EXISTS ks%d WITH replication = "+
				"{'class':'SimpleStrategy','replication_factor':1}", i/PerKeyspace)
			if err := session.Query(stmt).ExecContext(ctx); err != nil {
				return err
			}
		}
		stmt := fmt.Sprintf("CREATE TABLE IF NOT EXISTS %s (k int, c int, v text, PRIMARY KEY "+
			"(k, c))", Table(i))
		if err := session.Query(stmt).ExecContext(ctx); err != nil {
			return err
		}
		if time.Since(told) > 5*time.Second {
			told = time.Now()
			progress(fmt.Sprintf("creating tables: %d of %d", i, tables))
		}
	}
	return nil
}

// WriteAll writes n rows to each table.
func WriteAll(ctx context.Context, session *gocql.Session, tables, n int) error {
	return bench.AtOnce(ctx, tables, 8, func(ctx context.Context, i int) error {
		for k := range n {
			if err := session.Query("INSERT INTO "+Table(i)+" (k, c, v) VALUES (?, ?, ?)", k, i,
				"a value of some length").ExecContext(ctx); err != nil {
				return err
			}
		}
		return nil
	})
}

// Session connects to a node; statements have a minute, since a crowded machine may be ten times
// slower.
func Session(c *engines.Cassandra) (*gocql.Session, error) {
	cluster := gocql.NewCluster(c.Addr())
	cluster.Timeout, cluster.ConnectTimeout = time.Minute, time.Minute
	cluster.Consistency = gocql.One
	cluster.NumConns = 4
	cluster.MaxPreparedStmts = 4096
	cluster.DisableInitialHostLookup = true
	cluster.ReconnectInterval = time.Second
	return cluster.CreateSession()
}
