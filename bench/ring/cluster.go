package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"time"

	gocql "github.com/apache/cassandra-gocql-driver/v2"
	"golang.org/x/sync/errgroup"

	"github.com/ringwatch/ringwatch/bench"
	"github.com/ringwatch/ringwatch/bench/line"
	"github.com/ringwatch/ringwatch/bench/node"
	"github.com/ringwatch/ringwatch/dev/engines"
)

// cluster is some nodes and what asks them.
type cluster struct {
	nodes []*engines.Cassandra
	dir   string // removed in the end
}

// startCluster starts the nodes one after another, as Cassandra wants it.
func startCluster(ctx context.Context, o options, nodes int) (_ *cluster, err error) {
	c := &cluster{}
	if c.dir, err = os.MkdirTemp("", "ringwatch-ring-"); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			c.stop()
		}
	}()
	native, err := engines.FreePort("127.0.0.1")
	if err != nil {
		return nil, err
	}
	storage, err := engines.FreePort("127.0.0.1")
	if err != nil {
		return nil, err
	}
	for i := range nodes {
		host := fmt.Sprintf("127.0.0.%d", i+1)
		config := engines.CassandraConfig{
			Dir: filepath.Join(c.dir, host), ClusterName: "bench", Heap: o.heap,
			ListenAddress: host, NativePort: native, StoragePort: storage,
			Rack:     fmt.Sprint("rack", i+1),
			Seeds:    []string{net.JoinHostPort("127.0.0.1", strconv.Itoa(storage))},
			Progress: bench.Say,
			// there is nothing to bring along, and compaction is not what is timed
			Extra: map[string]any{"auto_bootstrap": false, "compaction_throughput": "0MiB/s"},
			// the first is how long a seed may take to answer, too
			JVMArgs: []string{"-Dcassandra.ring_delay_ms=8000",
				"-Dcassandra.skip_wait_for_gossip_to_settle=0"},
		}
		n, err := engines.StartCassandra(ctx, config)
		if err != nil {
			return nil, err
		}
		c.nodes = append(c.nodes, n)
		bench.Progress("node %d of %d answers", i+1, nodes)
	}
	session, err := c.session(gocql.RoundRobinHostPolicy())
	if err != nil {
		return nil, err
	}
	defer session.Close()
	wait, cancel := context.WithTimeout(ctx, engines.StartTimeout)
	defer cancel()
	return c, line.Until(wait, "the nodes to see each other", func(ctx context.Context) error {
		for range nodes { // each is asked in turn
			var peers int
			if err := session.Query("SELECT count(*) FROM system.peers_v2").ScanContext(ctx,
				&peers); err != nil {
				return err
			}
			if peers != nodes-1 {
				return fmt.Errorf("one sees %d others", peers)
			}
		}
		return nil
	})
}

func (c *cluster) stop() {
	for _, n := range c.nodes {
		n.Resume()
		n.Kill()
	}
	os.RemoveAll(c.dir)
}

// session is a client as its documentation has it, with a choice of who is asked.
func (c *cluster) session(policy gocql.HostSelectionPolicy) (*gocql.Session, error) {
	config := gocql.NewCluster("127.0.0.1")
	config.Port = c.nodes[0].NativePort
	config.PoolConfig.HostSelectionPolicy = policy
	config.Consistency = gocql.LocalOne
	config.Timeout, config.ConnectTimeout, config.WriteTimeout = lookupTimeout, 10*time.Second,
		10*time.Second
	config.ReconnectInterval = time.Second // a paused node is to be used again soon
	return config.CreateSession()
}

// cpu is what the client and all nodes have used.
func (c *cluster) cpu() (client, servers time.Duration, err error) {
	var pids []int
	for _, n := range c.nodes {
		pids = append(pids, n.Pid())
	}
	if client, err = node.CPU(os.Getpid()); err == nil {
		servers, err = node.CPU(pids...)
	}
	return client, servers, err
}

// item is what is looked up.
type item struct {
	name, description string
	price             int64
	stock             int32
}

func itemID(i int) string { return fmt.Sprintf("item-%08d", i) }

const keyspace = "bench"

// fill creates a keyspace with the items, on three replicas, and writes them to disk as one
// SSTable a node, as a table that has been there for a while.
func (c *cluster) fill(ctx context.Context, o options) error {
	session, err := c.session(gocql.TokenAwareHostPolicy(gocql.RoundRobinHostPolicy()))
	if err != nil {
		return err
	}
	defer session.Close()
	if err := session.Query("CREATE KEYSPACE " + keyspace +
		" WITH replication = {'class': 'NetworkTopologyStrategy', 'dc1': 3}").
		ExecContext(ctx); err != nil {
		return err
	}
	text := "CREATE TABLE " + keyspace + ".items (id text PRIMARY KEY, name text, price bigint, " +
		"stock int, description text)"
	if err := session.Query(text).ExecContext(ctx); err != nil {
		return err
	}
	if err := insert(ctx, session, o); err != nil {
		return fmt.Errorf("filling %s: %w", keyspace, err)
	}
	for _, n := range c.nodes {
		for _, what := range []string{"flush", "compact"} {
			if err := node.Tool(ctx, n, what, keyspace); err != nil {
				return err
			}
		}
	}
	bench.Progress("%d items on three replicas", o.items)
	return nil
}

// insert writes the items to all replicas.
func insert(ctx context.Context, session *gocql.Session, o options) error {
	var next atomic.Int64
	g, ctx := errgroup.WithContext(ctx)
	for w := range 48 {
		r := rand.New(rand.NewPCG(o.seed, uint64(w)))
		description := make([]byte, o.itemBytes)
		g.Go(func() error {
			for {
				i := int(next.Add(1)) - 1
				if i >= o.items {
					return nil
				}
				for k := range description { // as hard to compress as text is
					description[k] = " etaoinshrdlucmfw"[r.IntN(17)]
				}
				id := itemID(i)
				var err error
				for range 10 { // a node that was stopped by the machine for a moment
					if err = session.Query("INSERT INTO "+keyspace+
						".items (id, name, price, stock, description) VALUES (?, ?, ?, ?, ?)", id,
						"name of "+id, int64(i), int32(i%100), string(description)).
						Consistency(gocql.All).ExecContext(ctx); err == nil || ctx.Err() != nil {
						break
					}
				}
				if err != nil {
					return err
				}
			}
		})
	}
	return g.Wait()
}
