package api_test

import (
	"fmt"
	"net/http"
	"net/url"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/ringwatch/ringwatch/api"
	"github.com/ringwatch/ringwatch/api/apitest"
	"github.com/ringwatch/ringwatch/frame/frametest"
	"github.com/ringwatch/ringwatch/query/index"
	"github.com/ringwatch/ringwatch/window"
	"github.com/ringwatch/ringwatch/window/blobs"
)

// newAlone makes an account of one node in a store in memory, without Redis and without a server.
func newAlone(t *testing.T, tables int) *fixture {
	f := &fixture{T: t, store: &apitest.Store{}, metrics: prometheus.NewRegistry()}
	f.now.Store(time.Now().UnixMilli())
	f.nodes = append(f.nodes, frametest.New("fleet-0", 1, tables))
	f.nodes[0].Step()
	f.store.Put(f.account("acme"), f.nodes[0].Frame(f.now.Load()))
	return f
}

// tablesIndex is an index of one node with many tables.
func tablesIndex(t *testing.T, account string, now int64, tables int) *index.Index {
	t.Helper()
	d := &window.Dictionary{Node: uuid.UUID{1}, Cluster: "c", Type: "table", Key: "table",
		Labels: []string{"table"}}
	for i := range tables {
		d.Rows = append(d.Rows, []string{fmt.Sprintf("table_%0100d", i)})
	}
	d.Metrics = []window.Metric{{Type: "table", Name: "reads", Unit: "u"}}
	x := index.New(0)
	h := window.HashOf(blobs.AppendDictionary(nil, d))
	id := window.DictionaryID{Node: d.Node, Day: now, Key: d.Key, Hash: h}
	if left := x.Add(account, d.Node, []window.DictionaryID{id},
		map[window.Hash]*window.Dictionary{h: d}); left > 0 {
		t.Fatal(left, " are left out")
	}
	return x
}

// endless returns an expression within the limits that takes as long for each text as any.
func endless(i int) string {
	return fmt.Sprintf("(?:[a-z_0]{0,20}[a-z0-9]?){0,50}[!A-Z]{0,%d}[!?]", i)
}

// TestSelectorAttack asks with expressions that would take gigabytes, six at once, wherever there
// are selectors, and counts what is allocated for all of it.
func TestSelectorAttack(t *testing.T) {
	f := newAlone(t, 3)
	base, _ := f.serve(func(_ *api.Config, d *api.Deps) {
		d.Series = tablesIndex(t, f.account("acme"), f.now.Load(), 10)
		d.SeriesState = func() string { return "ok" }
	})
	var repetitions strings.Builder
	for i := range 1400 {
		fmt.Fprintf(&repetitions, "%c{0,1000}", 'a'+i%26)
	}
	text := repetitions.String()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for _, of := range []struct {
		expression string
		status     int
		reason     string
		figures    []string
	}{
		{text, 400, "selectors_too_large", []string{"12600", "8192"}},
		{strings.Repeat(text, 10), http.StatusRequestHeaderFieldsTooLarge, "", nil},
		{strings.Repeat(text, 2), http.StatusRequestURITooLong, "query_too_long",
			[]string{"16384"}},
		{text[:2000], 400, "selectors_too_large", []string{"20000"}},
		{strings.Repeat(`\pL`, 1000), 400, "selectors_too_large", []string{"1000", "32"}},
		{"[a-d][a-d][a-d][a-d]" + strings.Repeat("(a)", 1000), 400, "selectors_too_large",
			[]string{"20000"}},
	} {
		for path, parameter := range map[string]string{
			"/v1/nodes/" + f.nodes[0].ID.String() + "/metrics": "metrics",
			"/v1/clusters/fleet-0/metrics":                     "metrics",
			"/v1/series":                                       "match[]",
			"/v1/labels":                                       "match[]",
			"/v1/label/table/values":                           "match[]",
		} {
			selector := fmt.Sprintf("{table=~%q}", of.expression)
			address := base + path + "?" + parameter + "=" + strings.NewReplacer(`"`, "%22", `\\`,
				"%5C%5C").Replace(selector)
			var all sync.WaitGroup
			for range 6 {
				all.Go(func() {
					r, e := f.fetch(address)
					if r.status != of.status || e.Reason != of.reason ||
						of.status == 400 && e.Field != parameter {
						t.Errorf("%s: %d %.300s", path, r.status, r.body)
					}
					for _, figure := range of.figures {
						if !strings.Contains(e.Message, figure) {
							t.Errorf("%s: %q does not say %s", path, e.Message, figure)
						}
					}
				})
			}
			all.Wait()
		}
	}
	runtime.ReadMemStats(&after)
	// 150 requests, client and server: some 300 KB each.
	if taken := after.TotalAlloc - before.TotalAlloc; taken > 128<<20 {
		t.Errorf("%d bytes were allocated", taken)
	}
}

// TestMatchingEndsAtDeadline matches for longer than a request may take. Without the deadline each
// answer comes, after a minute or so, and is right.
func TestMatchingEndsAtDeadline(t *testing.T) {
	f := newAlone(t, 2000)
	base, _ := f.serve(func(c *api.Config, d *api.Deps) {
		d.Series = tablesIndex(t, f.account("acme"), f.now.Load(), 300)
		d.SeriesState = func() string { return "ok" }
		c.RequestTimeout = 300 * time.Millisecond
		c.Selectors.MaxInstructions = 1 << 20
		c.MaxQueryBytes = 1 << 20
	})
	node := "/v1/nodes/" + f.nodes[0].ID.String() + "/metrics?"
	for _, path := range []string{
		node + "metrics=", node + "format=prometheus&metrics=", "/v1/series?match[]=",
		"/v1/labels?match[]=", "/v1/label/table/values?match[]=",
	} {
		var text strings.Builder
		for i := range 30 {
			fmt.Fprintf(&text, "%stable!~%q", []string{"{", ","}[min(i, 1)], endless(i))
		}
		r, e := f.fetch(base + path + url.QueryEscape(text.String()+"}"))
		if r.status != http.StatusGatewayTimeout || e.Reason != "timeout" {
			t.Errorf("%s: %d %.300s", path, r.status, r.body)
		}
	}
}
