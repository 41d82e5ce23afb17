package api_test

import (
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ringwatch/ringwatch/access/listener"
	"github.com/ringwatch/ringwatch/api"
	"github.com/ringwatch/ringwatch/api/apitest"
	"github.com/ringwatch/ringwatch/query"
	"github.com/ringwatch/ringwatch/query/read"
	"github.com/ringwatch/ringwatch/query/selector"
)

// newNamedFixture is newFixture with an engine for names of the catalogue.
func newNamedFixture(
	t *testing.T, nodes, tables int, span time.Duration, change ...func(*query.Config),
) *fixture {
	t.Helper()
	f := &fixture{T: t, store: &apitest.Store{}, metrics: prometheus.NewRegistry()}
	f.now.Store(time.Now().UnixMilli())
	f.added = func(r *read.Reader) []listener.Route {
		selectors, err := selector.New(selector.DefaultConfig())
		if err != nil {
			t.Fatal(err)
		}
		c := query.DefaultConfig()
		c.Clock = f.clock
		for _, change := range change {
			change(&c)
		}
		if f.engine, err = query.NewEngine(c, r, nil, selectors, nil,
			slog.New(slog.DiscardHandler)); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = f.engine.Close() })
		return nil
	}
	f.start(inMemory, f.store.Sources(), api.Deps{StoreReady: f.store.Ready})
	f.fill(nodes, tables, span, func(b []byte) { f.store.Put(f.account("acme"), b) })
	return f
}

// namedAnswer is an answer to metrics= as far as names of the catalogue fill it.
type namedAnswer []struct {
	ID      string
	Payload []namedPayload
}

type namedPayload struct {
	Metric, Type, Unit string
	Labels             map[string]string
	Values             []struct {
		Value string
		Time  time.Time
	}
}

