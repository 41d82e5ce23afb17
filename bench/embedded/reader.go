package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/ringwatch/ringwatch/bench"
	"github.com/ringwatch/ringwatch/bench/peers"
	"github.com/ringwatch/ringwatch/dashboards/dashboardtest"
)

// Reading.
const (
	readEvery    = 200 * time.Millisecond // of each side
	readsAtOnce  = 16                     // more are left out, and counted as failed
	panelRange   = time.Hour              // that of the shipped dashboards
	panelStep    = 20 * time.Second
	probeEvery   = 2 * time.Second // a value whose freshness is measured
	probePause   = 5 * time.Millisecond
	probeTimeout = 30 * time.Second
)

// question is what both sides are asked, each in its words.
type question struct {
	kind, title   string
	path          string
	param         string // what the expression is called
	words, theirs string
	span          time.Duration // 0: an instant
}

// questions are those of a reader: of five, three panels, newest values and a list.
func questions(o *options, n *nodes) ([]question, error) {
	panels, err := panelsOf(o, n)
	if err != nil {
		return nil, err
	}
	var list []question
	latest := func(i int) question {
		id := n.list[i%len(n.list)].ID
		expr := fmt.Sprintf(`{node=%q,__name__=~"(jvm|os)_.*"}`, id)
		return question{kind: "latest", title: "newest values of a node", path: "/api/v1/query",
			param: "query", words: expr, theirs: expr}
	}
	lists := []question{
		{title: "nodes", path: "/api/v1/label/node/values"},
		{title: "tables of a cluster", path: "/api/v1/label/table/values",
			words: `cassandra_table_live_sstables{cluster="fleet0"}`},
		{title: "series of a metric of a cluster", path: "/api/v1/series",
			words: `cassandra_table_live_sstables{cluster="fleet0"}`},
	}
	for i, p := range panels {
		list = append(list, p)
		if i%3 == 2 {
			list = append(list, latest(17*i))
			l := lists[i/3%len(lists)]
			l.kind, l.param, l.theirs = "list", "match[]", l.words
			list = append(list, l)
		}
	}
	return list, nil
}

// panelsOf are the panels of the shipped dashboards, of one cluster and its busiest table.
func panelsOf(o *options, n *nodes) (list []question, err error) {
	files, err := filepath.Glob(filepath.Join(o.dashboards, "*.json"))
	if err != nil || len(files) == 0 {
		return nil, fmt.Errorf("%s has no dashboards: %v", o.dashboards, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		var d dashboardtest.Dashboard
		if err := json.Unmarshal(text, &d); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		values := dashboardtest.BuiltIn()
		for _, v := range d.Templating.List {
			values[v.Name] = ".*"
		}
		if strings.Contains(string(text), `=\"$cluster\"`) {
			values["cluster"] = n.list[0].Cluster
		}
		values["table"] = tableOf(n)
		for i := range d.Panels {
			for _, t := range d.Panels[i].Targets {
				q := question{kind: "panel", path: "/api/v1/query_range", param: "query", span: panelRange,
					title: fmt.Sprintf("%s: %s %s", strings.TrimSuffix(filepath.Base(file), ".json"),
						d.Panels[i].Title, t.RefID)}
				if q.words, err = dashboardtest.Expand(t.Expr, values); err == nil {
					q.theirs, err = peers.Words(q.words, n.busy.IsHistogram)
				}
				if err != nil {
					return nil, fmt.Errorf("%s: %w", q.title, err)
				}
				if t.Instant {
					q.path, q.span = "/api/v1/query", 0
				}
				list = append(list, q)
			}
		}
	}
	return list, nil
}

// tableOf is a table of users that all nodes have.
func tableOf(n *nodes) string {
	of := n.busy.Rows("table")
	i := slices.IndexFunc(of, func(row map[string]string) bool {
		return !strings.HasPrefix(row["keyspace"], "system")
	})
	return of[max(0, i)]["table"]
}

func (q *question) form(words string, at time.Time) url.Values {
	form := url.Values{}
	if words != "" {
		form.Set(q.param, words)
	}
	second := func(t time.Time) string { return strconv.FormatInt(t.Unix(), 10) }
	switch {
	case q.span > 0:
		at = at.Truncate(panelStep)
		form.Set("start", second(at.Add(-q.span)))
		form.Set("end", second(at))
		form.Set("step", strconv.Itoa(int(panelStep/time.Second)))
	case q.param == "query":
		form.Set("time", second(at))
	}
	return form
}

// reader is what a reader has found of one side.
type reader struct {
	mu     sync.Mutex
	counts bool // what is found now counts
	times  map[string][]float64
	failed int
	why    string // the last time
}

func (r *reader) note(kind string, took time.Duration, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case !r.counts:
	case err != nil:
		r.failed++
		r.why = err.Error()
	default:
		r.times[kind] = append(r.times[kind], millis(took))
	}
}

