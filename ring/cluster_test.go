package ring

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	gocql "github.com/apache/cassandra-gocql-driver/v2"

	"github.com/ringwatch/ringwatch/dev/engines"
	"github.com/ringwatch/ringwatch/dev/eventually"
)

// TestPlacement: every range has the replicas that Cassandra says it has.
func TestPlacement(t *testing.T) {
	c := mustTrio(t)
	for name, replication := range map[string]string{"Simple": two,
		"Topology": "{'class': 'NetworkTopologyStrategy', 'dc1': 2}"} {
		t.Run(name, func(t *testing.T) {
			ks := c.keyspace(t, replication)
			checkPlacement(t, c, c.mustReader(t), ks, "dc1")
		})
	}
}

func optionsOf(t *testing.T, c *trio, ks string) (options map[string]string) {
	t.Helper()
	if err := c.session.Query("SELECT replication FROM system_schema.keyspaces WHERE "+
		"keyspace_name = ?", ks).Scan(&options); err != nil {
		t.Fatal(err)
	}
	return options
}

var (
	rangeLine = regexp.MustCompile(
		`TokenRange\(start_token:(-?\d+), end_token:(-?\d+), endpoints:\[([^\]]*)\]`)
	spaces = regexp.MustCompile(`[\s/]+`)
)

// checkPlacement compares a keyspace's replicas in a datacenter, or in all of them, with
// Cassandra's.
func checkPlacement(t *testing.T, c *trio, r *Reader, ks, datacenter string) {
	t.Helper()
	topology := r.topology.Load()
	p := topology.place(parseReplication(optionsOf(t, c, ks)), datacenter)
	if p == nil {
		t.Fatalf("%s is not placed", ks)
	}
	lines := rangeLine.FindAllStringSubmatch(nodetool(t, c.nodes[0], "describering", ks), -1)
	if len(lines) != len(topology.ring) {
		t.Fatalf("Cassandra has %d ranges, not %d", len(lines), len(topology.ring))
	}
	for _, line := range lines {
		end, _ := strconv.ParseInt(line[2], 10, 64)
		begin, _ := strconv.ParseInt(line[1], 10, 64)
		want := slices.DeleteFunc(strings.Split(spaces.ReplaceAllString(line[3], ""), ","),
			func(host string) bool {
				return datacenter == "dc1" && host == inDC2
			})
		slices.Sort(want)
		for _, token := range []int64{end, begin + 1} {
			var got []string
			for _, n := range p.of(token) {
				got = append(got, topology.nodes[n].host.driver.Load().ConnectAddress().String())
			}
			slices.Sort(got)
			if !slices.Equal(got, want) {
				t.Errorf("%s: token %d lies on %v, not %v", ks, token, want, got)
			}
		}
	}
}

