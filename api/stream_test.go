package api_test

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/ringwatch/ringwatch/api"
	"github.com/ringwatch/ringwatch/api/apitest"
	"github.com/ringwatch/ringwatch/api/reply"
	"github.com/ringwatch/ringwatch/dev/engines"
)

// elementJSON is a node's element of an answer.
type elementJSON struct {
	ID         string            `json:"id"`
	Cluster    string            `json:"cluster"`
	Datacenter string            `json:"datacenter"`
	Partial    []string          `json:"partial"`
	Payload    []json.RawMessage `json:"payload"`
}

func TestClusterAndDatacenterAreTheirNodes(t *testing.T) {
	f := newFixture(t, inMemory, 25, 2, time.Minute)
	for _, query := range []url.Values{
		nil,
		{"metrics": {"cassandra_compaction_pending_tasks", "cassandra_table_read_latency_seconds"}},
		{"metrics": {"cassandra_compaction_pending_tasks"},
			"from": {fmt.Sprint(f.now.Load() - 40_000)}, "to": {fmt.Sprint(f.now.Load())}},
	} {
		want := map[string]string{} // by node
		for i, n := range f.nodes {
			var one []json.RawMessage
			f.get(f.metricsPath(i), query, &one)
			if len(one) != 1 || len(one[0]) < 100 {
				t.Fatalf("%s", one)
			}
			want[n.ID.String()] = string(one[0])
		}
		for path, nodes := range map[string]int{"/v1/clusters/fleet-0/metrics": 13,
			"/v1/clusters/fleet-1/metrics": 12, "/v1/datacenters/dc1/metrics": 25} {
			var all []json.RawMessage
			f.get(path, query, &all)
			if len(all) != nodes {
				t.Errorf("%s: %d nodes", path, len(all))
			}
			for _, raw := range all {
				var e elementJSON
				if err := json.Unmarshal(raw, &e); err != nil {
					t.Fatal(err)
				}
				if string(raw) != want[e.ID] {
					t.Errorf("%s: node %s is not as it is alone", path, e.ID)
				}
			}
		}
	}
	for _, path := range []string{"/v1/clusters/nowhere/metrics",
		"/v1/datacenters/nowhere/metrics"} {
		if r := f.ask(acmeKey, path, nil); r.status != http.StatusNotFound {
			t.Error(path, r.status, string(r.body))
		}
		if r := f.ask(otherKey, "/v1/clusters/fleet-0/metrics",
			nil); r.status != http.StatusNotFound {
			t.Error("another account sees the cluster", r.status)
		}
	}
	if r := f.ask(acmeKey, "/v1/clusters/fleet-0/metrics",
		url.Values{"format": {"prometheus"},
			"metrics": {"cassandra_compaction_pending_tasks"}}); r.status != http.StatusOK ||
		slices.Contains(r.body, '[') {
		t.Errorf("%d %.200s", r.status, r.body)
	}
}

// TestAFullAnswerSaysWhatItLacks: the limit is reached after the first byte.
func TestAFullAnswerSaysWhatItLacks(t *testing.T) {
	f := newFixture(t, inMemory, 10, 1, 10*time.Second, func(c *api.Config) { c.MaxPoints = 3 })
	query := url.Values{"metrics": {"cassandra_compaction_pending_tasks"}}
	r, err := http.NewRequest(http.MethodGet,
		"http://"+f.server.Addr()+"/v1/datacenters/dc1/metrics?"+query.Encode(), nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+acmeKey)
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	var all []elementJSON
	if err := json.Unmarshal(body, &all); err != nil || len(all) != 10 {
		t.Fatal(len(all), err)
	}
	for i, e := range all {
		if whole := len(e.Payload) == 1 && e.Partial == nil; whole != (i < 3) ||
			!whole && (len(e.Partial) != 1 || len(e.Payload) != 0) {
			t.Errorf("node %d: %v", i, e)
		}
	}
	if got := answer.Trailer.Get(reply.PartialHeader); got != "7" {
		t.Errorf("the trailer says %q", got)
	}
	// The very first node exceeds it: a status.
	if r := f.ask(acmeKey, "/v1/datacenters/dc1/metrics", nil); r.status != http.StatusBadRequest {
		t.Error(r.status)
	}
}

func TestIdenticalReadsAreOne(t *testing.T) {
	redis := engines.MustRedis(t)
	if err := redis.Kill(); err != nil { // so that all reads are the store's
		t.Fatal(err)
	}
	f := newHeld(t, redis.Addr())
	before := f.store.Reads()
	const readers = 30
	var readersDone sync.WaitGroup
	bodies := make([]string, readers)
	for i := range readers {
		readersDone.Go(func() { bodies[i] = string(f.ask(acmeKey, f.metricsPath(0), nil).body) })
	}
	deadline := time.NewTimer(2 * time.Minute)
	defer deadline.Stop()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for f.count("ringwatch_api_requests_in_flight") < readers {
		select {
		case <-tick.C:
		case <-deadline.C:
			t.Fatal("the requests do not arrive")
		}
	}
	close(f.store.Hold)
	readersDone.Wait()
	// A request that is counted as in flight may still be on its way to the reading, so some may
	// come after it; most shared it.
	if reads := f.store.Reads() - before; reads > readers/2 {
		t.Errorf("%d requests read %d times", readers, reads)
	}
	for _, b := range bodies {
		if b != bodies[0] || len(b) < 100 {
			t.Errorf("not all answers are the same: %.80s and %.80s", b, bodies[0])
		}
	}
}

// newHeld is a fixture whose store waits with the newest state.
func newHeld(t *testing.T, redis string) *fixture {
	store := &apitest.Store{Hold: make(chan struct{})}
	return newFixtureOn(t, store, redis, 1, 1, 10*time.Second)
}

func TestNaN(t *testing.T) {
	f := newFixture(t, inMemory, 1, 1, time.Minute)
	now := f.now.Load()
	query := url.Values{"metrics": {"cassandra_compaction_pending_tasks"},
		"from": {fmt.Sprint(now - 120_000)}, "to": {fmt.Sprint(now)}, "step": {"10s"}}
	values := func(query url.Values) (list []struct{ Value, Time string }) {
		var answer []struct {
			Payload []struct {
				Values []struct{ Value, Time string }
			}
		}
		f.get(f.metricsPath(0), query, &answer)
		if len(answer) != 1 || len(answer[0].Payload) != 1 {
			t.Fatal(answer)
		}
		return answer[0].Payload[0].Values
	}
	plain := values(query)
	query.Set("reportNaN", "true")
	filled := values(query)
	if len(filled) != 13 || len(plain) >= 13 || len(plain) < 6 {
		t.Fatal(len(filled), len(plain))
	}
	for i, v := range filled {
		isNaN := i < len(filled)-len(plain)
		if (v.Value == "NaN") != isNaN || !isNaN && v != plain[i-(len(filled)-len(plain))] {
			t.Error(i, v)
		}
		if at, err := time.Parse(time.RFC3339Nano, v.Time); err != nil ||
			math.Abs(float64(at.UnixMilli()-(now-int64(12-i)*10_000))) >= 10_000 {
			t.Error(i, v, err)
		}
	}
	query.Set("step", "1ms")
	if r := f.ask(acmeKey, f.metricsPath(0), query); r.status != http.StatusBadRequest {
		t.Error("a hundred thousand NaN are given", r.status)
	}
	query.Set("reportNaN", "yes")
	if r := f.ask(acmeKey, f.metricsPath(0), query); r.status != http.StatusBadRequest {
		t.Error(r.status)
	}
}
