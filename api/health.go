package api

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"time"
)

// readyTimeout bounds how long an engine may take to answer before it counts as away.
const readyTimeout = 3 * time.Second

func getHealthy(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = io.WriteString(w, "healthy\n")
}

// readyAnswer says what the server can reach. Without the recent source every answer is still right, so that does not make it unready; nor does the index of series
// while it is loaded, because its answers say what they lack and all others need none of it.
type readyAnswer struct {
	Ready  bool   `json:"ready"`
	Store  string `json:"store"`  // "ok" or what is wrong
	Recent string `json:"recent"` // the same, or "off"
	Series string `json:"series"` // "ok", "off", or what the index of series lacks

	Warning string `json:"warning,omitempty"` // what an operator should know although the server is ready
}

func (s *Server) getReady(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), readyTimeout)
	defer cancel()
	recent := make(chan string, 1)
	go func() {
		if s.deps.RecentReady == nil {
			recent <- "off"
			return
		}
		recent <- ok(s.deps.RecentReady(ctx))
	}()
	a := readyAnswer{Store: ok(s.deps.StoreReady(ctx)), Recent: <-recent, Series: "off"}
	if s.deps.SeriesState != nil {
		a.Series = s.deps.SeriesState()
	}
	if a.Ready = a.Store == "ok"; a.Ready && s.deps.Warning != nil {
		a.Warning = s.deps.Warning(ctx)
	}
	w.Header().Set("Content-Type", "application/json")
	if !a.Ready {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	_ = json.NewEncoder(w).Encode(a) // a client that went away misses nothing
}

func ok(err error) string {
	if err != nil {
		return err.Error()
	}
	return "ok"
}

const home = `<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Ringwatch</title>
<h1>Ringwatch</h1>
<p>Everything under /v1 and /api/v1 needs an API key: curl -H "Authorization: Bearer rw_…"</p>
<ul>
<li><a href="/v1/clusters">/v1/clusters</a>: the clusters this key may see
<li><a href="/v1/nodes">/v1/nodes</a>: their nodes, with the age of their data
<li>/v1/nodes/{id}/metrics?metrics=…: newest values; with &amp;period=15m, or &amp;from=…&amp;to=…, and &amp;step=1m those of a time range
<li>/v1/nodes/{id}/prometheus, /v1/clusters/{cluster}/prometheus: everything newest, as exposition text
<li><a href="/v1/discovery">/v1/discovery</a>: the nodes as targets of a Prometheus
<li>/v1/series?match[]=…: which series there are; <a href="/v1/labels">/v1/labels</a>, /v1/label/{name}/values: their labels
<li>/api/v1/query, /api/v1/query_range, …: PromQL and Prometheus's own HTTP API; /federate
<li>POST /v1/lookup/{keyspace}/{table}: rows of other tables by key that this server's configuration lists
<li>/v1/qps: who asks for how much of Cassandra, for keys with the scope admin
<li><a href="/v1/openapi.yaml">/v1/openapi.yaml</a>: all of this for programs
<li><a href="/-/healthy">/-/healthy</a>, <a href="/-/ready">/-/ready</a>, <a href="/metrics">/metrics</a>: this server itself
</ul>
</html>
`

func getHome(w http.ResponseWriter, _ *http.Request) {
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", "default-src 'none'")
	_, _ = io.WriteString(w, home)
}