// TestSchema: a table that is altered, dropped, made anew and placed elsewhere is read as it is.
func TestSchema(t *testing.T) {
	c := mustTrio(t)
	ks := c.keyspace(t, "{'class': 'SimpleStrategy', 'replication_factor': 1}")
	c.exec(t, "CREATE TABLE "+ks+".t (k int PRIMARY KEY, v int)")
	c.exec(t, "INSERT INTO "+ks+".t (k, v) VALUES (1, 1)")
	r := c.mustReader(t)
	read := func(columns string, keys ...Key) ([]string, error) {
		results, err := r.Read(t.Context(),
			Query{Keyspace: ks, Table: "t", Columns: strings.Fields(columns)}, keys)
		if err != nil {
			return nil, err
		}
		var all []string
		for _, result := range results {
			if result.Err != nil {
				return nil, result.Err
			}
			for _, row := range result.Rows {
				for i := range row.Columns() {
					all = append(all, fmt.Sprintf("%s=%x", row.Columns()[i].Name, row.Raw(i)))
				}
			}
		}
		return all, nil
	}
	become := func(what, columns, want string, keys ...Key) {
		t.Helper()
		eventually.Nil(t, what, func() error {
			if got, err := read(columns, keys...); err != nil || fmt.Sprint(got) != want {
				return fmt.Errorf("%v, %v", got, err)
			}
			return nil
		})
	}
	become("a row", "", "[k=00000001 v=00000001]", Key{1}, Key{2})
	c.exec(t, "ALTER TABLE "+ks+".t ADD w text")
	c.exec(t, "UPDATE "+ks+".t SET w = 'w' WHERE k = 1")
	become("the new column", "", "[k=00000001 v=00000001 w=77]", Key{1}, Key{2})
	c.exec(t, "ALTER TABLE "+ks+".t DROP v")
	if _, err := read("v", Key{1}); err == nil {
		t.Error("a dropped column is read")
	}
	eventually.Nil(t, "the dropped column to be known", func() error {
		if _, err := read("v", Key{1}); !errors.Is(err, ErrNoTable) {
			return fmt.Errorf("it says %v", err)
		}
		return nil
	})
	c.exec(t, "DROP TABLE "+ks+".t")
	eventually.Nil(t, "the dropped table to be known", func() error {
		if _, err := read("", Key{1}, Key{2}); !errors.Is(err, ErrNoTable) {
			return fmt.Errorf("it says %v", err)
		}
		return nil
	})
	c.exec(t, "CREATE TABLE "+ks+".t (k text PRIMARY KEY, w bigint)")
	c.exec(t, "INSERT INTO "+ks+".t (k, w) VALUES ('1', 1)")
	become("the table of another type", "w", "[w=0000000000000001]", Key{"1"}, Key{"2"})
	c.exec(t, "DROP TABLE "+ks+".t")
	c.exec(t, "CREATE TABLE "+ks+".t (k text PRIMARY KEY, w text)")
	c.exec(t, "INSERT INTO "+ks+".t (k, w) VALUES ('1', 'x')")
	become("the table made anew", "w", "[w=78]", Key{"1"}, Key{"2"})
	c.exec(t, "ALTER KEYSPACE "+ks+" WITH replication = "+three)
	eventually.Nil(t, "the new replication to be known", func() error {
		table, err := r.table(t.Context(), ks, "t")
		if err != nil {
			return err
		}
		if p := r.topology.Load().place(table.replication, "dc1"); p == nil || len(p.of(0)) != 3 {
			return fmt.Errorf("%+v", table.replication)
		}
		return nil
	})
}

// hammer reads random keys all the while and checks that every answer is its key's.
type hammer struct {
	r       *Reader
	ks      string
	keys    int // that are there; as many more are not
	checked atomic.Int64
	failed  atomic.Int64
	wrong   atomic.Int64
	first   atomic.Pointer[string] // what was wrong
	wanted  atomic.Int64           // who waits for more answers
	stop    context.CancelFunc
	wait    sync.WaitGroup
}

const (
	hammerKeys    = 4000
	hammerBatch   = 50
	hammerTimeout = 20 * time.Second
)

func (h *hammer) value(k int) string {
	return fmt.Sprintf("%d: %s", k, strings.Repeat(strconv.Itoa(k), k%20))
}

func (h *hammer) fill(t *testing.T, c *trio) {
	t.Helper()
	c.exec(t, "CREATE TABLE "+h.ks+".t (k int PRIMARY KEY, v text)")
	for from := 0; from < h.keys; from += 100 {
		b := c.session.Batch(gocql.UnloggedBatch)
		for k := from; k < from+100; k++ {
			b.Query("INSERT INTO "+h.ks+".t (k, v) VALUES (?, ?)", k, h.value(k))
		}
		if err := b.Exec(); err != nil {
			t.Fatal(err)
		}
	}
}

