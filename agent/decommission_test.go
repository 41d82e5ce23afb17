package agent_test

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"testing"
	"time"

	"github.com/ringwatch/ringwatch/dev/engines"
	"github.com/ringwatch/ringwatch/query/roster"
	"github.com/ringwatch/ringwatch/rules"
	"github.com/ringwatch/ringwatch/stream"
)

// TestDecommission takes a real node out of its ring. Its frames say so and go on, its address
// stays in them, and by them the rules see that it has left.
func TestDecommission(t *testing.T) {
	first := engines.MustCassandra(t)
	n := mustNode(t, "", func(c *engines.CassandraConfig) {
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
	before := n.next(t)
	address := before.node.Fact("address")
	if address == "" {
		t.Fatalf("it has no address: %v", before.node.Facts)
	}
	if _, err := n.jmx.read("org.apache.cassandra.db:type=StorageService",
		"decommission(true)"); err != nil {
		t.Fatal(err)
	}
	left := n.until(t, "what it says after it left", mode("DECOMMISSIONED"))
	// Facts are read once a minute.
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
}
