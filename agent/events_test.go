package agent_test

import (
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	gocql "github.com/apache/cassandra-gocql-driver/v2"

	"github.com/ringwatch/ringwatch/dev/engines"
	"github.com/ringwatch/ringwatch/frame"
)

// soonEvents lowers the thresholds from which Cassandra speaks of what happens, under the names
// that all versions take.
func soonEvents(c *engines.CassandraConfig, version string) {
	extra := map[string]any{
		"slow_query_log_timeout_in_ms": 1,
		"gc_log_threshold_in_ms":       1,
		"tombstone_warn_threshold":     100,
	}
	if version != engines.Cassandra60 {
		extra["compaction_large_partition_warning_threshold_mb"] = 1
	} else {
		extra["partition_size_warn_threshold"] = "1MiB"
	}
	for key, value := range c.Extra {
		extra[key] = value
	}
	c.Extra = extra
}

// secret is a literal of statements and a partition key. No event may have it.
const secret = "hunter2-grace@example.com"

// testEvents causes what can happen to a node alone by the thing itself.
func (n *node) testEvents(t *testing.T) {
	// as Cassandra's own logback.xml has it
	if out, err := n.Nodetool(t.Context(), "setlogginglevel", "org.apache.cassandra.db.monitoring",
		"DEBUG"); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	n.exec(t, "CREATE KEYSPACE eventful"+replication)
	n.exec(t, "CREATE TABLE eventful.t (k text, c int, v text, PRIMARY KEY (k, c))")
	t.Run("Start", func(t *testing.T) {
		n.mustEvent(t, "start", labelled{"java_version": ""}, "Cassandra "+n.version)
		e := n.mustEvent(t, "settings", nil, "concurrent_writes 32 → 128")
		if strings.Contains(strings.ToLower(e.Text), "password") {
			t.Errorf("the settings are %s", e.Text)
		}
	})
	t.Run("Schema", n.testSchemaEvents)
	t.Run("SlowQuery", n.testSlowQuery)
	t.Run("LargePartition", n.testLargePartition)
	t.Run("Tombstones", n.testTombstones)
	t.Run("Batch", func(t *testing.T) {
		b := n.cql.Batch(gocql.LoggedBatch)
		for i := range 8 {
			// of one partition Cassandra says nothing
			b.Query("INSERT INTO eventful.t (k, c, v) VALUES (?, ?, ?)", secret+strconv.Itoa(i), i,
				strings.Repeat("x", 1000))
		}
		if err := b.ExecContext(t.Context()); err != nil {
			t.Fatal(err)
		}
		e := n.mustEvent(t, "batch", labelled{"keyspace": "eventful", "table": "t"}, "larger than")
		if size, _ := strconv.Atoi(e.Label("size_bytes")); size < 8000 || size > 20_000 {
			t.Errorf("a batch of 8 kB is %v", e)
		}
	})
	t.Run("GCPause", func(t *testing.T) {
		if _, err := n.jmx.read("java.lang:type=Memory", "gc()"); err != nil {
			t.Fatal(err)
		}
		e := n.mustEvent(t, "gc_pause", labelled{"gc": ""}, "")
		seconds, _ := strconv.ParseFloat(e.Label("duration_seconds"), 64)
		if seconds <= 0 || seconds > 60 {
			t.Errorf("a pause of %v", e)
		}
	})
	t.Run("Warning", func(t *testing.T) {
		n.exec(t, "SELECT count(*) FROM eventful.t")
		n.mustEvent(t, "warning", nil, "Aggregation query used without partition key")
	})
	t.Run("Error", n.testError)
	t.Run("FailedRepair", func(t *testing.T) {
		// nobody has the second replica
		n.exec(t, "CREATE KEYSPACE lonely WITH replication = "+
			"{'class': 'SimpleStrategy', 'replication_factor': 2}")
		n.exec(t, "CREATE TABLE lonely.t (k int PRIMARY KEY)")
		if out, err := n.Nodetool(t.Context(), "repair", "lonely"); err == nil {
			t.Errorf("it was repaired: %s", out)
		}
		n.mustEvent(t, "repair", labelled{"keyspace": "lonely", "command": ""},
			"started, incremental")
		n.mustEvent(t, "repair", labelled{"keyspace": "lonely"}, "failed")
	})
	t.Run("Dropped", n.testDroppedEvents)
	t.Run("Counted", func(t *testing.T) {
		n.until(t, "the counts of events", func(s *state) error {
			for _, of := range []string{"start|info", "settings|info", "schema|info",
				"slow_query|warning", "large_partition|warning", "tombstones|warning",
				"batch|warning", "gc_pause|info", "warning|warning", "error|error",
				"repair|error", "dropped|warning"} {
				if count := s.text("ringwatch_events_total|" + of); count == "" || count == "0" {
					return fmt.Errorf("%s is %q", of, count)
				}
			}
			return nil
		})
	})
	n.frames.mu.Lock()
	defer n.frames.mu.Unlock()
	for _, e := range n.frames.events {
		if whole := fmt.Sprint(e); strings.Contains(whole, "hunter2") ||
			strings.Contains(whole, "grace") {
			t.Errorf("an event with a literal: %v", e)
		}
	}
}

