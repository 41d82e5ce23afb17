package main

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strconv"
	"time"

	gocql "github.com/apache/cassandra-gocql-driver/v2"
	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"github.com/ringwatch/ringwatch/bench"
	"github.com/ringwatch/ringwatch/dev/engines"
	"github.com/ringwatch/ringwatch/memory"
	"github.com/ringwatch/ringwatch/query/index"
	"github.com/ringwatch/ringwatch/store"
)

// fromCassandra writes nodes' dictionaries to a real Cassandra as the store does, and loads them
// as the API does.
func fromCassandra(r *bench.Result, f *fleet, nodes int) error {
	dir, err := os.MkdirTemp("", "ringwatch-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Minute)
	defer cancel()
	cassandra, err := engines.StartCassandra(ctx, engines.CassandraConfig{Dir: dir, Heap: "512M"})
	if err != nil {
		return err
	}
	defer cassandra.Stop(context.WithoutCancel(ctx))
	c := store.DefaultConfig()
	c.Hosts, c.Timeout, c.Log = []string{cassandra.Addr()}, time.Minute,
		slog.New(slog.DiscardHandler)
	db, err := store.New(c, nil)
	if err != nil {
		return err
	}
	if err := db.Connect(ctx); err != nil {
		return err
	}
	defer db.Close()
	if err := db.Apply(ctx); err != nil {
		return err
	}
	bytes, err := fill(ctx, cassandra.Addr(), c.Keyspace, f, nodes)
	if err != nil {
		return err
	}
	config := index.DefaultConfig()
	config.Keep, config.Accounts, config.Log = c.RawTTL, func() []string {
		return []string{"acme"}
	}, c.Log
	reader := db.Reader(store.Dashboard("acme"), memory.Unbounded())
	source := index.Source{
		Nodes: func(ctx context.Context, account string) ([]uuid.UUID, error) {
			list := make([]uuid.UUID, nodes)
			for n := range list {
				list[n] = nodeID(n)
			}
			return list, nil
		},
		Dictionaries: reader.DictionariesOf, Written: reader.DictionariesWritten,
		WrittenFor: store.WrittenFor, Read: reader.ReadDictionaries,
	}
	idx := index.New(0)
	loader, err := index.NewLoader(config, source, idx, nil)
	if err != nil {
		return err
	}
	began, cpu := time.Now(), bench.CPU()
	if err := loader.Refresh(ctx); err != nil {
		return err
	}
	took := time.Since(began).Seconds()
	s := idx.Stats()
	fmt.Printf("from Cassandra: %d nodes, %d series, %.0f MB of dictionaries in %.1f s\n", s.Nodes,
		s.Series, float64(bytes)/1e6, took)
	if s.Nodes != nodes || s.Missing > 0 {
		return fmt.Errorf("%d of %d nodes were loaded, %d dictionaries are missing", s.Nodes, nodes,
			s.Missing)
	}
	r.Add("cassandra_nodes", nodes)
	r.Add("cassandra_load_s", took)
	r.Add("cassandra_load_nodes_per_s", float64(nodes)/took)
	r.Add("cassandra_load_cpu_ms_per_node", (bench.CPU()-cpu).Seconds()*1e3/float64(nodes))
	var idle []float64
	for range 20 {
		began := time.Now()
		if err := loader.Refresh(ctx); err != nil {
			return err
		}
		idle = append(idle, time.Since(began).Seconds()*1e3)
	}
	r.Add("cassandra_refresh_ms", bench.Median(idle))
	return nil
}

func fill(ctx context.Context, addr, keyspace string, f *fleet,
	nodes int) (bytes int64, err error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return 0, err
	}
	cluster := gocql.NewCluster(host)
	cluster.Port, _ = strconv.Atoi(port)
	cluster.Keyspace, cluster.Timeout, cluster.WriteTimeout = keyspace, time.Minute, time.Minute
	session, err := cluster.CreateSession()
	if err != nil {
		return 0, err
	}
	defer session.Close()
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(32)
	for n := range nodes {
		s := f.node(n)
		for _, id := range s.ids {
			bytes += int64(len(s.blobs[id.Hash]))
			g.Go(func() error {
				return session.Query("INSERT INTO series (account, node, day, entity_type, hash, "+
					"blob) VALUES ('acme', ?, ?, ?, ?, ?)",
					gocql.UUID(s.id), id.Day, id.Key, id.Hash[:],
					s.blobs[id.Hash]).ExecContext(gctx)
			})
		}
	}
	return bytes, g.Wait()
}
