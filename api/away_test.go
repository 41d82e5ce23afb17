package api_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ringwatch/ringwatch/api"
	"github.com/ringwatch/ringwatch/api/apitest"
	"github.com/ringwatch/ringwatch/query/read"
)

// TestValuesWhileAway: a node of which nobody could have heard is not silent, in every text of
// newest values, as it is not down in the lists of nodes.
func TestValuesWhileAway(t *testing.T) {
	f := &fixture{T: t, store: &apitest.Store{}, metrics: prometheus.NewRegistry()}
	f.now.Store(time.Now().UnixMilli())
	away := f.now.Load() + 1000
	sources := f.store.Sources()
	sources.Away = func() []read.Span { return []read.Span{{From: away}} }
	f.start(inMemory, sources, api.Deps{StoreReady: f.store.Ready})
	f.fill(2, 1, 2*time.Minute, func(b []byte) { f.store.Put(f.account("acme"), b) })
	paths := []string{"/v1/nodes/" + f.nodes[0].ID.String() + "/prometheus",
		"/v1/clusters/fleet-0/prometheus"}
	f.now.Add(5 * 60_000)
	for _, path := range paths {
		if r := f.ask(acmeKey, path, nil); r.status != http.StatusOK {
			t.Errorf("%s: %d %.200s", path, r.status, r.body)
		}
	}
	away = f.now.Load() + 1000 // they listened, and nothing came
	for _, path := range paths {
		if r := f.ask(acmeKey, path, nil); r.status != http.StatusNotFound {
			t.Errorf("a silent node at %s: %d %.200s", path, r.status, r.body)
		}
	}
}