// labelled are labels that an event has, with these values or, where empty, with any.
type labelled map[string]string

// mustEvent waits for an event with a part of its text.
func (n *node) mustEvent(t *testing.T, kind string, want labelled, text string) *frame.Event {
	t.Helper()
	e, err := n.frames.event(t.Context(), func(e *frame.Event) bool {
		if e.Kind != kind || !strings.Contains(e.Text, text) {
			return false
		}
		for name, value := range want {
			if got := e.Label(name); got == "" || value != "" && got != value {
				return false
			}
		}
		return true
	})
	if err != nil {
		t.Fatalf("%s %v %q: %v", kind, want, text, err)
	}
	t.Log(e.Kind, e.Severity, e.Labels, e.Text)
	return e
}

func (n *node) testSchemaEvents(t *testing.T) {
	n.mustEvent(t, "schema", labelled{"keyspace": "eventful", "table": "t", "change": "created"},
		"")
	n.exec(t, "ALTER TABLE eventful.t ADD w int")
	n.mustEvent(t, "schema", labelled{"keyspace": "eventful", "table": "t", "change": "altered"},
		"column w added")
	n.exec(t, "ALTER KEYSPACE eventful WITH durable_writes = false")
	n.mustEvent(t, "schema", labelled{"keyspace": "eventful", "change": "altered"},
		"its replication")
	n.exec(t, "CREATE TABLE eventful.gone (k int PRIMARY KEY)")
	n.mustEvent(t, "schema", labelled{"table": "gone", "change": "created"}, "")
	n.exec(t, "DROP TABLE eventful.gone")
	n.mustEvent(t, "schema", labelled{"table": "gone", "change": "dropped"}, "")
}

func (n *node) testSlowQuery(t *testing.T) {
	for i := range 300 {
		n.exec(t, "INSERT INTO eventful.t (k, c, v) VALUES (?, ?, ?)", secret, i,
			strings.Repeat("v", 500))
	}
	done := make(chan struct{})
	go func() { // a read is slow if its thread sees the clock move
		defer close(done)
		for deadline := time.Now().Add(patience); time.Now().Before(deadline); {
			select {
			case <-t.Context().Done():
				return
			default:
			}
			for range 20 {
				_ = n.cql.Query("SELECT v FROM eventful.t WHERE k = '" + secret +
					"' AND v = '" + secret + "' ALLOW FILTERING").Exec()
			}
			n.frames.mu.Lock()
			events := n.frames.events
			n.frames.mu.Unlock()
			for _, e := range events {
				if e.Kind == "slow_query" && e.Label("keyspace") == "eventful" {
					return
				}
			}
		}
	}()
	e := n.mustEvent(t, "slow_query",
		labelled{"keyspace": "eventful", "table": "t", "operation": "select", "times": "",
			"slowest_seconds": ""}, "FROM eventful.t WHERE k = ?")
	<-done
	if !strings.HasPrefix(e.Text, "SELECT ") || !strings.Contains(e.Text, "v = ?") ||
		e.Severity != frame.Warning {
		t.Errorf("it is %s %s", e.Severity, e.Text)
	}
}

func (n *node) testLargePartition(t *testing.T) {
	for i := range 20 {
		noise := make([]byte, 75_000)
		_, _ = rand.Read(noise)
		n.exec(t, "INSERT INTO eventful.t (k, c, v) VALUES (?, ?, ?)", secret, 1000+i,
			base64.StdEncoding.EncodeToString(noise))
	}
	n.flush(t, "eventful")
	e := n.mustEvent(t, "large_partition",
		labelled{"keyspace": "eventful", "table": "t", "partition": "", "size_bytes": ""}, "")
	if size, _ := strconv.Atoi(e.Label("size_bytes")); size < 2_000_000 || size > 3_000_000 {
		t.Errorf("2 MB are %v", e)
	}
	// who may read the table finds the partition by its token
	token, found := strings.CutPrefix(e.Label("partition"), "token ")
	number, err := strconv.ParseInt(token, 10, 64)
	if !found || err != nil {
		t.Fatalf("the partition is %q", e.Label("partition"))
	}
	var key string
	if err := n.cql.Query("SELECT k FROM eventful.t WHERE token(k) = ? LIMIT 1",
		number).Scan(&key); err != nil || key != secret {
		t.Errorf("at token %d is %q %v", number, key, err)
	}
}