// round reads one batch.
func (h *hammer) round(ctx context.Context, next func() int) {
	keys, ids := make([]Key, hammerBatch), make([]int, hammerBatch)
	for i := range keys {
		ids[i] = next() % (2 * h.keys)
		keys[i] = Key{ids[i]}
	}
	bounded, cancel := context.WithTimeout(ctx, hammerTimeout)
	defer cancel()
	results, err := h.r.Read(bounded, Query{Keyspace: h.ks, Table: "t", Columns: []string{"v"}},
		keys)
	if ctx.Err() != nil {
		return
	}
	say := func(text string) { h.first.CompareAndSwap(nil, &text) }
	if err != nil {
		say(err.Error())
		h.failed.Add(hammerBatch)
		return
	}
	for i, result := range results {
		h.checked.Add(1)
		var v string
		switch {
		case result.Err != nil:
			say(result.Err.Error())
			h.failed.Add(1)
		case len(result.Rows) != boolInt(ids[i] < h.keys):
			say(fmt.Sprintf("key %d has %d rows", ids[i], len(result.Rows)))
			h.wrong.Add(1)
		case len(result.Rows) == 1 && (result.Rows[0].Scan(&v) != nil || v != h.value(ids[i])):
			say(fmt.Sprintf("key %d has value %s", ids[i], v))
			h.wrong.Add(1)
		}
	}
}

func (h *hammer) start(ctx context.Context, seed uint64, goroutines int) {
	ctx, h.stop = context.WithCancel(ctx)
	for g := range goroutines {
		state := seed + uint64(g)*0x9e3779b97f4a7c15
		next := func() int {
			state = state*6364136223846793005 + 1442695040888963407
			return int(state >> 33)
		}
		h.wait.Go(func() {
			for ctx.Err() == nil {
				h.round(ctx, next)
				// as fast as they come they would take the machine from other tests
				if os.Getenv("RINGWATCH_TEST_FULL") == "" {
					pause := 100 * time.Millisecond // and from nodes that start
					if h.wanted.Load() > 0 {
						pause = 20 * time.Millisecond
					}
					select {
					case <-ctx.Done():
					case <-time.After(pause):
					}
				}
			}
		})
	}
}

// more waits until so many keys more were answered.
func (h *hammer) more(t *testing.T, keys int64) {
	t.Helper()
	h.wanted.Add(1)
	defer h.wanted.Add(-1)
	from := h.checked.Load()
	eventually.Nil(t, fmt.Sprintf("%d more answers", keys), func() error {
		if n := h.checked.Load() - from; n < keys {
			return fmt.Errorf("%d came", n)
		}
		return nil
	})
}

