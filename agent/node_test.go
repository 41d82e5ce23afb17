package agent_test

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	gocql "github.com/apache/cassandra-gocql-driver/v2"

	"github.com/ringwatch/ringwatch/dev/engines"
)

// node is a real Cassandra with the agent in it, its frames, its beans and a CQL session.
type node struct {
	*engines.Cassandra
	version string
	config  string // agent.yaml
	frames  *receiver
	jmx     *jmx
	cql     *gocql.Session
}

// mustNode starts a Cassandra with the agent at an interval of a second.
func mustNode(t *testing.T, version string, change ...func(*engines.CassandraConfig)) *node {
	t.Helper()
	return mustNodeWith(t, version, "", change...)
}

// mustNodeWith is mustNode with more lines in agent.yaml.
func mustNodeWith(t *testing.T, version, lines string,
	change ...func(*engines.CassandraConfig)) *node {
	t.Helper()
	jar, err := filepath.Abs("target/ringwatch-agent.jar")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(jar); err != nil {
		t.Fatalf("the agent is not built: run `make build` first (%v)", err)
	}
	n := &node{version: version, frames: mustReceiver(t)}
	n.config = filepath.Join(t.TempDir(), "agent.yaml")
	text := fmt.Sprintf("ingest:\n  urls: [%q]\n  key: rw_test\ninterval: 1s\n%s", n.frames.url,
		lines)
	if err := os.WriteFile(n.config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	n.Cassandra = engines.MustCassandra(t, func(c *engines.CassandraConfig) {
		c.Version = version
		c.JVMArgs = []string{"-javaagent:" + jar + "=" + n.config}
		for _, f := range change {
			f(c)
		}
	})
	n.jmx = mustJMX(t, n.JMXURL())
	cluster := n.cluster()
	// where the node asks
	cluster.Authenticator = gocql.PasswordAuthenticator{Username: "cassandra",
		Password: "cassandra"}
	// that role comes after CQL
	for deadline := time.Now().Add(patience); ; {
		if n.cql, err = cluster.CreateSession(); err == nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
	t.Cleanup(n.cql.Close)
	return n
}

func (n *node) cluster() *gocql.ClusterConfig {
	cluster := gocql.NewCluster(n.Host)
	cluster.Port = n.NativePort
	cluster.Timeout, cluster.ConnectTimeout = patience, patience
	return cluster
}

func (n *node) exec(t *testing.T, statement string, args ...any) {
	t.Helper()
	if err := n.cql.Query(statement, args...).ExecContext(t.Context()); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

// fill creates a table if need be, writes rows and reads each.
func (n *node) fill(t *testing.T, table string, rows int) {
	t.Helper()
	n.exec(t, "CREATE TABLE IF NOT EXISTS "+table+" (k int PRIMARY KEY, v text)")
	for i := range rows {
		n.exec(t, "INSERT INTO "+table+" (k, v) VALUES (?, ?)", i, strings.Repeat("text", i%50))
		n.exec(t, "SELECT v FROM "+table+" WHERE k = ?", i)
	}
}

func (n *node) flush(t *testing.T, keyspace string) {
	t.Helper()
	if _, err := n.jmx.read("org.apache.cassandra.db:type=StorageService",
		"forceKeyspaceFlush("+keyspace+")"); err != nil {
		t.Fatal(err)
	}
}

// next is what a frame says of an instant after now.
func (n *node) next(t *testing.T) *state {
	t.Helper()
	s, err := n.frames.after(t.Context(), time.Now().UnixMilli())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// until waits for a state that ok accepts; ok says what it still misses.
func (n *node) until(t *testing.T, what string, ok func(*state) error) *state {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	at, last := time.Now().UnixMilli(), error(nil)
	for {
		s, err := n.frames.after(ctx, at)
		if err != nil {
			t.Fatalf("%s: %v; %v", what, last, err)
		}
		if last = ok(s); last == nil {
			return s
		}
		at = s.at
	}
}

// pair is a bean's attribute and the series that says the same.
type pair struct{ bean, attribute, series string }

// compare holds series against JMX. They are equal if JMX says the same before and after the
// instant of the frame and the frame says that; what moves is tried again.
func (n *node) compare(t *testing.T, pairs []pair) {
	t.Helper()
	open := make(map[pair]string, len(pairs))
	for _, p := range pairs {
		open[p] = "not compared"
	}
	for deadline := time.Now().Add(patience); len(open) > 0; {
		if time.Now().After(deadline) {
			for p, why := range open {
				t.Errorf("%s %s is not %s: %s", p.bean, p.attribute, p.series, why)
			}
			return
		}
		before, _ := n.readAll(open)
		s := n.next(t)
		after, err := n.readAll(open)
		for _, p := range slices.Collect(maps.Keys(open)) {
			seen := s.text(p.series)
			switch {
			case before[p] == "" || before[p] != after[p]:
				open[p] = fmt.Sprintf("JMX moves from %s to %s %v", before[p], after[p], err)
			case !equal(before[p], seen):
				open[p] = fmt.Sprintf("JMX %s, agent %s", before[p], seen)
			default:
				delete(open, p)
			}
		}
	}
}

func (n *node) readAll(pairs map[pair]string) (map[pair]string, error) {
	values := make(map[pair]string, len(pairs))
	var last error
	for p := range pairs {
		value, err := n.jmx.read(p.bean, p.attribute)
		if err != nil {
			last = err
			continue
		}
		values[p] = value
	}
	return values, last
}

// equal takes numbers as numbers, and bucket counts as equal if one lacks only empty buckets at
// its end.
func equal(jmx, agent string) bool {
	if strings.HasPrefix(jmx, "[") && strings.HasPrefix(agent, "[") {
		return strings.TrimSuffix(agent, "]") == strings.TrimSuffix(jmx, "]") ||
			strings.Trim(strings.TrimPrefix(agent, strings.TrimSuffix(jmx, "]")), "], 0") == "" &&
				strings.HasPrefix(agent, strings.TrimSuffix(jmx, "]")) ||
			jmx == "[]" && strings.Trim(agent, "[], 0") == ""
	}
	x, errX := strconv.ParseFloat(jmx, 64)
	y, errY := strconv.ParseFloat(agent, 64)
	return jmx == agent || errX == nil && errY == nil && x == y
}
