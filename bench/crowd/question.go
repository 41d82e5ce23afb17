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
	"github.com/ringwatch/ringwatch/bench/fleet"
	"github.com/ringwatch/ringwatch/bench/peers"
)

const (
	panelRange = time.Hour // that of the shipped dashboards
	panelStep  = 20 * time.Second
)

// Question is what a server is asked.
type Question struct {
	Kind, Title string
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

// Panels are those of the dashboards in a folder, of one cluster and its busiest table. Dashboards
// that do not ask for one cluster are of the whole fleet: their kind is "fleet", that of the others
// "panel".
func Panels(dir, cluster string, shape *fleet.Shape) (list []Question, err error) {
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
		values, kind := dashboardtest.BuiltIn(), "fleet"
		for _, v := range d.Templating.List {
			values[v.Name] = ".*"
		}
		if strings.Contains(string(text), `=\"$cluster\"`) {
			values["cluster"], kind = cluster, "panel"
		}
		values["table"] = tableOf(shape)
		for i := range d.Panels {
			for _, t := range d.Panels[i].Targets {
				q := Question{Kind: kind, Path: "/api/v1/query_range", Param: "query",
					Span: panelRange,
					Title: fmt.Sprintf("%s: %s %s", strings.TrimSuffix(filepath.Base(file),
						".json"),
						d.Panels[i].Title, t.RefID)}
				if q.Words, err = dashboardtest.Expand(t.Expr, values); err == nil {
					q.Theirs, err = peers.Words(q.Words, shape.IsHistogram)
				}
				if err != nil {
					return nil, fmt.Errorf("%s: %w", q.Title, err)
				}
				if t.Instant {
					q.Path, q.Span = "/api/v1/query", 0
				}
				list = append(list, q)
			}
		}
	}
	return list, nil
}

// tableOf is a table of users that all nodes have.
func tableOf(shape *fleet.Shape) string {
	of := shape.Rows("table")
	i := slices.IndexFunc(of, func(row map[string]string) bool {
		return !strings.HasPrefix(row["keyspace"], "system")
	})
	return of[max(0, i)]["table"]
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