func TestNames(t *testing.T) {
	f := newNamedFixture(t, 4, 2, 10*time.Minute)
	cluster := "/v1/clusters/" + f.nodes[0].Cluster + "/metrics"

	t.Run("the newest values are the series'", func(t *testing.T) {
		var answer namedAnswer
		f.get(
			cluster,
			url.Values{
				"metrics": {"n::compactions,n::nodestatus", "cassandra_compaction_pending_tasks"},
			},
			&answer,
		)
		if len(answer) != 2 {
			t.Fatalf("%d nodes", len(answer))
		}
		for _, n := range answer {
			if len(n.Payload) != 3 {
				t.Fatalf("%+v", n.Payload)
			}
			series, pending, status := n.Payload[0], n.Payload[1], n.Payload[2]
			if series.Metric != "cassandra_compaction_pending_tasks" ||
				pending.Metric != "compactions" ||
				pending.Type != "pendingtasks" ||
				pending.Unit != "1" ||
				pending.Labels == nil ||
				pending.Values[0].Value != series.Values[0].Value {
				t.Errorf("%+v is not %+v", pending, series)
			}
			if status.Metric != "nodeStatus" || status.Values[0].Value != "1" {
				t.Errorf("%+v", status)
			}
		}
	})
	t.Run("all values of an entry, by table", func(t *testing.T) {
		var answer namedAnswer
		f.get(f.metricsPath(0), url.Values{"metrics": {"cf::*::*::readLatency"}}, &answer)
		types := map[string]int{}
		for _, p := range answer[0].Payload {
			types[p.Type]++
			if p.Labels["keyspace"] == "" || p.Labels["table"] == "" || p.Metric != "readLatency" ||
				!strings.HasPrefix(p.Unit, "us") {
				t.Errorf("%+v", p)
			}
		}
		if len(types) != 4 || types["99thPercentile"] < 2 {
			t.Errorf("%v", types)
		}
		one := answer[0].Payload[0].Labels
		f.get(
			f.metricsPath(0),
			url.Values{
				"metrics": {
					"cf::" + one["keyspace"] + "::" + one["table"] +
						"::readLatency::99thPercentile",
				},
			},
			&answer,
		)
		if len(answer[0].Payload) != 1 || answer[0].Payload[0].Labels["table"] != one["table"] {
			t.Errorf("%+v", answer)
		}
	})
	t.Run("a time range has a value for each step", func(t *testing.T) {
		var answer namedAnswer
		at := f.now.Load()
		f.get(
			f.metricsPath(0),
			url.Values{
				"metrics": {"n::compactions"},
				"from":    {fmt.Sprint(at - 60_000)},
				"to":      {fmt.Sprint(at)},
				"step":    {"15s"},
			},
			&answer,
		)
		values := answer[0].Payload[0].Values
		if len(values) != 5 || values[4].Time.UnixMilli() != at ||
			values[0].Time.UnixMilli() != at-60_000 {
			t.Fatalf("%+v", values)
		}
		for _, v := range values {
			cell := f.history[0][at-(at-v.Time.UnixMilli())]
			if cell == nil {
				t.Fatalf("nothing was said at %s", v.Time)
			}
		}
		f.get(
			f.metricsPath(0),
			url.Values{
				"metrics":   {"n::compactions"},
				"from":      {fmt.Sprint(at - 3600_000)},
				"to":        {fmt.Sprint(at)},
				"step":      {"60s"},
				"reportNaN": {"true"},
			},
			&answer,
		)
		values = answer[0].Payload[0].Values
		last, err := strconv.ParseFloat(values[60].Value, 64)
		if len(values) != 61 || values[0].Value != "NaN" || err != nil || math.IsNaN(last) {
			t.Errorf("%d values, %+v", len(values), values)
		}
		// Wide steps end by the clock, for rollups cover such windows; without step= they are wide,
		// too.
		for text, step := range map[string]int64{"step=5m&period=1h": 300_000,
			"period=2d": 600_000} {
			q, err := url.ParseQuery("metrics=n::compactions&reportNaN=true&" + text)
			if err != nil {
				t.Fatal(err)
			}
			f.get(f.metricsPath(0), q, &answer)
			values = answer[0].Payload[0].Values
			for i, v := range values {
				if ms := v.Time.UnixMilli(); ms%step != 0 ||
					i > 0 && ms-values[i-1].Time.UnixMilli() != step {
					t.Fatalf("%s: value %d is at %s: %+v", text, i, v.Time, values)
				}
			}
			if len(values) < 11 {
				t.Errorf("%s: %d values", text, len(values))
			}
		}
	})
	t.Run("what is wrong is said", func(t *testing.T) {
		for text, want := range map[string]string{
			"metrics=n::cpuUtilisation":                       "did you mean n::cpuUtilization",
			"metrics=n::reads,":                               "bad_matcher",
			"metrics=n::reads,n::nope":                        "GET /v1/catalog lists",
			"metrics=n::reads&format=prometheus":              "bad_format",
			"metrics=n::reads&period=1h&rollup=raw":           "bad_rollup",
			"metrics=" + strings.Repeat("n::reads,", 40):      "too_many_metrics",
			"metrics=n::reads&period=30d&step=1s":             "max_steps",
			"metrics=os_load1{a=%22n::reads,%22},os_load{b=1": "bad_matcher",

			"metrics=cf::a::b::readLatency::1stPercentile": "cf::a::b::readLatency::50thPercentile",
		} {
			q, err := url.ParseQuery(text)
			if err != nil {
				t.Fatal(err)
			}
			if r := f.ask(acmeKey, f.metricsPath(0), q); r.status != http.StatusBadRequest ||
				!strings.Contains(string(r.body), want) {
				t.Errorf("%s: %d %s", text, r.status, r.body)
			}
		}
	})
	t.Run("another account sees nothing", func(t *testing.T) {
		if r := f.ask(otherKey, cluster, url.Values{"metrics": {"n::reads"}}); r.status !=
			http.StatusNotFound {
			t.Errorf("%d %s", r.status, r.body)
		}
	})
	t.Run("the catalogue is there", func(t *testing.T) {
		var groups []struct {
			Name    string
			Entries []struct{ Name, Description string }
		}
		f.get("/v1/catalog", nil, &groups)
		i := slices.IndexFunc(
			groups[0].Entries,
			func(e struct{ Name, Description string }) bool { return e.Name == "n::reads" },
		)
		if i < 0 || groups[0].Entries[i].Description == "" {
			t.Errorf("%+v", groups[0])
		}
	})
}
