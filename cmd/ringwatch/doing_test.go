package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	gocql "github.com/apache/cassandra-gocql-driver/v2"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/client"
	"github.com/ringwatch/ringwatch/dev/engines"
)

// doing is a ring of two real nodes whose agents send to a ringwatch all without engines.
type doing struct {
	*directory
	key   string
	nodes []*engines.Cassandra
	cql   *gocql.Session
}

// TestDoing causes on two real nodes what a node can be doing, by the thing itself, and finds each
// in the API, in the commands, in the console and in an alert. The default version stands for all
// but in make test-full.
func TestDoing(t *testing.T) {
	versions := []string{engines.CassandraVersion}
	if os.Getenv("RINGWATCH_TEST_FULL") != "" {
		versions = []string{engines.Cassandra40, engines.Cassandra41, engines.Cassandra50}
	}
	for _, version := range versions {
		t.Run(version, func(t *testing.T) {
			d := startDoing(t, version)
			for _, step := range []struct {
				name string
				test func(*testing.T)
			}{
				{"Driver", d.testDriver},
				{"SlowQuery", d.testSlowQuery},
				{"LargePartition", d.testLargePartition},
				{"Compaction", d.testCompaction},
				{"Snapshot", d.testSnapshot},
				{"Repair", d.testRepair},
				{"Alerts", d.testAlerts},
				{"Console", func(t *testing.T) { d.browse(t, "TESTS=real") }},
				{"Decommission", d.testDecommission}, // then nothing can be repaired any more
			} {
				if !t.Run(step.name, step.test) {
					t.FailNow() // what follows would wait in vain for what it needs of this one
				}
			}
		})
	}
}

// doingRules fire as soon as a thing is seen. The shipped alerts of these metrics wait for minutes
// to days, and have tests of their own.
const doingRules = `groups:
  - name: doing
    interval: 1s
    rules:
      - alert: DoingSlowQuery
        expr: sum by (cluster, kind) (ringwatch_events_total{kind="slow_query"}) > 0
      - alert: DoingLargePartition
        expr: sum by (cluster, kind) (ringwatch_events_total{kind="large_partition"}) > 0
      - alert: DoingCompaction
        expr: max by (cluster, table) (last_over_time(cassandra_task_done_ratio{task="compaction"}[10m])) >= 0
      - alert: DoingDecommission
        expr: max by (cluster) (last_over_time(cassandra_stream_done_ratio{operation="decommission"}[10m])) >= 0
      - alert: DoingDriver
        expr: sum by (cluster, driver_name) (cassandra_driver_connections{driver_name=~".*gocql.*"}) > 0
      - alert: DoingSnapshot
        expr: max by (cluster, keyspace, table) (cassandra_snapshots) > 0
      - alert: DoingRepair
        expr: max by (cluster, keyspace, table) (cassandra_repair_due_timestamp_seconds) - time() > 0
`