// TestFaults reads at random, all the while that nodes are paused, slow, killed, added, at full
// extent moved, and taken away. No answer is ever another key's, and when a fault is over all
// keys are answered again.
func TestFaults(t *testing.T) {
	c := mustTrio(t)
	ks := c.keyspace(t, two)
	seed := uint64(time.Now().UnixNano())
	t.Log("seed", seed)
	// On a machine so slow that every answer is late, races would be used up before a node hangs.
	r := c.mustReader(t, func(c *Config) { c.SpeculationShare = 1 })
	h := &hammer{r: r, ks: ks, keys: hammerKeys}
	h.fill(t, c)
	// a commit log that is written every ten seconds loses the last of them with its node
	for _, n := range c.nodes {
		nodetool(t, n, "flush", ks)
	}
	h.start(t.Context(), seed, 4)
	defer h.wait.Wait()
	defer h.stop()
	h.more(t, 2000)
	if n := h.failed.Load(); n > 0 {
		t.Errorf("%d keys failed before anything did; %s", n, *h.first.Load())
	}
	hostOf := func(n *engines.Cassandra) *host {
		for _, host := range r.hosts.all() {
			if info := host.driver.Load(); info != nil && info.ConnectAddress().String() == n.Host {
				return host
			}
		}
		return nil // for a moment a node that has joined is not known
	}
	serves := func(n *engines.Cassandra) {
		t.Helper()
		eventually.Nil(t, n.Host+" to serve again", func() error {
			if host := hostOf(n); host == nil || !host.up() || !host.well() {
				return errors.New("it is down, or left alone")
			}
			return nil
		})
		eventually.Nil(t, "all keys to be answered", func() error {
			before := h.failed.Load()
			h.more(t, 1000)
			if n := h.failed.Load() - before; n > 0 {
				return fmt.Errorf("%d failed", n)
			}
			return nil
		})
	}
	fault := func(name string, f func(t *testing.T)) {
		t.Run(name, func(t *testing.T) {
			before, wrong, began := h.failed.Load(), h.wrong.Load(), time.Now()
			f(t)
			if n := h.wrong.Load() - wrong; n > 0 {
				t.Errorf("%d answers were wrong", n)
			}
			t.Logf("%d of %d answers so far failed in it; it took %s", h.failed.Load()-before,
				h.checked.Load(), time.Since(began).Round(time.Millisecond))
		})
	}
	fault("Paused", func(t *testing.T) {
		n := c.nodes[1]
		alone := newSingle(t, c, r, n)
		won := count(r.metrics.won)
		if err := n.Pause(); err != nil {
			t.Fatal(err)
		}
		defer n.Resume()
		// What only the paused node has is waited for until the deadline; the rest is there, on a
		// slow machine by a later one.
		for within := 5 * time.Second; ; within *= 3 {
			ctx, cancel := context.WithTimeout(t.Context(), within)
			err := alone.check(ctx, func(err error) bool {
				return errors.Is(err, context.DeadlineExceeded)
			})
			cancel()
			if err == nil {
				break
			}
			if within > time.Minute {
				t.Error(err)
				break
			}
			t.Logf("within %s: %v", within, err)
		}
		eventually.Nil(t, "the paused node to be left alone", func() error {
			if host := hostOf(n); host == nil || host.up() && host.well() {
				return errors.New("it is asked")
			}
			return nil
		})
		h.more(t, 5000)
		if count(r.metrics.won) == won {
			t.Error("no race was won")
		}
		if err := n.Resume(); err != nil {
			t.Fatal(err)
		}
		serves(n)
	})
	fault("Slow", func(t *testing.T) {
		n := c.nodes[2]
		defer n.Resume()
		for range 10 {
			if err := n.Pause(); err != nil {
				t.Fatal(err)
			}
			h.more(t, 300)
			if err := n.Resume(); err != nil {
				t.Fatal(err)
			}
			h.more(t, 100)
		}
		serves(n)
	})
	fault("Killed", func(t *testing.T) {
		n := c.nodes[2]
		alone := newSingle(t, c, r, n)
		if err := n.Kill(); err != nil {
			t.Fatal(err)
		}
		// What only the dead node has fails, and the rest is there.
		if err := alone.check(t.Context(), func(error) bool { return true }); err != nil {
			t.Error(err)
		}
		h.more(t, 5000)
		if err := n.Restart(t.Context()); err != nil {
			t.Fatal(err)
		}
		serves(n)
		eventually.Nil(t, "its own keys to be answered again", func() error {
			return alone.check(t.Context(), nil)
		})
	})
	fault("Added", func(t *testing.T) {
		n, err := c.startNode(4, func(c *engines.CassandraConfig) {
			// only a node of one token can be moved
			c.Extra["auto_bootstrap"], c.Extra["num_tokens"] = true, 1
			c.JVMArgs = append(c.JVMArgs, "-Dcassandra.join_ring=false")
		})
		if err != nil {
			t.Fatal(err)
		}
		defer n.Kill()
		// A node that joins waits for the schema, but no longer than ring_delay_ms. Then it takes
		// over its ranges and none of the data, and says that there are no such rows.
		c.knows(t, n, ks)
		nodetool(t, n, "join")
		eventually.Nil(t, "the new node to be known", func() error {
			if nodes := len(r.topology.Load().nodes); nodes != 4 {
				return fmt.Errorf("%d nodes", nodes)
			}
			return nil
		})
		serves(n)
		checkPlacement(t, c, r, ks, "dc1")
		if os.Getenv("RINGWATCH_TEST_FULL") != "" {
			was := tokenOfNode(r, hostOf(n))
			nodetool(t, n, "move", strconv.FormatInt(was/2, 10))
			eventually.Nil(t, "its new place to be known", func() error {
				if now := tokenOfNode(r, hostOf(n)); now != was/2 {
					return fmt.Errorf("it is at %d", now)
				}
				return nil
			})
			checkPlacement(t, c, r, ks, "dc1")
			serves(n)
		}
		nodetool(t, n, "decommission", "--force")
		eventually.Nil(t, "the node that left to be forgotten", func() error {
			if nodes := len(r.topology.Load().nodes); nodes != 3 {
				return fmt.Errorf("%d nodes", nodes)
			}
			return nil
		})
		checkPlacement(t, c, r, ks, "dc1")
		serves(c.nodes[0])
	})
	want := int64(60_000)
	if os.Getenv("RINGWATCH_TEST_FULL") != "" {
		want = 1_000_000
	}
	if left := want - h.checked.Load(); left > 0 {
		h.more(t, left)
	}
	h.stop()
	h.wait.Wait()
	if n := h.wrong.Load(); n > 0 {
		t.Errorf("%d answers were wrong: %s", n, *h.first.Load())
	}
	t.Logf("%d answers, %d failed", h.checked.Load(), h.failed.Load())
	if said := h.first.Load(); said != nil {
		t.Log("the first to fail: ", *said)
	}
}

