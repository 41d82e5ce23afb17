package ring

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	gocql "github.com/apache/cassandra-gocql-driver/v2"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/ringwatch/ringwatch/dev/engines"
	"github.com/ringwatch/ringwatch/dev/eventually"
)

// The package's tests share a cluster of three nodes on two racks. A test that pauses or kills
// one brings it back before it ends, and none runs beside another.
func TestMain(m *testing.M) {
	code := m.Run()
	for _, n := range shared.nodes {
		_ = n.Kill() // the kernel does it anyway in a moment
	}
	if shared.dir != "" {
		_ = os.RemoveAll(shared.dir)
	}
	os.Exit(code)
}

// trio is the shared cluster.
type trio struct {
	once    sync.Once
	dir     string
	nodes   []*engines.Cassandra
	session *gocql.Session // through all nodes, for making and filling tables
	err     error
}

var shared trio

func mustTrio(tb testing.TB) *trio {
	tb.Helper()
	engines.Needed(tb, "three Cassandras")
	shared.once.Do(func() { shared.err = shared.start() })
	if shared.err != nil {
		tb.Fatal(shared.err)
	}
	return &shared
}

func (c *trio) start() error {
	var err error
	if c.dir, err = os.MkdirTemp("", "ringwatch-test-"); err != nil {
		return err
	}
	for i := range 3 {
		n, err := c.startNode(i+1, nil)
		if err != nil {
			return err
		}
		c.nodes = append(c.nodes, n)
	}
	// A driver that begins before the nodes know each other would hear of the others late.
	for _, n := range c.nodes {
		if err := c.sees(n, 2); err != nil {
			return err
		}
	}
	cluster := c.cluster()
	cluster.Timeout, cluster.ConnectTimeout, cluster.WriteTimeout = 2*engines.Patience,
		2*engines.Patience, 2*engines.Patience
	c.session, err = cluster.CreateSession()
	return err
}

// owners are the nodes of the ring's ranges, which are of one size, in order. Of SimpleStrategy's
// two copies each pair of nodes has some, in both orders: for every node there are keys that it
// has first, has second, and does not have. Some ranges have a neighbour of the same node. Tokens
// that Cassandra draws promise none of this: with four a node, all keys may have a copy on one.
var owners = [...]int{1, 1, 2, 3, 1, 3, 2, 2, 1, 2, 3, 3}

// tokensOf are the tokens of node number i, for initial_token: the ends of its ranges. Node 4,
// which may be moved, gets half of a range, and node 5 halves of four.
func tokensOf(i int) string {
	const half = math.MaxUint64 / uint64(2*len(owners))
	var tokens []string
	end := func(halves int) {
		tokens = append(tokens, strconv.FormatInt(math.MinInt64+int64(uint64(halves)*half), 10))
	}
	for at, owner := range owners {
		if owner == i || i == 4 && at == 10 || i == 5 && at < 4 {
			end(2*at + 1 + boolInt(owner == i))
		}
	}
	return strings.Join(tokens, ",")
}

// startNode starts node number i on 127.0.0.i, with the first one's ports.
func (c *trio) startNode(i int, change func(*engines.CassandraConfig)) (*engines.Cassandra, error) {
	config := engines.CassandraConfig{
		Dir: filepath.Join(c.dir, strconv.Itoa(i)), ListenAddress: fmt.Sprintf("127.0.0.%d", i),
		Heap: "400M", Rack: []string{"rack2", "rack1"}[i%2],
		Extra: map[string]any{
			"initial_token": tokensOf(i), "auto_bootstrap": false,
			"write_request_timeout": "1m", // tests of reads fill their tables on a busy machine
			"read_request_timeout":  "2s", "range_request_timeout": "5s",
			"tombstone_failure_threshold": 200, "tombstone_warn_threshold": 100,
			"native_transport_max_concurrent_connections_per_ip": -1,
		},
		JVMArgs: []string{"-Dcassandra.consistent.rangemovement=false",
			"-Dcassandra.migration_delay_ms=1000", "-Dcassandra.schema_pull_interval_ms=1000"},
	}
	if i > 3 { // it comes and goes, and sleeps for this long each time
		config.JVMArgs = append(config.JVMArgs, "-Dcassandra.ring_delay_ms=2000",
			engines.LeaveSoon)
	}
	if len(c.nodes) > 0 {
		config.StoragePort, config.NativePort = c.nodes[0].StoragePort, c.nodes[0].NativePort
		config.Seeds = []string{net.JoinHostPort("127.0.0.1", strconv.Itoa(config.StoragePort))}
	}
	if change != nil {
		change(&config)
	}
	for tries := 1; ; tries++ {
		n, err := engines.StartCassandra(context.Background(), config)
		// they had no more than ring_delay_ms to answer
		if err == nil || tries == 5 ||
			!strings.Contains(err.Error(), "Unable to gossip with any peers") {
			return n, err
		}
	}
}

// only is a session with one node.
func (c *trio) only(n *engines.Cassandra) (*gocql.Session, error) {
	cluster := gocql.NewCluster(n.Host)
	cluster.Port, cluster.HostFilter = n.NativePort, gocql.WhiteListHostFilter(n.Host)
	cluster.Timeout, cluster.ConnectTimeout = engines.Patience, engines.Patience
	return cluster.CreateSession()
}

