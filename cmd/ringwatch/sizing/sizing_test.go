package sizing

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/ringwatch/ringwatch/store"
)

// factor is how far a figure may be from what was measured.
const factor = 1.5

// result reads a kept result; values and detail are as they lie there.
func result(t *testing.T, name string, detail any) map[string]any {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "..", "..", "bench", "results", name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	kept := struct {
		Values map[string]any
		Detail any
	}{Detail: detail}
	if err := json.Unmarshal(b, &kept); err != nil {
		t.Fatalf("%s.json: %v", name, err)
	}
	return kept.Values
}

func number(t *testing.T, values map[string]any, key string) float64 {
	t.Helper()
	v, ok := values[key].(float64)
	if !ok {
		t.Fatalf("there is no number %s", key)
	}
	return v
}

// near fails unless a figure is within the factor of what was measured.
func near(t *testing.T, what string, got, measured float64) {
	t.Helper()
	if !(got <= measured*factor && got >= measured/factor) {
		t.Errorf("%s: %.4g, but %.4g was measured: correct cmd/ringwatch/sizing/measured.go", what,
			got, measured)
	}
}

// measuredFleet is so many of the benchmarks' nodes, one copy of everything.
func measuredFleet(nodes int) Fleet {
	return Fleet{Nodes: nodes, Series: measuredSeries, Interval: measuredInterval,
		Retention: store.DefaultConfig().RawTTL, Replicas: 1}
}

func need(t *testing.T, list []Need, part string) Need {
	t.Helper()
	for _, n := range list {
		if n.Part == part {
			return n
		}
	}
	t.Fatalf("there is no %s", part)
	return Need{}
}

// TestEmbedded: one process in a directory takes what was measured, at each size that was.
func TestEmbedded(t *testing.T) {
	var detail struct {
		Ours  struct{ Cores, Most float64 }
		Disk  struct{ Ours float64 }
		Steps []struct {
			Nodes           int
			Cores, Resident float64
		}
	}
	values := result(t, "embedded", &detail)
	nodes := int(number(t, values, "nodes"))
	if nodes != 300 {
		t.Fatalf("the benchmark had %d nodes, not 300", nodes)
	}
	got := Size(measuredFleet(nodes))
	near(t, "cores of 300 nodes", got.Embedded[0].Cores, detail.Ours.Cores)
	near(t, "MB of 300 nodes", float64(got.Embedded[0].MemoryBytes)/1e6, detail.Ours.Most)
	for _, s := range detail.Steps {
		got := Size(measuredFleet(s.Nodes)).Embedded[0]
		near(t, fmt.Sprintf("cores of %d nodes", s.Nodes), got.Cores, s.Cores)
		near(t, fmt.Sprintf("MB of %d nodes", s.Nodes), float64(got.MemoryBytes)/1e6, s.Resident)
	}
	near(t, "nodes of the largest directory", embeddedMost/samplesOf(1),
		number(t, values, "largest_nodes"))
	// What the run left: six minutes before it and its own, too short for an hour.
	span := time.Duration(number(t, values, "minutes")+6) * time.Minute
	series := float64(nodes) * measuredSeries
	near(t, "MB on disk", (measuredFleet(nodes).samples(span)*windowBytes+
		series*rollup5Bytes*float64(span)/float64(windowLength))/1e6, detail.Disk.Ours)
}

// TestRules: the role rules with 1,000 nodes takes what was measured.
func TestRules(t *testing.T) {
	var detail struct {
		Nodes      int
		FrameBytes [2]float64
	}
	values := result(t, "rules", &detail)
	if detail.Nodes != 1000 {
		t.Fatalf("the benchmark had %d nodes, not 1,000", detail.Nodes)
	}
	f := measuredFleet(detail.Nodes)
	near(t, "cores", f.cores(rulesCost), number(t, values, "cycle_s")/20)
	near(t, "MB", float64(f.memory(rulesRoom, 1))/1e6, number(t, values, "rss_mb"))
	near(t, "bytes of a frame", deltaFrameBytes, detail.FrameBytes[0])
	near(t, "bytes of a key frame", keyFrameBytes, detail.FrameBytes[1])
}

