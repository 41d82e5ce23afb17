package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	gocql "github.com/apache/cassandra-gocql-driver/v2"

	"github.com/ringwatch/ringwatch/bench"
	"github.com/ringwatch/ringwatch/dev/engines"
)

// heap holds a thousand tables and what a scan allocates.
const heap = "2G"

// portFile holds the port between nodes: Cassandra 6 keeps its own address in its metadata and
// waits for itself if it has another.
const portFile = "storage-port"

// prepared returns the data of a stopped node with that many keyspaces of one table, making it
// first if need be: minutes, once.
func prepared(ctx context.Context, version string, tables int) (string, error) {
	cache, err := engines.CacheDir()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cache, fmt.Sprintf("prepared-cql-%s-%d", version, tables))
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
	// What is in the commit log need not be flushed for each statement, up to 5.0.
	port, err := engines.FreePort("127.0.0.1")
	if err != nil {
		return "", err
	}
	if err := os.WriteFile(filepath.Join(fresh, portFile), []byte(strconv.Itoa(port)),
		0o600); err != nil {
		return "", err
	}
	c, err := engines.StartCassandra(ctx, engines.CassandraConfig{
		TimerSlack: engines.KernelSlack, Dir: fresh, Version: version, StoragePort: port,
		Heap: heap, Progress: bench.Say,
		JVMArgs: []string{"-Dcassandra.test.flush_local_schema_changes=false"}})
	if err != nil {
		return "", err
	}
	defer c.Kill() //nolint:errcheck // it has ended if all went well
	if err := create(ctx, c, tables); err != nil {
		return "", err
	}
	if err := c.Stop(ctx); err != nil {
		return "", err
	}
	if err := os.Rename(fresh, dir); err != nil && !errors.Is(err, os.ErrExist) {
		return "", err
	}
	return dir, nil
}

func create(ctx context.Context, c *engines.Cassandra, tables int) error {
	session, err := connect(c)
	if err != nil {
		return err
	}
	defer session.Close()
	for i, told := 0, time.Now(); i < tables; i++ {
		for _, statement := range []string{
			fmt.Sprintf("CREATE KEYSPACE IF NOT EXISTS ks%d WITH replication = {'class': "+
				"'SimpleStrategy', 'replication_factor': 1}", i),
			fmt.Sprintf("CREATE TABLE IF NOT EXISTS ks%d.t (k int PRIMARY KEY, v text)", i),
		} {
			if err := session.Query(statement).ExecContext(ctx); err != nil {
				return fmt.Errorf("%s: %w", statement, err)
			}
		}
		if time.Since(told) > 10*time.Second {
			told = time.Now()
			bench.Progress("preparing: %d of %d tables", i, tables)
		}
	}
	return nil
}

func connect(c *engines.Cassandra) (*gocql.Session, error) {
	cluster := gocql.NewCluster(c.Addr())
	cluster.Timeout, cluster.ConnectTimeout = time.Minute, time.Minute
	cluster.DisableInitialHostLookup = true
	return cluster.CreateSession()
}
