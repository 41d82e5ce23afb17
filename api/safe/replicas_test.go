package safe_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ringwatch/ringwatch/api/safe"
)

// member is a node of a made-up ring.
type member struct {
	datacenter, rack string
	down             bool
}

// ring is a cluster of such nodes, n1 and so on, and one keyspace: its copies by datacenter, or all
// of SimpleStrategy under *.
func ring(t *testing.T, copies map[string]int, members ...member) (*source, safe.Question) {
	t.Helper()
	s := series{}
	q := question(safe.Restart, "")
	q.Nodes = nil
	for i, m := range members {
		n := i + 1
		one := series{}
		one.node(n)
		one.drop("^cassandra_(keyspace_replicas|peer_up)")
		strategy, count := "NetworkTopologyStrategy", copies[m.datacenter]
		if all, is := copies["*"]; is {
			strategy, count = "SimpleStrategy", all
		}
		one[fmt.Sprintf(`cassandra_keyspace_replicas{cluster=%q,datacenter="dc1",rack="r%d",`+
			`node="n%d",keyspace="shop",strategy=%q}`, cluster, n, n, strategy)] =
			always(fmt.Sprint(count))
		if m.down {
			one.down(n)
			one.drop("hints|peer_up")
		}
		at := strings.NewReplacer(`datacenter="dc1"`, fmt.Sprintf("datacenter=%q", m.datacenter),
			fmt.Sprintf(`rack="r%d"`, n), fmt.Sprintf("rack=%q", m.rack))
		for key, values := range one {
			s[at.Replace(key)] = values
		}
		q.Nodes = append(q.Nodes, safe.Node{ID: fmt.Sprintf("n%d", n), Datacenter: m.datacenter,
			Rack: m.rack, Name: fmt.Sprintf("db-%d", n)})
	}
	return s.source(t), q
}

// TestReplicas: what keyspaces lose while the first node is away.
func TestReplicas(t *testing.T) {
	up := func(racks string) (list []member) {
		for _, at := range strings.Fields(racks) {
			datacenter, rack, _ := strings.Cut(at, "/")
			rack, down := strings.CutSuffix(rack, "!")
			list = append(list, member{datacenter, rack, down})
		}
		return list
	}
	for _, c := range []struct {
		name   string
		copies map[string]int
		nodes  string
		want   string // of one_copy and quorum
	}{
		{"three of three", map[string]int{"a": 3}, "a/1 a/1 a/1", ""},
		{"three of three in racks", map[string]int{"a": 3}, "a/1 a/2 a/3", ""},
		{"three of three, simple", map[string]int{"*": 3}, "a/1 a/2 a/3", ""},
		{"three of two", map[string]int{"a": 3}, "a/1 a/2", "LOCAL_QUORUM and QUORUM"},
		{"two of many", map[string]int{"a": 2}, "a/1 a/2 a/3 a/4 a/5",
			"(copies: 2 in a) loses LOCAL_QUORUM and QUORUM while db-1 is away."},
		{"two, simple", map[string]int{"*": 2}, "a/1 a/2 a/3",
			"(copies: 2) loses QUORUM while db-1 is away."},
		{"one", map[string]int{"a": 1}, "a/1 a/2 a/3", "has one copy in datacenter a:"},
		{"one, simple", map[string]int{"*": 1}, "a/1 a/2 a/3", "has one copy in the cluster:"},
		{"another is down", map[string]int{"a": 3}, "a/1 a/2! a/3 a/4",
			"while db-1 is away, with db-2 away as well."},
		{"another of the rack is down", map[string]int{"a": 3}, "a/1 a/1! a/2 a/3", ""},
		{"another of the rack, too few racks", map[string]int{"a": 3}, "a/1 a/1! a/2 a/2",
			"LOCAL_QUORUM and QUORUM"},
		{"another of the rack, simple", map[string]int{"*": 3}, "a/1 a/1! a/2 a/3", "QUORUM"},
		{"all of two are away", map[string]int{"a": 2}, "a/1 a/2! a/3",
			"loses LOCAL_QUORUM, QUORUM and ONE"},
		{"five bear two", map[string]int{"a": 5}, "a/1 a/2! a/3 a/4 a/5", ""},
		{"it is down itself", map[string]int{"a": 1}, "a/1! a/2 a/3", ""},
		{"it has no copy", map[string]int{"a": 0, "b": 2}, "a/1 b/1 b/2", ""},
		{"two datacenters", map[string]int{"a": 3, "b": 3}, "a/1 a/1 a/1 b/1 b/1 b/1", ""},
		{"one in the other", map[string]int{"a": 3, "b": 1}, "a/1 a/1 a/1 b/1", ""},
		{"one in this", map[string]int{"a": 1, "b": 3}, "a/1 b/1 b/1 b/1",
			"has one copy in datacenter a:"},
		{"one in each", map[string]int{"a": 1, "b": 1}, "a/1 b/1",
			"has one copy in datacenter a: (copies: 1 in a and 1 in b) loses QUORUM"},
		{"the other is down", map[string]int{"a": 3, "b": 3}, "a/1 a/1 a/1 b/1! b/1! b/1!",
			"No node of datacenter b says how many copies are there."},
		{"another strategy", map[string]int{"*": -1}, "a/1 a/2 a/3",
			"The copies of keyspace shop are not known"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, q := ring(t, c.copies, up(c.nodes)...)
			q.Node = "n1"
			var texts []string
			for _, r := range mustAsk(t, s, q).Reasons {
				if r.Condition == "quorum" || r.Condition == "one_copy" {
					texts = append(texts, r.Text)
				}
			}
			got := strings.Join(texts, " ")
			for _, part := range strings.SplitAfter(c.want, ": ") {
				if !strings.Contains(got, strings.TrimSpace(part)) || c.want == "" && got != "" {
					t.Errorf("%q, want %q", got, c.want)
				}
			}
		})
	}
}

