package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	gocql "github.com/apache/cassandra-gocql-driver/v2"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/api/safe"
	"github.com/ringwatch/ringwatch/dev/engines"
)

// ofBusyMachines takes away the conditions that tell the truth about whatever machine a test runs
// on.
const ofBusyMachines = `
fresh: 1m
conditions:
  - {name: latency, for: []}
  - {name: compactions, for: []}
  - {name: queues, for: []}
`

// TestSafeRollingRestart restarts three real nodes under load, one after the other, each when
// ringwatch safe --wait says that it may. No request at QUORUM fails. While a node is away it is a
// no for the others. It takes some ten minutes, so make test-full alone runs it.
func TestSafeRollingRestart(t *testing.T) {
	conditions := filepath.Join(t.TempDir(), "conditions.yaml")
	if err := os.WriteFile(conditions, []byte(ofBusyMachines), 0o600); err != nil {
		t.Fatal(err)
	}
	d := newDirectory(t)
	text, err := os.ReadFile(d.config)
	if err != nil {
		t.Fatal(err)
	}
	d.config = configFile(t, strings.Replace(string(text), "{name: alone}",
		"{name: alone, safe: "+conditions+"}", 1))
	d.begin(t)
	key := d.key(t, "all", account.Read, account.Write)
	t.Setenv("RINGWATCH_API", d.api)
	t.Setenv("RINGWATCH_KEY", key)
	nodes := startThree(t, d.ingest, key)
	load := loadQuorum(t, nodes)

	const patience = 15 * time.Minute
	for _, n := range nodes {
		began := time.Now()
		code, out, errs := say(t, "safe", "--cluster", "rolling", "--node", n.Host, "--for",
			"restart", "--wait", patience.String())
		t.Logf("%s after %s:\n%s%s", n.Host, time.Since(began).Round(time.Second), errs, out)
		if code != 0 {
			t.Fatalf("it is never safe to restart %s", n.Host)
		}
		if _, err := mustJMX(t, n.JMXURL()).read("org.apache.cassandra.db:type=StorageService",
			"drain()"); err != nil {
			t.Fatal(err)
		}
		if err := n.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
		other := nodes[0]
		if n == other {
			other = nodes[1]
		}
		eventually(t, "a no for "+other.Host, func(context.Context) error {
			var a safe.Answer
			code, out, _ := say(t, "safe", "--cluster", "rolling", "--node", other.Host, "--for",
				"restart", "--json")
			if err := json.Unmarshal([]byte(out), &a); err != nil || code != 1 || a.Safe {
				return fmt.Errorf("exit %d, %s", code, out)
			}
			for _, r := range a.Reasons {
				if r.Condition == "peers" {
					return nil
				}
			}
			return fmt.Errorf("not yet by peers: %+v", a.Reasons)
		})
		load.more(t, 200)
		if err := n.Restart(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	load.more(t, 200)
	load.end()
	t.Logf("%d requests at QUORUM, %d failed", load.done.Load(), load.failed.Load())
	if n := load.failed.Load(); n > 0 {
		t.Errorf("%d requests failed: %v", n, load.first.Load())
	}
}

// startThree starts three nodes of one ring, whose agents send frames.
func startThree(t *testing.T, ingest, key string) (nodes []*engines.Cassandra) {
	t.Helper()
	jar, err := filepath.Abs("../../agent/target/ringwatch-agent.jar")
	if err != nil {
		t.Fatal(err)
	}
	agent := filepath.Join(t.TempDir(), "agent.yaml")
	if err := os.WriteFile(agent, fmt.Appendf(nil, "ingest:\n  urls: [%q]\n  key: %s\n",
		ingest, key), 0o600); err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		n := engines.MustCassandra(t, func(c *engines.CassandraConfig) {
			c.ClusterName, c.ListenAddress = "rolling", fmt.Sprintf("127.0.0.%d", i+1)
			c.Heap = "400M"
			c.Extra = map[string]any{"auto_bootstrap": false, "write_request_timeout": "30s",
				"read_request_timeout": "30s"}
			c.JVMArgs = []string{"-Dcassandra.ring_delay_ms=10000",
				"-Dcassandra.consistent.rangemovement=false", "-javaagent:" + jar + "=" + agent}
			if i > 0 {
				c.StoragePort, c.NativePort = nodes[0].StoragePort, nodes[0].NativePort
				c.Seeds = []string{net.JoinHostPort("127.0.0.1",
					strconv.Itoa(nodes[0].StoragePort))}
			}
		})
		nodes = append(nodes, n)
	}
	return nodes
}

// quorumLoad writes rows and reads each, at QUORUM of three copies, as an application does whose
// driver tries another node.
type quorumLoad struct {
	stop         context.CancelFunc
	wait         sync.WaitGroup
	done, failed atomic.Int64
	first        atomic.Pointer[error] // that failed
}

func loadQuorum(t *testing.T, nodes []*engines.Cassandra) *quorumLoad {
	t.Helper()
	cluster := gocql.NewCluster(nodes[0].Host, nodes[1].Host, nodes[2].Host)
	cluster.Port, cluster.Consistency = nodes[0].NativePort, gocql.Quorum
	cluster.Timeout, cluster.ConnectTimeout = time.Minute, time.Minute
	cluster.RetryPolicy = &gocql.SimpleRetryPolicy{NumRetries: 3}
	cluster.PoolConfig.HostSelectionPolicy =
		gocql.TokenAwareHostPolicy(gocql.RoundRobinHostPolicy())
	session, err := cluster.CreateSession()
	if err != nil {
		t.Fatal(err)
	}
	for _, statement := range []string{"ALTER KEYSPACE system_auth WITH replication = " +
		"{'class': 'SimpleStrategy', 'replication_factor': 3}",
		"CREATE KEYSPACE shop WITH replication = " +
			"{'class': 'SimpleStrategy', 'replication_factor': 3}",
		"CREATE TABLE shop.orders (k int PRIMARY KEY, v int)"} {
		eventually(t, statement, func(ctx context.Context) error {
			err := session.Query(statement).ExecContext(ctx)
			if _, is := errors.AsType[*gocql.RequestErrAlreadyExists](err); is {
				return nil
			}
			return err
		})
	}
	ctx, stop := context.WithCancel(t.Context())
	l := &quorumLoad{stop: stop}
	for g := range 4 {
		l.wait.Go(func() {
			ticker := time.NewTicker(50 * time.Millisecond) // the machine is others', too
			defer ticker.Stop()
			for k := g; ctx.Err() == nil; k += 4 {
				v := 0
				err := session.Query("INSERT INTO shop.orders (k, v) VALUES (?, ?)", k,
					k+1).ExecContext(ctx)
				l.note(ctx, err)
				if err == nil {
					err = session.Query("SELECT v FROM shop.orders WHERE k = ?",
						k).ScanContext(ctx, &v)
					if err == nil && v != k+1 {
						err = fmt.Errorf("row %d is %d", k, v)
					}
					l.note(ctx, err)
				}
				select {
				case <-ticker.C:
				case <-ctx.Done():
				}
			}
		})
	}
	t.Cleanup(func() {
		l.end()
		session.Close()
	})
	return l
}

func (l *quorumLoad) note(ctx context.Context, err error) {
	if ctx.Err() != nil {
		return
	}
	l.done.Add(1)
	if err != nil {
		l.failed.Add(1)
		l.first.CompareAndSwap(nil, &err)
	}
}

// more waits until so many requests more were answered.
func (l *quorumLoad) more(t *testing.T, n int64) {
	t.Helper()
	from := l.done.Load()
	eventually(t, fmt.Sprintf("%d more requests", n), func(context.Context) error {
		if got := l.done.Load() - from; got < n {
			return fmt.Errorf("%d were answered", got)
		}
		return nil
	})
}

func (l *quorumLoad) end() {
	l.stop()
	l.wait.Wait()
}
