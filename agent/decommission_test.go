package agent_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ringwatch/ringwatch/dev/engines"
	"github.com/ringwatch/ringwatch/query/roster"
	"github.com/ringwatch/ringwatch/rules"
	"github.com/ringwatch/ringwatch/stream"
)

// TestDecommission takes a real node out of its ring, after the two were repaired. Its frames say
// so and go on, its address stays in them, and by them the rules see that it has left.
func TestDecommission(t *testing.T) {
	versions := []string{engines.CassandraVersion}
	if os.Getenv("RINGWATCH_TEST_FULL") != "" {
		versions = []string{engines.Cassandra40, engines.Cassandra41, engines.CassandraVersion}
	}
	for _, version := range versions {
		t.Run(version, func(t *testing.T) { testDecommission(t, version) })
	}
}

func testDecommission(t *testing.T, version string) {
	first := mustNode(t, version)
	n := mustNode(t, version, func(c *engines.CassandraConfig) {
		c.ListenAddress, c.StoragePort, c.NativePort = "127.0.0.2", first.StoragePort,
			first.NativePort
		c.Seeds = []string{net.JoinHostPort(first.Host, strconv.Itoa(first.StoragePort))}
		c.Extra = map[string]any{"auto_bootstrap": false}
		// it sleeps for so long when it leaves
		c.JVMArgs = append(c.JVMArgs, "-Dcassandra.ring_delay_ms=10000")
	})
	mode := func(want string) func(*state) error {
		return func(s *state) error {
			if is := s.series["cassandra_node_operation_mode_info"]; is == nil ||
				is.Strings[0] != want {
				return fmt.Errorf("the mode is %v", is)
			}
			return nil
		}
	}
	n.until(t, "its ring", func(s *state) error {
		if up := s.series["cassandra_node_peers_up"]; up == nil || up.Ints[0] != 1 {
			return fmt.Errorf("it sees %v", up)
		}
		return mode("NORMAL")(s)
	})
	t.Run("Repair", func(t *testing.T) { testRepair(t, first, n) })
	alone := pourInto(t, n, "alone", 6) // with one replica, so half of it has to move
	before := n.next(t)
	address := before.node.Fact("address")
	if address == "" {
		t.Fatalf("it has no address: %v", before.node.Facts)
	}
	gone := n.begin(t, "decommission", "--force")
	n.until(t, "what it sends away", testsStream("out|decommission|"+first.peer(t), alone))
	if err := <-gone; err != nil {
		t.Fatal(err)
	}
	left := n.until(t, "what it says after it left", mode("DECOMMISSIONED"))
	// Facts are read once a minute.
	n.until(t, "the end of its streams", func(s *state) error {
		if keys := s.with("cassandra_stream_done_ratio", ""); len(keys) > 0 {
			return fmt.Errorf("%q are there", keys)
		}
		return nil
	})
	last := n.until(t, "frames of another minute", func(s *state) error {
		if s.at < left.at+70_000 {
			return fmt.Errorf("the newest is %d ms after it left", s.at-left.at)
		}
		return mode("DECOMMISSIONED")(s)
	})
	if got := last.node.Fact("address"); got != address {
		t.Errorf("its address was %s and is %q", address, got)
	}

	var who roster.Roster
	c := rules.DefaultConfig()
	role, err := rules.New(c, rules.Deps{Roster: &who,
		Notify: func(context.Context, []rules.Alert) {}})
	if err != nil {
		t.Fatal(err)
	}
	n.frames.mu.Lock()
	list := [][]byte{n.frames.key, n.frames.newest}
	n.frames.mu.Unlock()
	for i, b := range list {
		err := role.Handle(t.Context(),
			[]stream.Record{{Account: "acme", Cluster: last.node.Cluster,
				Offset: int64(i), Received: time.Now(), Value: b}})
		if err != nil {
			t.Fatal(err)
		}
	}
	if end := who.End("acme", last.node.Cluster, last.node.ID); end == nil ||
		end.Why != roster.Decommissioned {
		t.Errorf("it left as %+v", end)
	}
	// nobody is there to repair with
	if _, err := first.Nodetool(t.Context(), "repair", "--full", "both"); err == nil {
		t.Error("a repair of a node alone has ended well")
	}
	first.until(t, "a failure", func(s *state) error {
		if got := s.text("cassandra_repair_failures_total"); got != "1" {
			return fmt.Errorf("%s repairs have failed", got)
		}
		return nil
	})
}

// peer is a node as others call it.
func (n *node) peer(t *testing.T) string {
	t.Helper()
	return net.JoinHostPort(n.Host, strconv.Itoa(n.StoragePort))
}

