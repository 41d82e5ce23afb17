package ring

import (
	"errors"
	"slices"
	"testing"

	"github.com/ringwatch/ringwatch/dev/engines"
	"github.com/ringwatch/ringwatch/dev/eventually"
)

const inDC2 = "127.0.0.5"

// TestDatacenters: with a second datacenter a reader asks its own only, and knows the replicas of
// both.
func TestDatacenters(t *testing.T) {
	c := mustTrio(t)
	n, err := c.startNode(5, func(c *engines.CassandraConfig) { c.Datacenter = "dc2" })
	if err != nil {
		t.Fatal(err)
	}
	defer n.Kill()
	for _, node := range append(slices.Clone(c.nodes), n) {
		if err := c.sees(node, 3); err != nil {
			t.Fatal(err)
		}
	}
	ks := c.keyspace(t, "{'class': 'NetworkTopologyStrategy', 'dc1': 2, 'dc2': 1}")
	h := &hammer{ks: ks, keys: 400}
	h.fill(t, c)
	readers := map[string]*Reader{}
	for _, datacenter := range []string{"", "dc1", "dc2"} {
		r := c.mustReaderOf(t, 4, func(c *Config) {
			c.Datacenter, c.Speculation = datacenter, "never"
		})
		readers[datacenter] = r
		if datacenter != "dc2" {
			checkPlacement(t, c, r, ks, datacenter)
		}
	}
	all := make([]Key, 2*h.keys)
	for k := range all {
		all[k] = Key{k}
	}
	// read returns which keys are answered rightly, and which fail.
	read := func(datacenter string) (right, failed int) {
		t.Helper()
		results, err := readers[datacenter].Read(t.Context(),
			Query{Keyspace: ks, Table: "t", Columns: []string{"v"}}, all)
		if err != nil {
			t.Fatal(err)
		}
		for k, result := range results {
			var v string
			switch {
			case result.Err != nil:
				failed++
			case len(result.Rows) != boolInt(k < h.keys), k < h.keys &&
				(result.Rows[0].Scan(&v) != nil || v != h.value(k)):
				t.Errorf("key %d is answered with %v", k, result.Rows)
			default:
				right++
			}
		}
		return right, failed
	}
	// What a node was asked for itself tells whom each reader asked.
	for datacenter, r := range readers {
		if right, failed := read(datacenter); right != len(all) {
			t.Fatalf("%q: %d right, %d failed", datacenter, right, failed)
		}
		for _, host := range r.hosts.all() {
			local := host.driver.Load().DataCenter() == datacenter
			if asked := host.answered.Load() > 0; datacenter != "" && asked != local {
				t.Errorf("a reader of %s asked %s: %v", datacenter,
					host.driver.Load().ConnectAddress(), asked)
			}
		}
	}
	if err := n.Kill(); err != nil {
		t.Fatal(err)
	}
	eventually.Nil(t, "the other datacenter to be down", func() error {
		for _, host := range readers["dc2"].hosts.all() {
			if host.up() && host.driver.Load().DataCenter() == "dc2" {
				return errors.New("it is up")
			}
		}
		return nil
	})
	if right, failed := read("dc2"); failed != len(all) {
		t.Errorf("without a node in its datacenter %d keys are answered, and %d fail",
			right, failed)
	}
	for _, datacenter := range []string{"dc1", ""} {
		if right, failed := read(datacenter); right != len(all) {
			t.Errorf("without the other datacenter %q answers %d, and %d fail", datacenter,
				right, failed)
		}
	}
	if err := n.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	nodetool(t, n, "decommission", "--force")
	for _, node := range c.nodes {
		if err := c.sees(node, 2); err != nil {
			t.Error(err)
		}
	}
}