// TestLine: each part of the line of 10,000 nodes takes what was measured of one process of it.
func TestLine(t *testing.T) {
	var detail struct {
		Samples []struct {
			At        float64 // seconds
			Cores, MB map[string]float64
		}
	}
	values := result(t, "fleet", &detail)
	nodes := int(number(t, values, "nodes"))
	if nodes != measuredNodes {
		t.Fatalf("the benchmark had %d nodes, not %d", nodes, measuredNodes)
	}
	most, used, counted := map[string]float64{}, map[string]float64{}, 0.0
	for _, s := range detail.Samples {
		for part, mb := range s.MB {
			most[part] = max(most[part], mb)
		}
		if s.At > (5 * time.Minute).Seconds() { // each window after the first is closed, too
			counted++
			for part, cores := range s.Cores {
				used[part] += cores
			}
		}
	}
	f := measuredFleet(nodes)
	f.Interval = time.Duration(number(t, values, "interval_s") * float64(time.Second))
	sum := 0.0
	for _, part := range []struct {
		name string
		cost cost
		room room
	}{
		{"ingest", ingestCost, ingestRoom},
		{"store", storeCost, storeRoom},
		{"recent", recentCost, recentRoom},
		{"rules", rulesCost, rulesRoom},
		{"api", apiCost, apiRoom},
		{"Kafka", kafkaCost, kafkaRoom},
		{"Redis", redisCost, redisRoom},
		{"Cassandra", cassandraCost, cassandraRoom},
	} {
		c := part.cost
		c.hour = 0 // the run is too short for hours
		got, measured := f.cores(c), used[part.name]/counted
		sum += got
		if part.name != "rules" { // on that machine they had to wait: TestRules has what they take
			near(t, part.name+"'s cores", got, measured)
		} else if got < measured {
			t.Errorf("rules take %.3g cores, and %.3g were measured", got, measured)
		}
		memory := float64(f.memory(part.room, 1))
		if part.name == "Redis" {
			memory += f.recent()
		}
		near(t, part.name+"'s MB", memory/1e6, most[part.name])
	}
	near(t, "all cores", sum, number(t, values, "cores"))
}

