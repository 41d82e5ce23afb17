package ring

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	gocql "github.com/apache/cassandra-gocql-driver/v2"
	"pgregory.net/rapid"
)

// TestGroup groups random keys: each is in one group, of a node that may be asked for it; no more
// requests than asking each for itself, nor than one for each node and bound.
func TestGroup(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		nodes := rapid.IntRange(1, 12).Draw(t, "nodes")
		factor := rapid.IntRange(1, min(nodes, 4)).Draw(t, "factor")
		n := rapid.IntRange(1, 300).Draw(t, "keys")
		largest := rapid.IntRange(1, 60).Draw(t, "largest")
		hosts := make([]*host, nodes)
		for i := range hosts {
			hosts[i] = &host{id: fmt.Sprint(i)}
			hosts[i].flying.Store(int64(rapid.IntRange(0, 3).Draw(t, "flying")))
		}
		replicas, masks, items := make([][]int32, n), make([]uint64, n), make([]int32, n)
		for i := range n {
			items[i] = int32(i)
			start := rapid.IntRange(0, nodes-1).Draw(t, "start")
			for j := range factor {
				replicas[i] = append(replicas[i], int32((start+j)%nodes))
			}
			masks[i] = uint64(rapid.IntRange(0, 1<<factor-1).Draw(t, "mask"))
		}
		c := chooser{
			replicas: func(i int32) []int32 { return replicas[i] }, hostOf: func(n int32) *host {
				return hosts[n]
			},
			largest: largest, rotation: rapid.Uint32().Draw(t, "rotation"),
		}
		for range 2 { // its slices are used again
			groups, left := c.group(nodes, items, func(i int32, _ []int32) uint64 {
				return masks[i]
			})
			seen := map[int32]bool{}
			for _, g := range groups {
				if len(g.items) == 0 || len(g.items) > largest || !slices.IsSorted(g.items) {
					t.Fatalf("a group has keys %v", g.items)
				}
				for _, i := range g.items {
					allowed := slices.ContainsFunc(replicas[i], func(n int32) bool {
						return hosts[n] == g.host && masks[i]&(1<<slices.Index(replicas[i], n)) != 0
					})
					if !allowed || seen[i] {
						t.Fatalf("key %d is asked of %s; seen before: %v", i, g.host.id, seen[i])
					}
					seen[i] = true
				}
			}
			for _, i := range left {
				if masks[i] != 0 || seen[i] {
					t.Fatalf("key %d is left", i)
				}
				seen[i] = true
			}
			if len(seen) != n {
				t.Fatalf("%d of %d keys are accounted for", len(seen), n)
			}
			if most := nodes + (n+largest-1)/largest; len(groups) > most {
				t.Fatalf("%d groups where %d are enough", len(groups), most)
			}
		}
	})
}

// TestGroupSpreads: where all nodes have all keys one is asked, each in turn, and more only when
// the bound asks for more requests; then evenly.
func TestGroupSpreads(t *testing.T) {
	hosts := []*host{{id: "a"}, {id: "b"}, {id: "c"}}
	asked := map[string]int{}
	c := chooser{replicas: func(int32) []int32 { return []int32{0, 1, 2} },
		hostOf: func(n int32) *host { return hosts[n] }, largest: 50}
	items := make([]int32, 120)
	for i := range items {
		items[i] = int32(i)
	}
	may := func(int32, []int32) uint64 { return 7 }
	for range 30 {
		c.rotation++
		groups, _ := c.group(3, items[:50], may)
		if len(groups) != 1 {
			t.Fatalf("%d groups", len(groups))
		}
		asked[groups[0].host.id]++
	}
	if asked["a"] != 10 || asked["b"] != 10 || asked["c"] != 10 {
		t.Errorf("50 keys were asked of %v", asked)
	}
	groups, _ := c.group(3, items, may)
	if len(groups) != 3 || len(groups[0].items) != 40 || len(groups[1].items) != 40 {
		t.Errorf("120 keys make groups %v", groups)
	}
	hosts[0].flying.Store(1)
	for range 3 {
		c.rotation++
		if groups, _ := c.group(3, items[:50], may); groups[0].host == hosts[0] {
			t.Error("the busy node is asked")
		}
	}
}

// TestTogether: composite keys are asked for together where they differ in one part.
func TestTogether(t *testing.T) {
	key := func(parts ...string) string {
		var b []byte
		for _, p := range parts {
			b = appendPart(b, []byte(p))
		}
		return string(b)
	}
	keys := []string{key("a", "1"), key("b", "1"), key("a", "2"), key("a", "3"), key("", "1")}
	items := []int32{0, 1, 2, 3, 4}
	routing := func(i int32) string { return keys[i] }
	lots, part := together(items, routing, 2)
	if part != 1 && part != 0 || len(lots) != 3 {
		t.Errorf("lots %v by part %d", lots, part)
	}
	lots, part = together([]int32{0, 2, 3}, routing, 2)
	if part != 1 || len(lots) != 1 || len(lots[0]) != 3 {
		t.Errorf("lots %v by part %d", lots, part)
	}
	if got := parts(nil, keys[4], 2); got[0] != "" || got[1] != "1" {
		t.Errorf("the parts are %q", got)
	}
}

