package api_test

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ringwatch/ringwatch/api"
	"github.com/ringwatch/ringwatch/api/apitest"
	"github.com/ringwatch/ringwatch/api/reply"
)

// TestBehind: while acknowledged frames are on their way to the store, what comes from the store
// says so, wherever such a frame may belong into the answer; what Redis has whole does not.
func TestBehind(t *testing.T) {
	f := &fixture{T: t, store: &apitest.Store{}, metrics: prometheus.NewRegistry()}
	f.now.Store(time.Now().UnixMilli())
	since := f.now.Load() - 60_000
	behind := "fleet-0"
	sources := f.store.Sources()
	sources.Behind = func(_ context.Context, account, cluster string) (int64, bool) {
		return since, account == f.account("acme") && cluster == behind
	}
	f.start(inMemory, sources, api.Deps{StoreReady: f.store.Ready})
	f.fill(2, 1, 40*time.Minute, func(b []byte) { f.store.Put(f.account("acme"), b) })
	now := f.now.Load()
	minutes := func(from, to int64, more ...string) url.Values {
		q := url.Values{"from": {fmt.Sprint(now - from*60_000)},
			"to": {fmt.Sprint(now - to*60_000)}, "metrics": {`{__name__=~"node_.*"}`}}
		for i := 0; i < len(more); i += 2 {
			q.Set(more[i], more[i+1])
		}
		return q
	}
	check := func(what, path string, q url.Values, partial bool) {
		t.Helper()
		r := f.ask(acmeKey, path, q)
		if r.status != http.StatusOK {
			t.Fatalf("%s: %d %s", what, r.status, r.body)
		}
		if got := r.header.Get(reply.PartialHeader) != ""; got != partial {
			t.Errorf("%s: partial is %t, not %t", what, got, partial)
		}
		json := strings.Contains(path, "/metrics") && q.Get("format") == ""
		if said := strings.Contains(string(r.body),
			"accepted since "+
				time.UnixMilli(since).UTC().Format("2006-01-02T15:04:05.000Z")); json &&
			said != partial {
			t.Errorf("%s: it says since when %t, not %t: %.300s", what, said, partial, r.body)
		}
	}
	late, well := f.metricsPath(0), f.metricsPath(1)
	exposition := strings.TrimSuffix(late, "metrics") + "prometheus"
	check("a range of Redis", late, minutes(10, 0), false)
	check("a range of the store", late, minutes(30, 16), true)
	check("a range of both", late, minutes(30, 0), true)
	check("a range of before", late, minutes(38, 25), false)
	check("a range of another cluster", well, minutes(30, 16), false)
	check("rollups", late, minutes(30, 0, "rollup", "5m"), true)
	check("rollups of another cluster", well, minutes(30, 0, "rollup", "5m"), false)
	check("newest of Redis", late, nil, false)
	check("exposition of Redis", exposition, nil, false)
	check("nodes of Redis", "/v1/nodes", nil, false)
	f.now.Add(25_000) // what Redis has is old now, and the store has nothing newer
	check("newest", late, nil, true)
	check("some newest", late, url.Values{"metrics": {"node_load1"}}, true)
	check("newest as text", late, url.Values{"metrics": {"node_load1"}, "format": {"prometheus"}},
		true)
	check("newest of another cluster", well, nil, false)
	check("exposition", exposition, nil, true)
	check("exposition of a cluster", "/v1/clusters/fleet-0/prometheus", nil, true)
	check("nodes", "/v1/nodes", nil, true)
	check("clusters", "/v1/clusters", nil, true)
	check("discovery", "/v1/discovery", nil, true)
	behind = ""
	check("nodes again", "/v1/nodes", nil, false)
	check("newest again", late, nil, false)
}

// TestOldAndNobodyToAsk: Redis has old values and the store is away. The answer says that it may
// lack newer ones.
func TestOldAndNobodyToAsk(t *testing.T) {
	f := newFixture(t, inMemory, 1, 1, time.Minute)
	f.get(f.metricsPath(0), nil, new([]element))
	f.now.Add(20_000)
	f.store.SetDown(true)
	for range 2 { // the second time it is kept encoded
		r := f.ask(acmeKey, f.metricsPath(0), nil)
		if r.status != http.StatusOK || r.header.Get(reply.PartialHeader) != "1" ||
			!strings.Contains(string(r.body), `"partial":["everything newer than 20`) {
			t.Fatalf("%d %v %.300s", r.status, r.header, r.body)
		}
	}
}
