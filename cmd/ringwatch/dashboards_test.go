package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ringwatch/ringwatch/api/dashboards/dashboardtest"
)

// mayBeEmpty are the panels that may show nothing of a healthy node, by dashboard and title, with
// the reason.
var mayBeEmpty = map[string]string{
	"cluster.json Range read latency": "nobody need read a range, and 0 would say that it " +
		"takes no time",
}

// knownInfo is what Prometheus's engine says now and then of a histogram without a sum whose
// buckets do not add up to its count in the last digit.
const knownInfo = "input to histogram_quantile has NaN observations"

// testDashboards asks every query of the dashboards, as Grafana does while one looks at
// shop.orders.
func (w *whole) testDashboards(t *testing.T) {
	if _, err := w.jmx.read("org.apache.cassandra.db:type=StorageService",
		"forceKeyspaceFlush(shop)"); err != nil {
		t.Fatal(err) // partitions and SSTables are on disk only after it
	}
	ctx, cancel := context.WithCancel(t.Context())
	busy := make(chan error, 1)
	go func() { busy <- w.keepBusy(ctx) }()
	defer func() {
		cancel()
		if err := <-busy; err != nil {
			t.Error(err)
		}
	}()
	prefer := map[string]string{"keyspace": "shop", "table": "orders"}
	panels, queries, empty := 0, 0, 0
	for _, d := range dashboardtest.MustLoad(t, "../../api/dashboards") {
		if !slices.Contains(d.Tags, "cassandra") {
			continue // nothing else is here; package dashboards asks of all that there may be
		}
		values := dashboardtest.BuiltIn()
		for _, v := range d.Templating.List {
			if v.Type == "datasource" {
				values[v.Name] = "ringwatch"
				continue
			}
			var chosen []string
			eventually(t, d.File+" variable "+v.Name, func(ctx context.Context) (err error) {
				chosen, err = w.valuesOf(ctx, &v, values)
				if err == nil &&
					(len(chosen) == 0 ||
						prefer[v.Name] != "" && !slices.Contains(chosen, prefer[v.Name])) {
					err = fmt.Errorf("its values are %q", chosen)
				}
				return err
			})
			if !v.Multi {
				chosen = []string{chosen[0]}
				if p := prefer[v.Name]; p != "" {
					chosen[0] = p
				}
			}
			if v.Name == "keyspace" { // another keyspace's table may have the same name
				chosen = []string{prefer[v.Name]}
			}
			values[v.Name] = v.Chosen(chosen...)
		}
		waiting := map[string]string{}
		for i := range d.Panels {
			p := &d.Panels[i]
			if len(p.Targets) > 0 {
				panels++
			}
			for _, q := range p.Targets {
				queries++
				expr, err := dashboardtest.Expand(q.Expr, values)
				if err != nil {
					t.Fatal(err)
				}
				path := "/api/v1/query?query=" + url.QueryEscape(expr)
				if q.Range {
					path = "/api/v1/query_range?step=20&query=" + url.QueryEscape(expr)
				}
				waiting[d.File+" "+p.Title+", "+q.RefID] = path
			}
		}
		ask := func(ctx context.Context) error {
			for _, name := range slices.Sorted(maps.Keys(waiting)) {
				shows, err := w.shows(ctx, waiting[name])
				if err != nil {
					return fmt.Errorf("%s: %w", name, err)
				}
				if shows {
					delete(waiting, name)
				}
			}
			for name := range waiting {
				if panel, _, _ := strings.Cut(name, ", "); mayBeEmpty[panel] == "" {
					return fmt.Errorf("%d queries have no data: %q", len(waiting),
						slices.Sorted(maps.Keys(waiting)))
				}
			}
			return nil
		}
		eventually(t, d.File, ask)
		empty += len(waiting)
		for _, name := range slices.Sorted(maps.Keys(waiting)) {
			t.Logf("%s shows nothing, as it may", name)
		}
	}
	t.Logf("%d panels with %d queries, %d of which show nothing", panels, queries, empty)
}

// keepBusy reads and writes shop.orders until the context ends. On a busy machine one or the other
// statement runs out of time, so only minutes of nothing else are an error.
func (w *whole) keepBusy(ctx context.Context) error {
	worked := time.Now()
	for k := 0; ctx.Err() == nil; k = (k + 1) % 300 {
		var v string
		err := w.cql.Query("INSERT INTO shop.orders (k, v) VALUES (?, ?)", k,
			strings.Repeat("x", k)).ExecContext(ctx)
		if err == nil {
			err = w.cql.Query("SELECT v FROM shop.orders WHERE k = ?", (k+150)%300).ScanContext(ctx,
				&v)
		}
		switch {
		case err == nil:
			worked = time.Now()
		case ctx.Err() == nil && time.Since(worked) > 3*time.Minute:
			return fmt.Errorf("shop.orders: %w", err)
		}
		time.Sleep(20 * time.Millisecond) // a small load, for other tests run beside this one
	}
	return nil
}

// promAnswer is Prometheus's answer to a query.
type promAnswer struct {
	Data struct {
		Result []struct {
			Metric     map[string]string
			Value      []any
			Values     [][]any
			Histograms [][]any
		}
	}
	Warnings, Infos []string
}

func (w *whole) prom(ctx context.Context, path string) (a promAnswer, err error) {
	if err := w.Get(ctx, path, &a); err != nil {
		return a, err
	}
	for _, text := range append(a.Warnings, a.Infos...) {
		if !strings.Contains(text, knownInfo) {
			return a, fmt.Errorf("%s: %s", path, text)
		}
	}
	return a, nil
}

// shows asks a panel's query of now, or of the last five minutes, and reports whether there is a
// number in the answer.
func (w *whole) shows(ctx context.Context, path string) (bool, error) {
	if strings.Contains(path, "/query_range?") {
		now := time.Now().Unix()
		path += fmt.Sprintf("&start=%d&end=%d", now-300, now)
	}
	a, err := w.prom(ctx, path)
	if err != nil {
		return false, err
	}
	for _, s := range a.Data.Result {
		if len(s.Histograms) > 0 {
			return true, nil
		}
		for _, v := range append(s.Values, s.Value) {
			if len(v) == 2 && v[1] != "NaN" {
				return true, nil
			}
		}
	}
	return false, nil
}

// valuesOf asks a variable's query.
func (w *whole) valuesOf(ctx context.Context, v *dashboardtest.Variable,
	values map[string]string) ([]string, error) {
	query, err := dashboardtest.Expand(v.Definition, values)
	if err != nil {
		return nil, err
	}
	if selector, label, ok := dashboardtest.LabelValues(query); ok {
		var a struct {
			Data, Warnings []string
		}
		err := w.Get(ctx, "/api/v1/label/"+label+"/values?match[]="+url.QueryEscape(selector), &a)
		if err == nil && len(a.Warnings) > 0 {
			err = errors.New(strings.Join(a.Warnings, ", "))
		}
		return a.Data, err
	}
	expr, ok := dashboardtest.QueryResult(query)
	if !ok {
		return nil, fmt.Errorf("%s asks %q", v.Name, query)
	}
	a, err := w.prom(ctx, "/api/v1/query?query="+url.QueryEscape(expr))
	if err != nil {
		return nil, err
	}
	var list []string
	for _, s := range a.Data.Result {
		if s.Metric["address"] == "" {
			return nil, fmt.Errorf("a node without an address: %v", s.Metric)
		}
		list = append(list, s.Metric[v.Name])
	}
	return list, nil
}