func TestWhere(t *testing.T) {
	for _, good := range []struct {
		where  string
		values int
	}{{"", 0}, {"a = ?", 1}, {`"limit" >= ? AND b < 'LIMIT ;--?'`, 1}, {"(a, b) > (?, ?)", 2},
		{"a IN (1, 2) AND b = $$ORDER ? $$", 0}, {"limits = ?", 1}, {"a = 'it''s ?'", 0}} {
		if err := checkWhere(good.where, good.values); err != nil {
			t.Errorf("%q: %v", good.where, err)
		}
	}
	for _, bad := range []struct {
		where, says string
	}{
		{"a = ? LIMIT 1", "LIMIT"}, {"a = ? limit 1", "LIMIT"}, {"a = ? ALLOW FILTERING", "ALLOW"},
		{"a = ? ORDER BY a", "ORDER"}, {"a = ?; DROP TABLE t", ";"},
		{"a = ? -- x", "--"}, {"a = ? /* x */", "/*"}, {"a = ? // x", "//"},
		{"a = ?) OR (1", "bracket"}, {"a = (?", "open bracket"}, {"a = ? AND b = 'x", "open quote"},
		{"a = 1", "0 markers"}, {"a = ? AND b = ?", "2 markers"},
		{"a = ? PER PARTITION LIMIT 1", "PER"}, {"a = ? GROUP BY a", "GROUP"},
	} {
		if err := checkWhere(bad.where, 1); err == nil || !strings.Contains(err.Error(), bad.says) {
			t.Errorf("%q: %v", bad.where, err)
		}
	}
}

func TestConfig(t *testing.T) {
	c := DefaultConfig()
	if err := c.Validate(); err != nil {
		t.Fatal(err)
	}
	c = Config{Consistency: "SERIAL", Speculation: "p0", SpeculationFloor: -1, SpeculationShare: 2,
		CacheBytes: -1, CacheTTL: map[string]time.Duration{"t": 1, "a.b": -1}}
	err := c.Validate()
	for _, says := range []string{"consistency SERIAL", "class", "group_keys", "speculation \"p0\"",
		"speculation_floor", "speculation_share", "timeout", "cache_bytes", `cache_ttl has "t"`,
		"cache_ttl of a.b"} {
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("nothing says %s: %v", says, err)
		}
	}
	for text, want := range map[string]speculation{
		"15ms": {delay: 15 * time.Millisecond}, "p95": {percentile: 0.95, floor: 3},
		"p50": {percentile: 0.5, floor: 3}, "never": {never: true}, "always": {},
	} {
		if got, err := parseSpeculation(text, 3); err != nil || got != want {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "p100", "p", "0s", "-1ms", "15", "sometimes"} {
		if got, err := parseSpeculation(text, 0); err == nil {
			t.Errorf("%q is taken for %+v", text, got)
		}
	}
	if _, err := Connect(t.Context(), nil, Config{}, nil, nil); err == nil ||
		!strings.Contains(err.Error(), "timeout") {
		t.Errorf("New takes an empty configuration: %v", err)
	}
}

// TestPercentile: of what was added, within a step; old answers are forgotten.
func TestPercentile(t *testing.T) {
	l := newLatency()
	now := int64(1)
	if d := l.percentile(now, 0.5); d != 0 {
		t.Errorf("nothing has percentile %s", d)
	}
	for i := range 1000 {
		l.add(now, time.Duration(i+1)*time.Millisecond)
	}
	now += int64(time.Second)
	if d := l.percentile(now, 0.95); d < 950*time.Millisecond || d > 950*time.Millisecond*6/5 {
		t.Errorf("the 95th percentile of 1 to 1,000 ms is %s", d)
	}
	for range 3 {
		now += int64(11 * time.Second)
		l.add(now, time.Millisecond)
	}
	now += int64(time.Second)
	if d := l.percentile(now, 0.95); d != 0 {
		t.Errorf("two answers have percentile %s", d)
	}
	s := speculation{percentile: 0.95, floor: 2 * time.Millisecond}
	if d := s.after(now, l); d != unknownDelay {
		t.Errorf("a table without answers is raced after %s", d)
	}
	now += int64(time.Second)
	for range 100 {
		l.add(now, 100*time.Microsecond)
	}
	if d := s.after(now, l); d != 2*time.Millisecond {
		t.Errorf("a quick table is raced after %s", d)
	}
}

// TestBudget: races are a share of requests, after those of the start.
func TestBudget(t *testing.T) {
	b := newBudget(0.1)
	races := func(requests int) (n int) {
		for range requests {
			b.earn()
			if b.spend(1) {
				n++
			}
		}
		return n
	}
	if n := races(10000); n < 1000 || n > 1000+raceBurst {
		t.Errorf("%d races of 10,000 requests", n)
	}
	if none := newBudget(0); none.spend(1) {
		t.Error("a share of nothing admits a race")
	}
	if b.spend(raceBurst + 1) {
		t.Error("more than all is admitted")
	}
}