// TestClosing: closing windows and making hours cost what was measured without other roles.
func TestClosing(t *testing.T) {
	values := result(t, "closing", nil)
	ms := func(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
	for key, got := range map[string]time.Duration{
		"own_cpu_ms_per_window":       storeCost.window,
		"cassandra_cpu_ms_per_window": cassandraCost.window,
		"frame_cpu_ms":                storeCost.frame + cassandraCost.frame,
		"hour_own_cpu_ms":             storeCost.hour,
		"hour_cassandra_cpu_ms":       cassandraCost.hour,
	} {
		near(t, key, ms(got), number(t, values, key))
	}
	near(t, "cores of hours", measuredFleet(10_000).cores(cost{
		hour: storeCost.hour + cassandraCost.hour}), number(t, values, "hour_cores"))
}

// TestStored: bytes in Cassandra are those of both benchmarks of the store.
func TestStored(t *testing.T) {
	var detail struct {
		Tables map[string]map[string]float64 `json:"bytes_per_sample_by_table"`
	}
	peers := result(t, "store-peers", &detail)
	near(t, "bytes of a sample", hourBytes, number(t, peers, "bytes_per_sample"))
	near(t, "bytes of a sample, store.json", hourBytes,
		number(t, result(t, "store", nil), "bytes_per_sample"))
	near(t, "bytes of a window's sample", windowBytes,
		number(t, peers, "v3_big_short_bytes_per_sample"))
	near(t, "bytes of a frame's sample", freshBytes,
		number(t, peers, "v3_big_fresh_bytes_per_sample"))
	tables, perMinute := detail.Tables["v3 big"], 60/measuredInterval.Seconds()
	near(t, "bytes of a rollup of 5 minutes", rollup5Bytes, tables["rollup_5m"]*5*perMinute)
	near(t, "bytes of a rollup of an hour", rollupHBytes, tables["rollup_1h"]*60*perMinute)
	// The run had one day's entry in its six hours.
	near(t, "bytes of a rollup of a day", rollupDBytes, tables["rollup_1d"]*60*perMinute*
		number(t, peers, "hours"))
}

// TestEvents: what an event takes at rest is what was measured in the engine where it takes more.
func TestEvents(t *testing.T) {
	values := result(t, "events", nil)
	near(t, "bytes of an event", eventBytes, max(number(t, values, "cassandra_bytes_per_event"),
		number(t, values, "directory_bytes_per_event")))
}

// TestRecent: what Redis keeps grows with the interval and with series as it was measured. Its
// node is a busy one, so twice the mean at most.
func TestRecent(t *testing.T) {
	values := result(t, "recent", nil)
	bytes := func(series, seconds string) float64 {
		return number(t, values, "ours_bytes_"+series+"_series_"+seconds+"s")
	}
	f := measuredFleet(1)
	at20 := f.recent()
	f.Interval = 5 * time.Second
	near(t, "4 times the frames", f.recent()/at20, bytes("2000", "5")/bytes("2000", "20"))
	f.Series *= 5
	near(t, "5 times the series", f.recent()/at20, bytes("10000", "5")/bytes("2000", "20"))
	if busy := bytes("2000", "20"); at20 < busy/2 || at20 > busy {
		t.Errorf("%.0f bytes of a node, and a busy one has %.0f", at20, busy)
	}
}

// TestIndex: the API has room for the index of series and its questions, which were measured apart.
func TestIndex(t *testing.T) {
	series := result(t, "series", nil)
	api := float64(measuredFleet(int(number(t, series, "nodes"))).memory(apiRoom, 1)) / 1e6
	if index := number(t, series, "apart_heap_mb"); api < 2*index {
		t.Errorf("the API gets %.0f MB, and an index of nodes that share no table takes %.0f",
			api, index)
	}
	if nodes := number(t, result(t, "query", nil), "fleet_nodes"); nodes != measuredNodes {
		t.Errorf("a question about %.0f nodes was measured, not about %d", nodes, measuredNodes)
	}
}

// TestSize: what follows from the figures holds for every fleet.
func TestSize(t *testing.T) {
	for _, c := range []struct {
		nodes      int
		interval   time.Duration
		deployment string
		measured   bool
	}{
		{300, 20 * time.Second, Embedded, true},
		{1_000, 20 * time.Second, Embedded, true},
		{300, 5 * time.Second, Embedded, true},
		{1_000, 5 * time.Second, Line, true},
		{10_000, 20 * time.Second, Line, true},
		{100_000, 20 * time.Second, Line, false},
	} {
		f := measuredFleet(c.nodes)
		f.Interval, f.Replicas = c.interval, 3
		if err := f.Validate(); err != nil {
			t.Fatal(err)
		}
		got := Size(f)
		if got.Deployment != c.deployment || got.Measured != c.measured {
			t.Errorf("%+v: %s, measured: %t", f, got.Deployment, got.Measured)
		}
		for _, n := range got.Line {
			each := n.Cores / float64(n.Processes)
			if n.Processes < 1 || n.Part != "Redis" && each > coresEach+1e-9 ||
				n.MemoryBytes < 20e6 {
				t.Errorf("%+v: %+v", f, n)
			}
			if n.Partitions != 0 && n.Part != "Kafka" && n.Partitions < 4*n.Processes {
				t.Errorf("%+v: %+v has few partitions", f, n)
			}
		}
		cassandra := need(t, got.Line, "Cassandra")
		whole := float64(cassandra.DiskBytes) * float64(cassandra.Processes)
		if cassandra.Processes < 3 || math.Abs(whole-3*f.stored()) > 1e3 ||
			cassandra.DiskBytes > diskEach {
			t.Errorf("%+v: %+v", f, cassandra)
		}
	}
	long, short := measuredFleet(1_000), measuredFleet(1_000)
	long.Retention = 10 * short.Retention
	if long.stored() <= short.stored() || long.stored() > 10*short.stored() {
		t.Errorf("ten times the retention keeps %.3g bytes and not %.3g", long.stored(),
			short.stored())
	}
}
