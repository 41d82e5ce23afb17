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

// Board is a dashboard.
type Board struct {
	Name    string // of its file
	Cluster bool   // it asks for one cluster; otherwise it is of the whole fleet
	Panels  []Panel
}

// Panel is one expression of a panel. Theirs is the same in the words of a Prometheus that has
// classic histograms.
type Panel struct {
	Title, Words, Theirs string
	Instant              bool // no range
}

// Boards reads the dashboards of Cassandra in a folder, and asks for one cluster and table, and for
// everything of what else can be chosen.
func Boards(dir, cluster, table string, native func(metric string) bool) (list []Board, err error) {
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
		b := Board{Name: strings.TrimSuffix(filepath.Base(file), ".json")}
		values := dashboardtest.BuiltIn()
		for _, v := range d.Templating.List {
			values[v.Name] = ".*"
		}
		if b.Cluster = strings.Contains(string(text), `=\"$cluster\"`); b.Cluster {
			values["cluster"] = cluster
		}
		values["table"] = table
		for i := range d.Panels {
			for _, t := range d.Panels[i].Targets {
				p := Panel{Instant: t.Instant,
					Title: fmt.Sprintf("%s: %s %s", b.Name, d.Panels[i].Title, t.RefID)}
				if p.Words, err = dashboardtest.Expand(t.Expr, values); err == nil {
					p.Theirs, err = peers.Words(p.Words, native)
				}
				if err != nil {
					return nil, fmt.Errorf("%s: %w", p.Title, err)
				}
				b.Panels = append(b.Panels, p)
			}
		}
		list = append(list, b)
	}
	return list, nil
}

// Panels are the questions of a folder's dashboards about one cluster and its busiest table. The
// kind of those about the whole fleet is "fleet", that of the others "panel".
func Panels(dir, cluster string, shape *fleet.Shape) (list []Question, err error) {
	boards, err := Boards(dir, cluster, tableOf(shape), shape.IsHistogram)
	for _, b := range boards {
		for _, p := range b.Panels {
			q := Question{Kind: "fleet", Title: p.Title, Path: "/api/v1/query_range",
				Param: "query", Words: p.Words, Theirs: p.Theirs, Span: panelRange}
			if b.Cluster {
				q.Kind = "panel"
			}
			if p.Instant {
				q.Path, q.Span = "/api/v1/query", 0
			}
			list = append(list, q)
		}
	}
	return list, err
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