// TestLeftAlone: a node that was late often enough is left alone, for longer each time, until a
// probe is in time.
func TestLeftAlone(t *testing.T) {
	var h health
	now := int64(lateQuiet)
	h.wasLate(now, 1)
	h.wasLate(now, 1)
	h.inTime(0)
	h.wasLate(now, 1)
	h.wasLate(now, 1)
	if !h.well() {
		t.Fatal("late twice in a row is enough")
	}
	h.inTime(1)
	h.wasLate(now, lateOften)
	if !h.well() {
		t.Fatal("it is left alone although it answered a moment ago")
	}
	h.inTime(0)
	h.wasLate(now, lateOften)
	if h.well() {
		t.Fatal("late three times in a row is nothing")
	}
	if h.mayProbe(now) {
		t.Error("it is asked at once")
	}
	now += int64(lateFirst)
	if !h.mayProbe(now) || h.mayProbe(now) {
		t.Error("it is not asked once")
	}
	h.probed(now, false)
	if now += int64(lateFirst); h.mayProbe(now) {
		t.Error("it is left alone no longer than the first time")
	}
	if now += int64(lateFirst); !h.mayProbe(now) {
		t.Error("it is left alone for too long")
	}
	h.probed(now, true)
	if !h.well() {
		t.Error("it is not well again")
	}
	h.wasLate(now, lateOften)
	if h.backoff != 4*lateFirst {
		t.Errorf("late again at once, it is left alone for %s", h.backoff)
	}
}

// TestBlame: what the driver says is sorted by what helps.
func TestBlame(t *testing.T) {
	for err, want := range map[error]blame{
		gocql.ErrTimeoutNoResponse: ofHost, gocql.ErrNoConnections: ofHost,
		gocql.ErrConnectionClosed: ofHost, ErrLate: ofHost, gocql.ErrSessionClosed: ofRequest,
		errStray: ofData,
	} {
		if got := blameOf(fmt.Errorf("wrapped: %w", err)); got != want {
			t.Errorf("%v is to blame on %d", err, got)
		}
	}
}

// TestPlace: two datacenters, racks of different sizes, as NetworkTopologyStrategy has it.
// TestPlacement asks Cassandra.
func TestPlace(t *testing.T) {
	nodes := []node{
		{datacenter: "dc1", rack: "r1"}, {datacenter: "dc1", rack: "r1"},
		{datacenter: "dc1", rack: "r2"}, {datacenter: "dc2", rack: "r1"},
		{datacenter: "dc2", rack: "r1"},
	}
	ring := []owned{{0, 0}, {5, 3}, {10, 1}, {15, 4}, {20, 2}, {100, 0}}
	for _, c := range []struct {
		options    map[string]string
		datacenter string
		token      int64
		want       []int32
	}{
		{map[string]string{"class": "org.apache.cassandra.locator.NetworkTopologyStrategy",
			"dc1": "2", "dc2": "1"}, "", 0, []int32{0, 2, 3}},
		{map[string]string{"class": "NetworkTopologyStrategy", "dc1": "2", "dc2": "1"}, "", 10,
			[]int32{1, 2, 4}},
		{map[string]string{"class": "NetworkTopologyStrategy", "dc1": "2", "dc2": "1"}, "dc1", 20,
			[]int32{2, 0}},
		{map[string]string{"class": "NetworkTopologyStrategy", "dc1": "2", "dc2": "1"}, "dc2", 20,
			[]int32{3}},
		{map[string]string{"class": "NetworkTopologyStrategy", "dc1": "3"}, "", 101,
			[]int32{0, 1, 2}},
		{map[string]string{"class": "NetworkTopologyStrategy", "dc1": "5"}, "", 1,
			[]int32{1, 2, 0}},
		{map[string]string{"class": "NetworkTopologyStrategy", "dc1": "3/1"}, "dc2", 1, nil},
		{map[string]string{"class": "SimpleStrategy", "replication_factor": "2"}, "", -7,
			[]int32{0, 3}},
		{map[string]string{"class": "SimpleStrategy", "replication_factor": "2"}, "dc1", -7,
			[]int32{0}},
		{map[string]string{"class": "SimpleStrategy", "replication_factor": "9"}, "", 16,
			[]int32{2, 0, 3, 1, 4}},
	} {
		if got := place(nodes, ring, parseReplication(c.options),
			c.datacenter).of(c.token); !slices.Equal(got, c.want) {
			t.Errorf("%v in %q: token %d lies on %v, not %v", c.options, c.datacenter, c.token,
				got, c.want)
		}
	}
	for _, options := range []map[string]string{{"class": "LocalStrategy"},
		{"class": "EverywhereStrategy"}, {"class": "SimpleStrategy"},
		{"class": "NetworkTopologyStrategy", "dc1": "many"}, nil} {
		if p := place(nodes, ring, parseReplication(options), ""); p != nil {
			t.Errorf("%v is placed", options)
		}
	}
	if r := newTopology("org.apache.cassandra.dht.RandomPartitioner",
		[]peer{{id: "a", tokens: []string{"1"}}}, nil).place(replication{kind: simple, factor: 1},
		""); r != nil {
		t.Error("another partitioner's tokens are placed")
	}
}