// startDoing returns when both nodes are in the lists. Node 1 is the one that stays.
func startDoing(t *testing.T, version string) *doing {
	t.Helper()
	d := &doing{directory: newDirectory(t)}
	d.begin(t)
	d.key = d.directory.key(t, "all", account.Read, account.Write, account.Rules)
	t.Setenv("RINGWATCH_API", d.api)
	t.Setenv("RINGWATCH_KEY", d.key)
	rules := filepath.Join(t.TempDir(), "doing.yaml")
	if err := os.WriteFile(rules, []byte(doingRules), 0o600); err != nil {
		t.Fatal(err)
	}
	d.says(t, "doing", "rules", "apply", rules)
	jar, err := filepath.Abs("../../agent/target/ringwatch-agent.jar")
	if err != nil {
		t.Fatal(err)
	}
	agent := filepath.Join(t.TempDir(), "agent.yaml")
	if err := os.WriteFile(agent, fmt.Appendf(nil, "ingest:\n  urls: [%q]\n  key: %s\n", d.ingest,
		d.key), 0o600); err != nil {
		t.Fatal(err)
	}
	for i := range 2 {
		d.nodes = append(d.nodes, engines.MustCassandra(t, func(c *engines.CassandraConfig) {
			c.Version = version
			c.ClusterName, c.ListenAddress = "doing", fmt.Sprintf("127.0.0.%d", i+1)
			c.Extra = lowThresholds(version)
			c.JVMArgs = []string{"-Dcassandra.ring_delay_ms=10000",
				"-Dcassandra.consistent.rangemovement=false", "-javaagent:" + jar + "=" + agent}
			if i > 0 {
				first := d.nodes[0]
				c.StoragePort, c.NativePort = first.StoragePort, first.NativePort
				c.Seeds = []string{net.JoinHostPort(first.Host, strconv.Itoa(first.StoragePort))}
			}
		}))
	}
	cluster := gocql.NewCluster(d.nodes[0].Host)
	cluster.Port, cluster.Timeout = d.nodes[0].NativePort, time.Minute
	cluster.ConnectTimeout, cluster.Consistency = time.Minute, gocql.One
	cluster.DisableInitialHostLookup = true // node 2 leaves
	if d.cql, err = cluster.CreateSession(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.cql.Close)
	d.exec(t, "CREATE KEYSPACE IF NOT EXISTS shop WITH replication = {'class': 'SimpleStrategy', "+
		"'replication_factor': 2}")
	d.exec(t, "CREATE TABLE IF NOT EXISTS shop.orders (k int, c int, v text, PRIMARY KEY (k, c)) "+
		"WITH compression = {'enabled': false} AND gc_grace_seconds = 864000")
	d.eventually(t, "both nodes", "/v1/nodes", func(text string) bool {
		return strings.Count(text, `"cassandra_version"`) == 2
	})
	return d
}

// lowThresholds let Cassandra warn of what a test can do.
func lowThresholds(version string) map[string]any {
	switch version {
	case engines.Cassandra40:
		return map[string]any{"auto_bootstrap": false, "stream_entire_sstables": false,
			"slow_query_log_timeout_in_ms":                    1,
			"compaction_large_partition_warning_threshold_mb": 1,
			"compaction_throughput_mb_per_sec":                1,
			"stream_throughput_outbound_megabits_per_sec":     8}
	case engines.Cassandra41:
		return map[string]any{"auto_bootstrap": false, "stream_entire_sstables": false,
			"slow_query_log_timeout":                       "1ms",
			"compaction_large_partition_warning_threshold": "1MiB",
			"compaction_throughput":                        "256KiB/s",
			"stream_throughput_outbound":                   "1MiB/s"}
	}
	return map[string]any{"auto_bootstrap": false, "stream_entire_sstables": false,
		"slow_query_log_timeout": "1ms", "partition_size_warn_threshold": "1MiB",
		"compaction_throughput":      "256KiB/s",
		"stream_throughput_outbound": "1MiB/s"}
}

// exec runs a statement that may be run again: the driver may wait in vain for an answer that was
// lost.
func (d *doing) exec(t *testing.T, statement string, args ...any) {
	t.Helper()
	eventually(t, statement, func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, time.Minute)
		defer cancel()
		return d.cql.Query(statement, args...).ExecContext(ctx)
	})
}

func (d *doing) nodetool(t *testing.T, words ...string) {
	t.Helper()
	nodetool(t, d.nodes[0], words...)
}