// testError has the node read an SSTable that is none.
func (n *node) testError(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(n.Dir, "data", "eventful", "t-*", "*-*-*-*.*"))
	if err != nil || len(files) < 5 {
		t.Fatalf("no SSTable: %v %v", files, err)
	}
	// its last parts say whose files they are
	dir := filepath.Join(t.TempDir(), "eventful", filepath.Base(filepath.Dir(files[0])))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(file, "-Data.db") {
			b = b[:len(b)/2]
		}
		if err := os.WriteFile(filepath.Join(dir, filepath.Base(file)), b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	_, _ = n.Nodetool(t.Context(), "import", "eventful", "t", dir)
	n.mustEvent(t, "error", nil, "Failed verifying ")
}

func (n *node) testTombstones(t *testing.T) {
	for i := range 150 {
		n.exec(t, "DELETE FROM eventful.t WHERE k = ? AND c = ?", secret, i)
	}
	n.exec(t, "SELECT * FROM eventful.t WHERE k = ? AND c < 150", secret)
	e := n.mustEvent(t, "tombstones", labelled{"keyspace": "eventful", "table": "t",
		"operation": "select", "tombstones": "150"}, "FROM eventful.t WHERE k = ?")
	if e.Severity != frame.Warning {
		t.Errorf("it is %v", e)
	}
}

// testDroppedEvents lets writes expire before they begin.
func (n *node) testDroppedEvents(t *testing.T) {
	if out, err := n.Nodetool(t.Context(), "settimeout", "write", "1"); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	stop := make(chan struct{})
	ended := make(chan struct{})
	for range 64 {
		go func() {
			defer func() { ended <- struct{}{} }()
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
					_ = n.cql.Query("INSERT INTO eventful.t (k, c, v) VALUES ('x', ?, ?)", i,
						strings.Repeat("x", 10_000)).Exec()
				}
			}
		}()
	}
	e := n.mustEvent(t, "dropped", labelled{"verb": "", "messages": ""}, "")
	close(stop)
	for range 64 {
		<-ended
	}
	if messages, _ := strconv.Atoi(e.Label("messages")); messages < 1 ||
		e.Severity != frame.Warning {
		t.Errorf("it is %v", e)
	}
	if out, err := n.Nodetool(t.Context(), "settimeout", "write", "120000"); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

// testStop ends the node: its last frame says so.
func (n *node) testStop(t *testing.T) {
	if out, err := n.Nodetool(t.Context(), "drain"); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if n.version != engines.Cassandra60 { // which does not log it
		n.mustEvent(t, "stop", nil, "drained")
	}
	if err := n.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	n.mustEvent(t, "stop", nil, "the JVM ends")
}

// TestNeighbours has the agent tell what another node does, and what the two do together.
func TestNeighbours(t *testing.T) {
	n := mustNode(t, "")
	second := engines.MustCassandra(t, func(c *engines.CassandraConfig) {
		c.ListenAddress, c.StoragePort, c.NativePort = "127.0.0.2", n.StoragePort, n.NativePort
		c.Seeds = []string{net.JoinHostPort(n.Host, strconv.Itoa(n.StoragePort))}
		// one token, since a node with more cannot move
		c.Extra = map[string]any{"auto_bootstrap": false, "num_tokens": 1}
		// it sleeps for so long when it moves and when it leaves
		c.JVMArgs = append(c.JVMArgs, "-Dcassandra.ring_delay_ms=10000")
	})
	peer := labelled{"peer": net.JoinHostPort(second.Host, strconv.Itoa(second.StoragePort))}
	run := func(what *engines.Cassandra, words ...string) {
		t.Helper()
		if _, err := what.Nodetool(t.Context(), words...); err != nil {
			t.Fatal(err)
		}
	}
	n.mustEvent(t, "node_joined", peer, "")
	n.mustEvent(t, "node_up", peer, "")

	n.exec(t, "CREATE KEYSPACE both WITH replication = "+
		"{'class': 'SimpleStrategy', 'replication_factor': 2}")
	n.fill(t, "both.t", 10)
	run(n.Cassandra, "repair", "--full", "both")
	its := labelled{"keyspace": "both", "command": ""}
	n.mustEvent(t, "repair", its, "started, full")
	n.mustEvent(t, "repair", its, "finished in ")

	run(second, "move", "5000")
	n.mustEvent(t, "node_moved", peer, "")

	n.frames.mu.Lock()
	before := len(n.frames.events)
	n.frames.mu.Unlock()
	if err := second.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	if e := n.mustEvent(t, "node_down", peer, ""); e.Severity != frame.Warning {
		t.Errorf("it is %v", e)
	}
	if _, err := n.frames.event(t.Context(), func(e *frame.Event) bool {
		n.frames.mu.Lock()
		defer n.frames.mu.Unlock()
		return slices.ContainsFunc(n.frames.events[before:], func(e frame.Event) bool {
			return e.Kind == "node_up"
		})
	}); err != nil {
		t.Errorf("it is not up again: %v", err)
	}

	n.exec(t, "DROP KEYSPACE both")
	run(second, "decommission", "-f")
	n.mustEvent(t, "node_left", peer, "")
}