// pourInto makes a keyspace with one replica and a table t of so many megabytes that do not
// compress, flushes it on all nodes that are given, and returns how many bytes it wrote.
func pourInto(t *testing.T, n *node, keyspace string, megabytes int, also ...*node) float64 {
	t.Helper()
	n.exec(t, "CREATE KEYSPACE "+keyspace+replication)
	n.exec(t, "CREATE TABLE "+keyspace+".t (k int PRIMARY KEY, v blob)")
	noise := make([]byte, 64<<10)
	for i := range megabytes * 16 {
		if _, err := rand.Read(noise); err != nil {
			t.Fatal(err)
		}
		n.exec(t, "INSERT INTO "+keyspace+".t (k, v) VALUES (?, ?)", i, noise)
	}
	for _, each := range append(also, n) {
		each.flush(t, keyspace)
	}
	return float64(megabytes << 20)
}

// testsStream accepts a state with a stream under way whose labels begin so, of no more than so
// many bytes and some overhead.
func testsStream(labels string, most float64) func(s *state) error {
	return func(s *state) error {
		err := fmt.Errorf("no %s among %q", labels, s.with("cassandra_stream_files", ""))
		for _, key := range s.with("cassandra_stream_done_bytes", labels) {
			rest := strings.TrimPrefix(key, "cassandra_stream_done_bytes")
			done, size := s.number(key), s.number("cassandra_stream_size_bytes"+rest)
			files := s.number("cassandra_stream_files" + rest)
			if size > 0 && size <= 1.5*most && done <= size && files >= 1 &&
				len(s.text("cassandra_stream_id_info"+rest)) == 36 &&
				s.series["cassandra_stream_started_timestamp_seconds"+rest] != nil {
				return nil
			}
			err = fmt.Errorf("%s: %g of %g bytes, %g files", key, done, size, files)
		}
		return err
	}
}

// testRepair repairs a keyspace whose second replica has nothing, from the node that tells the
// cluster what is repaired: the one with the lowest id.
func testRepair(t *testing.T, first, second *node) {
	teller, other := first, second
	if a, b := first.next(t).node.ID, second.next(t).node.ID; a.String() > b.String() {
		teller, other = second, first
	}
	bytes := pourInto(t, teller, "both", 4, other)
	teller.exec(t, "ALTER KEYSPACE both WITH replication = "+
		"{'class': 'SimpleStrategy', 'replication_factor': 2}")
	for _, each := range []*node{teller, other} {
		each.nodetool(t, "setstreamthroughput", "4") // megabits a second
		if each.version != engines.Cassandra40 {
			each.nodetool(t, "setstreamthroughput", "-e", "1")
		}
	}
	began := float64(time.Now().Unix())
	ended := teller.begin(t, "repair", "--full", "both")
	teller.until(t, "a repair", func(s *state) error {
		ratio := s.series["cassandra_repair_session_done_ratio|both|0|t"]
		switch id := s.text("cassandra_repair_session_id_info|both|0|t"); {
		case ratio == nil || s.text("cassandra_repair_sessions_running") != "1":
			return fmt.Errorf("%s run, and %q are there",
				s.text("cassandra_repair_sessions_running"),
				s.with("cassandra_repair_session_done_ratio", ""))
		case len(id) != 36 || ratio.Doubles[0] < 0 || ratio.Doubles[0] > 1:
			return fmt.Errorf("%q is done to %g", id, ratio.Doubles[0])
		}
		return testsStream("in|repair|"+other.peer(t), bytes)(s)
	})
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	full := float64(time.Now().Unix())
	teller.nodetool(t, "repair", "both") // incremental
	teller.until(t, "what is repaired", func(s *state) error {
		of := func(metric string) float64 {
			return s.number("cassandra_repair_" + metric + "|both|t")
		}
		last, due := of("last_full_success_timestamp_seconds"), of("due_timestamp_seconds")
		incremental := of("last_incremental_success_timestamp_seconds")
		if last < began-1 || last > full || incremental < full-1 ||
			due != incremental+864_000 || of("gc_grace_seconds") != 864_000 {
			return fmt.Errorf("a full one at %g, an incremental one at %g, due at %g of %g (%q)",
				last, incremental, due, of("gc_grace_seconds"),
				s.with("cassandra_repair_gc_grace_seconds", ""))
		}
		if got := s.text("cassandra_repair_successes_total"); got != "2" {
			return fmt.Errorf("%s repairs have succeeded", got)
		}
		if keys := s.with("cassandra_repair_session_done_ratio", ""); len(keys) > 0 {
			return fmt.Errorf("%q are there", keys)
		}
		return nil
	})
	if keys := other.next(t).with("cassandra_repair_gc_grace_seconds", ""); len(keys) > 0 {
		t.Errorf("the other node tells, too: %q", keys)
	}
}