// tokenOfNode is the only token of a node; 0: it has none.
func tokenOfNode(r *Reader, h *host) int64 {
	topology := r.topology.Load()
	for _, o := range topology.ring {
		if topology.nodes[o.node].host == h {
			return o.token
		}
	}
	return 0
}

// single is a table with one copy of each row, so that some keys are only on one node.
type single struct {
	hammer
	all  []Key
	lies []bool // on the node
}

func newSingle(t *testing.T, c *trio, r *Reader, n *engines.Cassandra) *single {
	t.Helper()
	s := &single{hammer: hammer{r: r, keys: 200,
		ks: c.keyspace(t, "{'class': 'SimpleStrategy', 'replication_factor': 1}")}}
	s.fill(t, c)
	s.all, s.lies = make([]Key, 2*s.keys), make([]bool, 2*s.keys)
	for k := range s.all {
		s.all[k] = Key{k}
	}
	table, err := r.table(t.Context(), s.ks, "t")
	if err != nil {
		t.Fatal(err)
	}
	set := table.encode(s.all, nil)
	topology := r.topology.Load()
	for k := range s.all {
		owner := topology.place(table.replication, "dc1").of(tokenOf(set.routing[k]))[0]
		s.lies[k] = topology.nodes[owner].host.driver.Load().ConnectAddress().String() == n.Host
	}
	if err := s.check(t.Context(), nil); err != nil { // and each node has the statement prepared
		t.Fatal(err)
	}
	return s
}

// check reads all keys: those of the node fail, and only those, with an error that failure,
// unless it is nil, is content with.
func (s *single) check(ctx context.Context, failure func(error) bool) error {
	results, err := s.r.Read(ctx, Query{Keyspace: s.ks, Table: "t", Columns: []string{"v"}}, s.all)
	if err != nil {
		return err
	}
	for k, result := range results {
		switch {
		case failure != nil && s.lies[k]:
			if result.Err == nil || !failure(result.Err) {
				return fmt.Errorf("key %d, which lies there: %w", k, result.Err)
			}
		case result.Err != nil:
			return fmt.Errorf("key %d: %w", k, result.Err)
		case len(result.Rows) != boolInt(k < s.keys):
			return fmt.Errorf("key %d has %d rows", k, len(result.Rows))
		}
	}
	return nil
}
