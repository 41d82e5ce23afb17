package api_test

import (
	"encoding/json"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/ringwatch/ringwatch/api/apitest"
	"github.com/ringwatch/ringwatch/dev/engines"
	"github.com/ringwatch/ringwatch/frame/frametest"
	"github.com/ringwatch/ringwatch/recent"
	"github.com/ringwatch/ringwatch/stream"
)

// nodeState is what /v1/nodes says of a node.
type nodeState struct {
	ID      uuid.UUID
	State   string
	Age     float64 `json:"age_seconds"`
	Claimed *bool   `json:"claimed_by_several"`
}

func (f *fixture) state(id uuid.UUID) nodeState {
	f.Helper()
	var list []nodeState
	r := f.ask(acmeKey, "/v1/nodes", nil)
	if err := json.Unmarshal(r.body, &list); err != nil || r.status != 200 {
		f.Fatalf("%d %s: %v", r.status, r.body, err)
	}
	for _, n := range list {
		if n.ID == id {
			return n
		}
	}
	f.Fatalf("node %s is not in %s", id, r.body)
	return nodeState{}
}

// TestFramesFromTheFuture is the attack, through to what people see: a frame dated nine minutes
// ahead, sent for another node of the own account, hides the live node's values no longer than
// until its next frame, and a node that ended is down although the forged time has not come.
func TestFramesFromTheFuture(t *testing.T) {
	for _, source := range []string{"recent", "store"} {
		t.Run(source, func(t *testing.T) {
			store := &apitest.Store{}
			f := newFixtureOn(t, store, inMemory, 1, 1, time.Minute)
			store.Clock = f.clock
			live, forger := f.nodes[0], frametest.New(f.nodes[0].Cluster, 77, 1)
			forger.ID = live.ID
			put := func(b []byte) {
				t.Helper()
				store.Put(f.account("acme"), b)
				if source == "recent" {
					if err := f.writer.Handle(t.Context(),
						[]stream.Record{{Account: f.account("acme"), Received: f.clock(),
							Value: b}}); err != nil {
						t.Fatal(err)
					}
				}
			}
			if source == "store" {
				f.now.Add(20 * 60_000) // what Redis has is no longer asked for
			}
			for range 3 {
				put(forger.Frame(f.now.Load() + 9*60_000))
				f.now.Add(1000)
				live.Step()
				put(live.Frame(f.now.Load()))
				f.now.Add(3000)
				if s := f.state(live.ID); s.State != "up" || s.Age != 3 || s.Claimed != nil {
					t.Errorf("a live node: %+v", s)
				}
				for _, path := range []string{f.metricsPath(0) + "?metrics=" +
					url.QueryEscape(`{__name__=~".+"}`), f.metricsPath(0)} {
					path, query, _ := strings.Cut(path, "?")
					values, _ := url.ParseQuery(query)
					r := f.ask(acmeKey, path, values)
					if want := time.UnixMilli(f.now.Load() - 3000).UTC().Format(
						"2006-01-02T15:04:05.000Z"); r.status != 200 ||
						!strings.Contains(string(r.body), want) {
						t.Errorf(
							"%s is not of the live node's frame at %s: %d %.300s",
							path, want, r.status, r.body)
					}
				}
			}
			put(forger.Frame(f.now.Load() + 9*60_000))
			f.now.Add(2 * 60_000)
			if s := f.state(live.ID); s.State != "down" || s.Age != 120 {
				t.Errorf("two minutes after the last frame: %+v", s)
			}
			if r := f.ask(acmeKey, "/v1/nodes/"+live.ID.String()+"/prometheus",
				nil); r.status != 404 {
				t.Errorf("a silent node has values: %d %.200s", r.status, r.body)
			}
		})
	}
}

// TestClaimedNode: a node that several senders claim is shown as such.
func TestClaimedNode(t *testing.T) {
	redis := engines.SharedRedis(t).Addr()
	f := newFixture(t, redis, 2, 1, time.Minute)
	rc := recent.DefaultConfig()
	rc.Addresses, rc.Clock, rc.DialTimeout = []string{redis}, f.clock, time.Minute
	ingest, err := recent.NewReader(rc, prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	defer ingest.Close()
	for i, sender := range []string{"a", "b", "a"} {
		if several, err := ingest.Claim(t.Context(), f.account("acme"), f.nodes[0].ID,
			sender); err != nil || several != (i == 2) {
			t.Fatal(sender, several, err)
		}
		f.now.Add(1000)
	}
	if s := f.state(f.nodes[0].ID); s.Claimed == nil || !*s.Claimed {
		t.Errorf("a claimed node: %+v", s)
	}
	if s := f.state(f.nodes[1].ID); s.Claimed != nil {
		t.Errorf("another node: %+v", s)
	}
}