// TestOldAgent: of a node that does not say its replicas nothing is known, also if it is the one
// that is taken.
func TestOldAgent(t *testing.T) {
	for _, node := range []string{"n1", "n2", ""} {
		s := four()
		s.drop(`^cassandra_keyspace_replicas.*node="n2"`)
		if got := broken(mustAsk(t, s.source(t), question(safe.Restart, node))); got !=
			"one_copy? quorum?" {
			t.Errorf("%q: %q", node, got)
		}
	}
}

// choices are the nodes of an answer in its order, with ! behind those that cannot be taken.
func choices(a *safe.Answer) string {
	var list []string
	for _, c := range a.Nodes {
		mark := ""
		if !c.Safe {
			mark = "!"
		}
		list = append(list, c.Node+mark)
	}
	return strings.Join(list, " ")
}

// TestWhichever: without a node it is a yes only if each could be taken, and each choice is what
// the question about that node alone says.
func TestWhichever(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(series)
		want   string
	}{
		{"all is well", func(series) {}, "n1 n2 n3 n4"},
		{"one is down", func(s series) { s.down(3) }, "n3 n1! n2! n4!"},
		{"one joins", func(s series) { s.mode(3, "JOINING") }, "n1! n2! n3! n4!"},
		{"one drains", func(s series) { s.mode(3, "DRAINED") }, "n1! n2! n3 n4!"},
		{"one has another schema", func(s series) { s.info("schema", 3, "s1", "s2") },
			"n1! n2! n3 n4!"},
		{"one streams", func(s series) {
			s.put(`cassandra_node_streams{node="n2"}`, changing("0", "1"))
		}, "n1! n2! n3! n4!"},
		{"one has much to compact", func(s series) {
			s.put(`cassandra_compaction_pending_tasks{node="n1"}`, changing("2", "30"))
		}, "n1 n2! n3! n4!"},
		{"two copies", func(s series) { s.copies("shop", "2") }, "n1! n2! n3! n4!"},
		{"hints", func(s series) {
			s.put(`cassandra_hints_peer_created_total{node="n2",peer="10.0.0.3:7000"}`,
				lately("10"))
		}, "n1! n2! n3 n4!"},
		{"an old agent", func(s series) { s.drop(`^cassandra_keyspace_replicas.*node="n2"`) },
			"n1! n2! n3! n4!"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := four()
			c.change(s)
			a := mustAsk(t, s.source(t), question(safe.Restart, ""))
			if got := choices(a); got != c.want || a.Safe == strings.Contains(got, "!") {
				t.Errorf("%s, want %s: %+v", got, c.want, a.Reasons)
			}
			for _, one := range a.Nodes {
				if alone := mustAsk(t, s.source(t), question(safe.Restart, one.Node)); alone.Safe !=
					one.Safe || one.Safe != (len(one.Reasons) == 0) {
					t.Errorf("%+v, and alone %+v", one, alone.Reasons)
				}
			}
		})
	}
	if a := mustAsk(t, four().source(t), question(safe.Repair, "")); a.Nodes != nil {
		t.Errorf("a repair takes no node away: %+v", a.Nodes)
	}
}

// TestOneNode: a cluster of one node is a no, whether or not it is named; a repair is none of that.
func TestOneNode(t *testing.T) {
	for purpose, want := range map[safe.Purpose]string{safe.Restart: "fresh one_copy",
		safe.Upgrade: "fresh one_copy", safe.Repair: ""} {
		for _, node := range []string{"", "n1"} {
			s, q := ring(t, map[string]int{"*": 1}, member{"a", "1", false})
			q.For, q.Node = purpose, node
			if a := mustAsk(t, s, q); broken(a) != want {
				t.Errorf("%s %q: %+v", purpose, node, a.Reasons)
			}
		}
	}
}

// TestOrder: rack by rack, after those that do not serve anyway.
func TestOrder(t *testing.T) {
	s, q := ring(t, map[string]int{"a": 3, "b": 3}, member{"b", "1", false},
		member{"a", "2", false},
		member{"a", "1", false}, member{"a", "2", false}, member{"a", "3", false},
		member{"b", "2", false}, member{"b", "3", false}, member{"a", "1", false})
	if got := choices(mustAsk(t, s, q)); got != "n3 n8 n2 n4 n5 n1 n6 n7" {
		t.Error(got)
	}
}