// knows waits until a node knows a keyspace's table t.
func (c *trio) knows(t *testing.T, n *engines.Cassandra, ks string) {
	t.Helper()
	session, err := c.only(n)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	eventually.Nil(t, n.Host+" to know "+ks, func() error {
		var name string
		return session.Query("SELECT table_name FROM system_schema.tables WHERE keyspace_name = "+
			"? AND table_name = 't'", ks).Scan(&name)
	})
}

// sees waits until a node knows so many others.
func (c *trio) sees(n *engines.Cassandra, others int) error {
	ctx, cancel := context.WithTimeout(context.Background(), 2*engines.Patience)
	defer cancel()
	session, err := c.only(n)
	if err != nil {
		return err
	}
	defer session.Close()
	for {
		count := 0
		iter := session.Query("SELECT tokens FROM system.peers").IterContext(ctx)
		for tokens := []string(nil); iter.Scan(&tokens); {
			if len(tokens) > 0 {
				count++
			}
		}
		if err := iter.Close(); err != nil {
			return fmt.Errorf("waiting for %s to see %d others: %w", n.Host, others, err)
		}
		if count == others {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s sees %d nodes instead of %d", n.Host, count, others)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// cluster is how tests connect.
func (c *trio) cluster() *gocql.ClusterConfig {
	cluster := gocql.NewCluster("127.0.0.1", "127.0.0.2", "127.0.0.3")
	cluster.Port = c.nodes[0].NativePort
	cluster.Timeout, cluster.ConnectTimeout, cluster.WriteTimeout = 30*time.Second, 30*time.Second,
		30*time.Second
	cluster.Consistency = gocql.All
	cluster.ReconnectInterval = time.Second
	cluster.PoolConfig.HostSelectionPolicy = gocql.TokenAwareHostPolicy(
		gocql.RoundRobinHostPolicy(), gocql.ShuffleReplicas())
	cluster.Metadata.CacheMode = gocql.KeyspaceOnly
	return cluster
}

// exec changes schema or data, on all replicas.
func (c *trio) exec(tb testing.TB, statement string, args ...any) {
	tb.Helper()
	if err := c.session.Query(statement, args...).ExecContext(tb.Context()); err != nil {
		tb.Fatalf("%s: %v", statement, err)
	}
}

// keyspace makes one of the test's own.
func (c *trio) keyspace(tb testing.TB, replication string) string {
	tb.Helper()
	name := strings.ToLower(strings.NewReplacer("/", "_", "=", "_", ",", "_", "-",
		"_").Replace(tb.Name()))
	if len(name) > 40 {
		name = name[:40]
	}
	c.exec(tb, "CREATE KEYSPACE "+name+" WITH replication = "+replication)
	tb.Cleanup(func() {
		if err := c.session.Query("DROP KEYSPACE " + name).Exec(); err != nil {
			tb.Errorf("dropping keyspace %s: %v", name, err)
		}
	})
	return name
}

const (
	two   = "{'class': 'SimpleStrategy', 'replication_factor': 2}"
	three = "{'class': 'NetworkTopologyStrategy', 'dc1': 3}"
)

// mustReader is a reader with a session of its own.
func (c *trio) mustReader(tb testing.TB, change ...func(*Config)) *Reader {
	tb.Helper()
	return c.mustReaderOf(tb, len(c.nodes), change...)
}

// mustReaderOf waits until the reader knows so many nodes.
func (c *trio) mustReaderOf(tb testing.TB, nodes int, change ...func(*Config)) *Reader {
	tb.Helper()
	config := DefaultConfig()
	config.Datacenter, config.Timeout = "dc1", time.Minute
	for _, f := range change {
		f(&config)
	}
	session, err := c.cluster().CreateSession()
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(session.Close)
	r, err := Connect(tb.Context(), session, config, nil, prometheus.NewRegistry())
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(r.Close)
	eventually.Nil(tb, "the reader to know the ring", func() error {
		if n := len(r.topology.Load().nodes); n != nodes {
			return fmt.Errorf("it knows %d nodes", n)
		}
		return nil
	})
	return r
}

// nodetool runs Cassandra's own on a node.
func nodetool(tb testing.TB, n *engines.Cassandra, args ...string) string {
	tb.Helper()
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", n.Pid()))
	if err != nil {
		tb.Fatal(err)
	}
	words := strings.Split(string(line), "\x00")
	at := slices.Index(words, "-cp")
	if at < 0 {
		tb.Fatal("Cassandra's command line has no class path")
	}
	command := []string{"-Xmx64M", "-XX:TieredStopAtLevel=1"}
	for _, word := range words[:at] {
		if strings.HasPrefix(word, "--add-") {
			command = append(command, word)
		}
	}
	command = append(command, "-cp", words[at+1], "org.apache.cassandra.tools.NodeTool", "-h",
		"127.0.0.1", "-p", strconv.Itoa(n.JMXPort))
	command = append(command, args...)
	cmd := exec.CommandContext(tb.Context(), words[0], command...)
	cmd.Env = append(os.Environ(), "HOME="+tb.TempDir()) // it keeps a history there
	out, err := cmd.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		tb.Fatalf("nodetool %v: %v: %s%s", args, err, out, exit.Stderr)
	} else if err != nil {
		tb.Fatal(err)
	}
	return string(out)
}

// count reads a counter.
func count(c prometheus.Counter) float64 {
	var m dto.Metric
	if err := c.Write(&m); err != nil {
		panic(err)
	}
	return m.GetCounter().GetValue()
}
