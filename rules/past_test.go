package rules

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/tsdb/chunks"

	"github.com/ringwatch/ringwatch/query/querytest"
)

// onePlace is a past that only one query may read at a time, as one account's queue may allow. Each
// selector has one series of value 1.
type onePlace chan struct{}

// querier waits for the place until ctx ends.
func (p onePlace) querier(ctx context.Context) (storage.Querier, error) {
	select {
	case p <- struct{}{}:
		return &pastQuerier{place: p}, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

type pastQuerier struct {
	storage.MockQuerier
	place onePlace
}

func (p *pastQuerier) Select(
	_ context.Context, _ bool, h *storage.SelectHints, matchers ...*labels.Matcher,
) storage.SeriesSet {
	of := labels.NewBuilder(labels.EmptyLabels())
	for _, m := range matchers {
		of.Set(m.Name, m.Value)
	}
	one := storage.NewListSeries(of.Labels(), []chunks.Sample{constant(h.End)})
	return &seriesSet{list: []storage.Series{one}, at: -1}
}

// constant is a sample of value 1 at an instant. It implements chunks.Sample.
type constant int64

func (c constant) T() int64                      { return int64(c) }
func (c constant) ST() int64                     { return 0 }
func (c constant) F() float64                    { return 1 }
func (c constant) H() *histogram.Histogram       { return nil }
func (c constant) FH() *histogram.FloatHistogram { return nil }
func (c constant) Type() chunkenc.ValueType      { return chunkenc.ValFloat }
func (c constant) Copy() chunks.Sample           { return c }

func (p *pastQuerier) Close() error {
	<-p.place
	return nil
}

// TestPastTakesOnePlace: a rule reads all that lies beyond memory through one query of its account.
// One for each selector would wait for places that the rule itself holds.
func TestPastTakesOnePlace(t *testing.T) {
	w := newTown(t, 0, `
groups:
- name: all
  rules:
  - record: "a:past"
    expr: |
      max by (cluster) (node_load1) + max by (cluster) (node_load1 offset 2h)
        + max by (cluster) (node_load1 offset 3h)
`)
	place := make(onePlace, 1)
	w.set = func(_ *Config, d *Deps) {
		d.Past = func(ctx context.Context, _ string) storage.Queryable {
			return storage.QueryableFunc(func(_, _ int64) (storage.Querier, error) {
				return place.querier(ctx)
			})
		}
	}
	for i := range 4 {
		w.add("", fmt.Sprint("c", i), uint64(i+1))
	}
	w.pass(2*time.Minute, nil)
	for name, text := range w.health(querytest.Account) {
		if text != "ok" {
			t.Errorf("%s is %q", name, text)
		}
	}
	if n, _ := w.recordedOf(querytest.Account, "a:past"); n < 4 {
		t.Errorf("%d values were recorded", n)
	}
	if len(place) != 0 {
		t.Error("the place was not given back")
	}
}

// TestSlowGroup: a group whose rules take longer than all of them may is ended, says so, and stops
// no other group. What was evaluated is written down.
func TestSlowGroup(t *testing.T) {
	loop := "node_load1"
	for range 5 { // a rule takes several times what it may, on a fast machine, too
		loop = "sum_over_time((" + loop + ")[10m:55ms])"
	}
	var slow strings.Builder
	for i := range 20 {
		fmt.Fprintf(&slow, "  - {record: 's:%d', expr: '%s'}\n", i, loop)
	}
	w := newTown(t, 3, "groups:\n- name: slow\n  interval: 30s\n  rules:\n"+slow.String()+`
- name: fine
  rules:
  - {alert: Load, expr: node_load1 > 3}
`)
	w.set = func(c *Config, _ *Deps) { c.Timeout = 100 * time.Millisecond }
	w.bound = 900 * time.Millisecond
	w.nodes[0].load = 5
	// what was said of the first slow rule and the last
	first, last := map[string]bool{}, map[string]bool{}
	w.pass(6*time.Minute, func() {
		health := w.health(querytest.Account)
		first[health["s:0"]], last[health["s:19"]] = true, true
	})
	w.wantTold(0, "Load 0 firing")
	said := func(texts map[string]bool, part string) bool {
		for text := range texts {
			if strings.Contains(text, part) {
				return true
			}
		}
		return false
	}
	if !said(first, "timed out") {
		t.Errorf("of the first slow rule was said %v", first)
	}
	if !said(last, "a group of their own") {
		t.Errorf("of the last one was said %v", last)
	}
	if len(w.states) == 0 {
		t.Error("no state was written down")
	}
}
