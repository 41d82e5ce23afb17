// Command layout measures where the rows of an hour are best at home: in a partition of their node
// and day, of their metric and day in a cluster, or of their metric and hour in a cluster.
//
// It knows nothing of our store: rows are synthetic, on one real Cassandra. A node's hour is a head
// row and a row for each metric, most of them small, some middle, a few large. Who reads a metric
// reads the heads first, as the store does. A cluster of -nodes has whole hours; one of -many nodes
// has fewer metrics for fewer hours, because its data would not fit a run. Each home gets the same
// rows, flushed and compacted, and answers the same questions by turns. An answer with a row too
// few or too many ends the run.
//
// What one node is asked for goes through the driver. Many partitions at once go through package
// ring, which names those of one replica in one IN. CPU is that of this process (getrusage) and of
// Cassandra (/proc/PID/stat, in steps of 10 ms, so short questions are repeated).
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"time"

	gocql "github.com/apache/cassandra-gocql-driver/v2"

	"github.com/ringwatch/ringwatch/bench"
	"github.com/ringwatch/ringwatch/bench/node"
	"github.com/ringwatch/ringwatch/dev/engines"
	"github.com/ringwatch/ringwatch/ring"
)

type options struct {
	nodes, hours, rows             int // the cluster that is whole
	many, manyHours, manyRows      int // the large one
	small, middle, large, headSize int // bytes
	rounds, chunk                  int
	homes                          []string
	heap                           string
}

func main() {
	var o options
	flag.IntVar(&o.nodes, "nodes", 30, "nodes of the cluster that has whole hours")
	flag.IntVar(&o.hours, "hours", 24, "hours of it; they begin in the middle of a day")
	flag.IntVar(&o.rows, "rows", 200,
		"rows of a node's hour beside its head: a tenth of them middle, a hundredth large, the "+
			"others small")
	flag.IntVar(&o.many, "many", 1000, "nodes of the large cluster; 0: none")
	flag.IntVar(&o.manyHours, "many-hours", 6, "hours of it")
	flag.IntVar(&o.manyRows, "many-rows", 40, "rows of a node's hour there, none of them large")
	flag.IntVar(&o.small, "small", 300, "bytes of a small row")
	flag.IntVar(&o.middle, "middle", 4<<10, "bytes of a middle row")
	flag.IntVar(&o.large, "large", 64<<10, "bytes of a large row")
	flag.IntVar(&o.headSize, "head", 1536, "bytes of a head row")
	flag.IntVar(&o.rounds, "rounds", 7, "how often each question is timed, about other nodes and "+
		"metrics each time")
	flag.IntVar(&o.chunk, "chunk", 64, "KiB that Cassandra compresses at once")
	bench.List(&o.homes, "homes", "node,metric_day,metric_hour", "what is measured")
	bench.Heap(&o.heap, "2G")
	bench.Main("bench-layout", func(ctx context.Context, r *bench.Result) error {
		return run(ctx, o, r)
	}, o.check)
}

func (o *options) check() error {
	switch {
	case o.nodes < 1 || o.hours < 1 || o.rounds < 1:
		return fmt.Errorf("-nodes, -hours and -rounds must be at least 1")
	case o.many > 0 && o.manyHours < 1:
		return fmt.Errorf("-many-hours must be at least 1")
	case o.rows < 100 || o.many > 0 && o.manyRows < 10:
		return fmt.Errorf("-rows must be at least 100 and -many-rows 10, so that there are rows " +
			"of each size")
	case min(o.small, o.middle, o.large, o.headSize) < 1:
		return fmt.Errorf("-small, -middle, -large and -head must be at least 1")
	case o.chunk < 4 || o.chunk&(o.chunk-1) != 0:
		return fmt.Errorf("-chunk must be a power of two of at least 4")
	}
	for _, name := range o.homes {
		if makers[name] == nil {
			return fmt.Errorf("-homes has %q: use node, metric_day and metric_hour, separated "+
				"by commas", name)
		}
	}
	return nil
}

const keyspace = "bench_layout"

func run(ctx context.Context, o options, r *bench.Result) error {
	dir, err := os.MkdirTemp("", "ringwatch-layout-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	cassandra, err := engines.StartCassandra(ctx,
		engines.CassandraConfig{Dir: filepath.Join(dir, "cassandra"), Heap: o.heap,
			// settling is not what is timed
			Extra:    map[string]any{"compaction_throughput": "0MiB/s"},
			Progress: bench.Say})
	if err != nil {
		return err
	}
	defer cassandra.Kill()
	d := &driver{cassandra: cassandra}
	if err := d.open(ctx); err != nil {
		return err
	}
	defer d.close()
	f := &findings{options: o, driver: d}
	for _, c := range clusters(o) {
		if err := f.cluster(ctx, c); err != nil {
			return err
		}
	}
	f.table(os.Stdout)
	f.addTo(r)
	return nil
}

// driver is how Cassandra is asked.
type driver struct {
	cassandra *engines.Cassandra
	session   *gocql.Session
	ring      *ring.Reader
}

func (d *driver) open(ctx context.Context) (err error) {
	config := gocql.NewCluster(d.cassandra.Host)
	config.Port = d.cassandra.NativePort
	config.Consistency = gocql.LocalQuorum
	config.Timeout, config.ConnectTimeout, config.WriteTimeout = time.Minute, 10*time.Second,
		time.Minute
	config.PoolConfig.HostSelectionPolicy = gocql.TokenAwareHostPolicy(gocql.RoundRobinHostPolicy())
	config.PageSize = 500 // as the store's
	if d.session, err = config.CreateSession(); err != nil {
		return err
	}
	err = d.session.Query("CREATE KEYSPACE " + keyspace +
		" WITH replication = {'class': 'NetworkTopologyStrategy', 'dc1': 1}").ExecContext(ctx)
	if err != nil {
		return err
	}
	c := ring.DefaultConfig()
	c.Datacenter, c.Consistency, c.Speculation, c.Timeout = "dc1", "LOCAL_QUORUM", "never",
		time.Minute
	d.ring, err = ring.Connect(ctx, d.session, c, nil, nil)
	return err
}

func (d *driver) close() {
	if d.ring != nil {
		d.ring.Close()
	}
	d.session.Close()
}

// settle flushes and compacts.
func (d *driver) settle(ctx context.Context, compact bool) error {
	if err := node.Tool(ctx, d.cassandra, "flush", keyspace); err != nil {
		return err
	}
	if compact {
		if err := node.Tool(ctx, d.cassandra, "compact", keyspace); err != nil {
			return err
		}
	}
	return node.Settled(ctx, d.cassandra, keyspace)
}

// cpu is what this process and Cassandra have used.
func (d *driver) cpu() (own, engine time.Duration, err error) {
	theirs, err := node.UsageOf(d.cassandra.Pid(), "")
	return bench.CPU(), theirs.CPU, err
}

func millis(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