func nodetool(t *testing.T, node *engines.Cassandra, words ...string) {
	t.Helper()
	if out, err := node.Nodetool(t.Context(), words...); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

// Beside runs nodetool on a node while something else is looked at. What it returns waits.
func (d *doing) beside(t *testing.T, node int, words ...string) (wait func()) {
	t.Helper()
	done := make(chan error, 1)
	go func() {
		_, err := d.nodes[node].Nodetool(t.Context(), words...)
		done <- err
	}()
	return func() {
		t.Helper()
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	}
}

// fill writes rows of 100 kB into each of some partitions, and flushes them.
func (d *doing) fill(t *testing.T, first, partitions, rows int) {
	t.Helper()
	value := strings.Repeat("0123456789", 10_000)
	for i := range partitions * rows {
		d.exec(t, "INSERT INTO shop.orders (k, c, v) VALUES (?, ?, ?)", first+i/rows, i%rows, value)
	}
	d.nodetool(t, "flush", "shop")
}

// eventually waits until a path of the API answers with a text that is as wanted.
func (d *doing) eventually(t *testing.T, what, path string,
	is func(text string) bool) (text string) {
	t.Helper()
	var last error
	eventually(t, what, func(ctx context.Context) (err error) {
		defer func() {
			if err != nil && ctx.Err() == nil {
				last = err
			} else if err != nil {
				err = last // what ended says less
			}
		}()
		flags := client.Flags{API: d.api, Key: d.key}
		c, err := flags.Client()
		if err != nil {
			return err
		}
		route, values, _ := strings.Cut(path, "?")
		parameters, err := url.ParseQuery(values)
		if err != nil {
			return err
		}
		answer, err := c.Get(ctx, route, parameters)
		if err != nil {
			return err
		}
		if text = string(answer); !is(text) {
			return fmt.Errorf("%s says %.2000s", path, text)
		}
		return nil
	})
	return text
}

// has waits until a path of the API answers with all of these texts.
func (d *doing) has(t *testing.T, path string, all ...string) string {
	t.Helper()
	return d.eventually(t, path, path, func(text string) bool { return hasAll(text, all) })
}

func hasAll(text string, all []string) bool {
	for _, one := range all {
		if !strings.Contains(text, one) {
			return false
		}
	}
	return true
}

// says runs a command that must print these texts.
func (d *doing) says(t *testing.T, all string, command ...string) {
	t.Helper()
	eventually(t, strings.Join(command, " "), func(context.Context) error {
		code, out, errs := say(t, command...)
		if code != 0 || !hasAll(out+errs, strings.Fields(all)) {
			return fmt.Errorf("exit code %d\n%s%s", code, out, errs)
		}
		return nil
	})
}

func (d *doing) testDriver(t *testing.T) { // its name is that of d.cql
	d.has(t, "/v1/clients?cluster=doing", "cassandra-gocql-driver", `"address":"127.0.0.1:`)
	d.says(t, "cassandra-gocql-driver", "clients", "--cluster", "doing")
}

func (d *doing) testSlowQuery(t *testing.T) {
	d.fill(t, 1, 1, 60)
	// As Cassandra's own logback.xml has it, and that of the tests has not. Either node may read.
	for _, node := range d.nodes {
		nodetool(t, node, "setlogginglevel", "org.apache.cassandra.db.monitoring", "DEBUG")
	}
	const secret = "it is nobody's business"
	query := func() error {
		return d.cql.Query("SELECT * FROM shop.orders WHERE v = '" + strings.ReplaceAll(secret, "'",
			"''") + "' ALLOW FILTERING").ExecContext(t.Context())
	}
	text := d.eventually(t, "the slow query", "/v1/slow-queries?cluster=doing",
		func(text string) bool {
			if err := query(); err != nil {
				t.Fatal(err)
			}
			return hasAll(text, []string{"shop", "orders", "v = ?"})
		})
	if strings.Contains(text, "nobody") {
		t.Errorf("a literal left the node: %s", text)
	}
	d.has(t, "/v1/events?cluster=doing&kind=slow_query", `"kind":"slow_query"`, "v = ?")
	d.says(t, "shop orders", "slow-queries", "--cluster", "doing")
	d.says(t, "slow_query", "events", "--cluster", "doing", "--kind", "slow_query")
}

func (d *doing) testLargePartition(t *testing.T) {
	d.fill(t, 2, 1, 20)
	d.nodetool(t, "compact", "shop", "orders") // 5.0 warns when it compacts
	d.has(t, "/v1/events?cluster=doing&kind=large_partition", `"keyspace":"shop"`,
		`"table":"orders"`)
	d.says(t, "large_partition orders", "events", "--cluster", "doing", "--kind",
		"large_partition")
}

func (d *doing) testCompaction(t *testing.T) {
	// Cassandra waits after each partition, so small ones let it hear soon that it may be quick.
	d.fill(t, 100, 90, 10) // six minutes of work
	wait := d.beside(t, 0, "compact", "shop", "orders")
	d.has(t, "/v1/tasks?cluster=doing", `"task":"compaction"`, `"table":"orders"`)
	d.says(t, "compaction orders", "tasks", "--cluster", "doing")
	d.browse(t, "TESTS=real/tasks", "ONLY=compaction")
	for _, node := range d.nodes {
		nodetool(t, node, "setcompactionthroughput", "0")
	}
	wait()
	d.eventually(t, "the end of the compaction", "/v1/tasks?cluster=doing",
		func(text string) bool { return !strings.Contains(text, `"table":"orders"`) })
}

func (d *doing) testSnapshot(t *testing.T) {
	d.nodetool(t, "snapshot", "-t", "before", "shop")
	d.eventually(t, "the snapshot", "/api/v1/query?query="+
		url.QueryEscape(`cassandra_snapshots{table="orders"}`), func(text string) bool {
		return strings.Contains(text, `"table":"orders"`)
	})
}

func (d *doing) testRepair(t *testing.T) {
	// Who tells what is repaired looks at once when it was its own repair, else every 15 minutes.
	if out, err := d.teller(t).Nodetool(t.Context(), "repair", "-full", "shop",
		"orders"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	d.has(t, "/v1/repairs?cluster=doing", `"table":"orders"`, `"last_full":`, `"due":`)
	d.has(t, "/v1/events?cluster=doing&kind=repair", `"keyspace":"shop"`)
	d.says(t, "orders", "repairs", "--cluster", "doing")
}

// teller returns the node that tells what is repaired: that of the lowest id.
func (d *doing) teller(t *testing.T) *engines.Cassandra {
	t.Helper()
	var nodes []struct {
		ID    string            `json:"id"`
		Facts map[string]string `json:"facts"`
	}
	text := d.has(t, "/v1/nodes")
	if err := json.Unmarshal([]byte(text), &nodes); err != nil || len(nodes) != 2 {
		t.Fatalf("%v: %s", err, text)
	}
	lowest := nodes[0]
	if nodes[1].ID < lowest.ID {
		lowest = nodes[1]
	}
	for _, n := range d.nodes {
		if strings.HasPrefix(lowest.Facts["address"], n.Host+":") {
			return n
		}
	}
	t.Fatalf("no node has the address %s", lowest.Facts["address"])
	return nil
}

func (d *doing) testAlerts(t *testing.T) {
	for _, name := range []string{"DoingSlowQuery", "DoingLargePartition", "DoingCompaction",
		"DoingDriver", "DoingSnapshot", "DoingRepair"} {
		d.says(t, name, "alerts")
	}
}

// browse runs tests of the console in a real browser.
func (d *doing) browse(t *testing.T, env ...string) {
	t.Helper()
	browse(t.Context(), t, append(env, "BASE="+d.api, "KEY="+d.key, "CLUSTER=doing")...)
}

func (d *doing) testDecommission(t *testing.T) {
	d.exec(t, "ALTER KEYSPACE shop WITH replication = {'class': 'SimpleStrategy', "+
		"'replication_factor': 1}")
	for partition := range 8 { // half of which node 2 has to send
		d.fill(t, 20+partition, 1, 50)
	}
	nodetool(t, d.nodes[1], "setstreamthroughput", "1") // Mbit/s: it lasts until it was seen
	wait := d.beside(t, 1, "decommission", "--force")
	d.has(t, "/v1/tasks?cluster=doing", `"task":"stream_decommission"`, `"peer":"127.0.0.`)
	d.says(t, "decommission", "tasks", "--cluster", "doing")
	d.browse(t, "TESTS=real/tasks", "ONLY=leaves")
	nodetool(t, d.nodes[1], "setstreamthroughput", "0")
	wait()
	d.has(t, "/v1/events?cluster=doing&kind=node_left", `"peer":"127.0.0.2`)
	d.has(t, "/v1/nodes?cluster=doing&state=decommissioned", `"address":"127.0.0.2:`)
	d.says(t, "DoingDecommission", "alerts")
	d.browse(t, "TESTS=real/tasks", "ONLY=left")
}
