package ring

import (
	"slices"
	"testing"
	"time"
)

// A frozen node's keys are asked of a node that is left alone, if nobody else has them: at once,
// not when the frozen one is given up.
func TestRacedToWhoIsLeftAlone(t *testing.T) {
	c := mustTrio(t)
	ks := c.keyspace(t, two)
	c.exec(t, "CREATE TABLE "+ks+".items (id int PRIMARY KEY, v int)")
	all := make([]Key, 40)
	for i := range all {
		all[i] = Key{i}
		c.exec(t, "INSERT INTO "+ks+".items (id, v) VALUES (?, ?)", i, i)
	}
	// A request is given up after a part of the timeout, in which the race must be over on any
	// machine.
	r := c.mustReader(t, func(c *Config) { c.Timeout = 10 * time.Minute })
	read := func(keys []Key) {
		t.Helper()
		results, err := r.Read(t.Context(),
			Query{Keyspace: ks, Table: "items", Columns: []string{"v"}}, keys)
		if err != nil {
			t.Fatal(err)
		}
		for i, result := range results {
			var v int
			if result.Err != nil || len(result.Rows) != 1 || result.Rows[0].Scan(&v) != nil ||
				v != keys[i][0] {
				t.Errorf("key %v: %+v", keys[i], result)
			}
		}
	}
	read(all)
	table, err := r.table(t.Context(), ks, "items")
	if err != nil {
		t.Fatal(err)
	}
	topology := r.topology.Load()
	placement := topology.place(table.replication, "dc1")
	set := table.encode(all, func(i int, err error) { t.Fatal(err) })
	frozen := int32(slices.IndexFunc(topology.nodes, func(n node) bool {
		return n.host.driver.Load().ConnectAddress().String() == c.nodes[1].Host
	}))
	var its []Key
	for i, routing := range set.routing {
		if slices.Contains(placement.of(tokenOf(routing)), frozen) {
			its = append(its, all[i])
		}
	}
	if len(its) == 0 || len(its) == len(all) {
		t.Fatalf("%d of %d keys are the frozen node's", len(its), len(all))
	}
	for i, n := range topology.nodes {
		if int32(i) != frozen {
			n.host.until.Store(r.now() + int64(time.Hour))
		}
	}
	if err := c.nodes[1].Pause(); err != nil {
		t.Fatal(err)
	}
	defer c.nodes[1].Resume()
	begun, given := count(r.metrics.begun), count(r.metrics.errors.WithLabelValues("host"))
	read(its)
	if count(r.metrics.begun) == begun {
		t.Error("nothing was raced")
	}
	if n := count(r.metrics.errors.WithLabelValues("host")) - given; n > 0 {
		t.Errorf("%v requests were given up before their keys were asked for elsewhere", n)
	}
}
