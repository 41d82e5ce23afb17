// Package crowd asks as people do: the panels of the shipped dashboards, newest values and lists,
// at an even pace. It notes how long the answers take. Benchmarks share it.
package crowd

import (
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ringwatch/ringwatch/api/dashboards/dashboardtest"
	"github.com/ringwatch/ringwatch/bench/peers"
)

const (
	panelRange = time.Hour // that of the shipped dashboards
	panelStep  = 20 * time.Second
)

// Question is what a server is asked.
type Question struct {
	Kind, Title string
	Board       string // the dashboard's name, of a panel
	Path        string
	Param       string // what the expression is called; empty: there is none
	Words       string
	Theirs      string        // the same in the words of a Prometheus that has classic histograms
	Span        time.Duration // 0: an instant
}

// Form returns the parameters of a question with these words at a time.
func (q *Question) Form(words string, at time.Time) url.Values {
	form := url.Values{}
	if words != "" {
		form.Set(q.Param, words)
	}
	second := func(t time.Time) string { return strconv.FormatInt(t.Unix(), 10) }
	switch {
	case q.Span > 0:
		at = at.Truncate(panelStep)
		form.Set("start", second(at.Add(-q.Span)))
		form.Set("end", second(at))
		form.Set("step", strconv.Itoa(int(panelStep/time.Second)))
	case q.Param == "query":
		form.Set("time", second(at))
	}
	return form
}

// Panels are the questions of a folder's dashboards of Cassandra about one cluster and table, and
// about everything of what else can be chosen. The kind of those about the whole fleet is "fleet",
// that of the others "panel". native says which metrics are histograms.
func Panels(dir, cluster, table string, native func(metric string) bool) (list []Question,
	err error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil || len(files) == 0 {
		return nil, fmt.Errorf("%s has no dashboards: %v", dir, err)
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
		if !slices.Contains(d.Tags, "cassandra") {
			continue // the set has nodes of Cassandra alone
		}
		values := dashboardtest.BuiltIn()
		for _, v := range d.Templating.List {
			values[v.Name] = ".*"
		}
		kind := "fleet"
		if strings.Contains(string(text), `=\"$cluster\"`) {
			kind, values["cluster"] = "panel", cluster
		}
		values["table"] = table
		board := strings.TrimSuffix(filepath.Base(file), ".json")
		for i := range d.Panels {
			for _, t := range d.Panels[i].Targets {
				q := Question{Kind: kind, Board: board, Path: "/api/v1/query_range",
					Title: fmt.Sprintf("%s: %s %s", board, d.Panels[i].Title, t.RefID),
					Param: "query", Span: panelRange}
				if t.Instant {
					q.Path, q.Span = "/api/v1/query", 0
				}
				if q.Words, err = dashboardtest.Expand(t.Expr, values); err == nil {
					q.Theirs, err = peers.Words(q.Words, native)
				}
				if err != nil {
					return nil, fmt.Errorf("%s: %w", q.Title, err)
				}
				list = append(list, q)
			}
		}
	}
	return list, nil
}

// Latest asks for a node's newest values.
func Latest(node string) Question {
	expr := fmt.Sprintf(`{node=%q,__name__=~"(jvm|os)_.*"}`, node)
	return Question{Kind: "latest", Title: "newest values of a node", Path: "/api/v1/query",
		Param: "query", Words: expr, Theirs: expr}
}

// Lists are what a dashboard's menus ask for.
func Lists(cluster string) []Question {
	tables := fmt.Sprintf("cassandra_table_live_sstables{cluster=%q}", cluster)
	list := []Question{
		{Title: "nodes", Path: "/api/v1/label/node/values"},
		{Title: "tables of a cluster", Path: "/api/v1/label/table/values", Words: tables},
		{Title: "series of a metric of a cluster", Path: "/api/v1/series", Words: tables},
	}
	for i := range list {
		list[i].Kind, list[i].Param, list[i].Theirs = "list", "match[]", list[i].Words
	}
	return list
}