// begin lets what is found from now on count.
func (r *reader) begin() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.counts, r.times, r.failed = true, map[string][]float64{}, 0
}

// end lets nothing more count.
func (r *reader) end() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.counts = false
}

func (r *reader) all() (list []float64) {
	for _, some := range r.times {
		list = append(list, some...)
	}
	return list
}

// medians are by kind, in ms.
func (r *reader) medians() map[string]float64 {
	m := map[string]float64{}
	for kind, list := range r.times {
		m[kind] = bench.Quantile(slices.Clone(list), 0.5)
	}
	return m
}

func millis(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// read asks a side five questions a second until ctx ends, whether it answers or not.
func (r *reader) read(ctx context.Context, s *side, list []question) {
	var work sync.WaitGroup
	defer work.Wait()
	places := make(chan struct{}, readsAtOnce)
	tick := time.NewTicker(readEvery)
	defer tick.Stop()
	for i := 0; ; i++ {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		q := list[i%len(list)]
		select {
		case places <- struct{}{}:
		default:
			r.note(q.kind, 0, fmt.Errorf("%d questions are not answered yet", readsAtOnce))
			continue
		}
		work.Go(func() {
			defer func() { <-places }()
			words := q.words
			if s.key == "" {
				words = q.theirs
			}
			took, err := s.ask(ctx, q.path, q.form(words, time.Now()))
			if ctx.Err() == nil {
				if err != nil {
					err = fmt.Errorf("%s: %w", q.title, err)
				}
				r.note(q.kind, took, err)
			}
		})
	}
}

// probe asks for the value of a frame every now and then, until the answer has it. late is noted
// as a failure.
func (r *reader) probe(ctx context.Context, from *nodes, of *ours) {
	for {
		var s sent
		select {
		case s = <-from.taken:
		case <-ctx.Done():
			return
		}
		wait, cancel := context.WithTimeout(ctx, probeTimeout)
		for {
			at, err := of.newest(wait, s.node)
			if err == nil && at >= s.at {
				r.note("fresh", time.Since(s.when), nil)
				break
			}
			if wait.Err() != nil {
				if ctx.Err() == nil {
					r.note("fresh", 0, fmt.Errorf("the value of a frame was not there after %s: %v",
						probeTimeout, err))
				}
				break
			}
			time.Sleep(probePause)
		}
		cancel()
		select {
		case <-time.After(probeEvery):
		case <-ctx.Done():
			return
		}
	}
}

// series counts the series of an answer.
func (s *side) series(ctx context.Context, q *question, words string, at time.Time) (int, error) {
	b, err := get(ctx, s.url+q.path+"?"+q.form(words, at).Encode(), s.key)
	if err != nil {
		return 0, err
	}
	var a struct{ Data json.RawMessage }
	var result struct{ Result []json.RawMessage }
	var list []json.RawMessage
	if err := json.Unmarshal(b, &a); err != nil {
		return 0, err
	}
	if json.Unmarshal(a.Data, &list) == nil {
		return len(list), nil
	}
	err = json.Unmarshal(a.Data, &result)
	return len(result.Result), err
}
