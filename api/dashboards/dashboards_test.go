// Package dashboards_test holds the dashboards against what there is: every query reads as
// PromQL, and names metrics that Ringwatch has. cmd/ringwatch asks them of a running fleet.
package dashboards_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"

	"github.com/ringwatch/ringwatch/api/dashboards/dashboardtest"
)

// watched are the metrics that the role watch gives of every target.
var watched = []string{"scrape_duration_seconds", "scrape_samples_scraped"}

// virtual are the metrics of package query/series that are of no frame.
var virtual = []string{"up", "ringwatch_node_last_seen_timestamp_seconds", "ringwatch_node_info"}

// named returns the names in agent/METRICS.md, and of what the role watch reads.
func named(t *testing.T) map[string]bool {
	t.Helper()
	text, err := os.ReadFile("../../agent/METRICS.md")
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, m := range regexp.MustCompile("(?m)^\\| `(\\w+)` \\|").FindAllStringSubmatch(
		string(text), -1) {
		names[m[1]] = true
	}
	if len(names) < 300 {
		t.Fatalf("only %d metrics found in agent/METRICS.md", len(names))
	}
	for _, file := range []string{"kafka.txt", "redis.txt"} {
		text, err := os.ReadFile("../../dictionary/" + file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`(?m)^(\w+) (?:counter|gauge|histogram)`).
			FindAllStringSubmatch(string(text), -1) {
			names[m[1]] = true
		}
	}
	for file, of := range map[string][]string{"query/series/own.go": virtual,
		"watch/watch.go": watched} {
		code, err := os.ReadFile("../../" + file)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range of {
			if !strings.Contains(string(code), `"`+name+`"`) {
				t.Errorf("%s has no series %s", file, name)
			}
			names[name] = true
		}
	}
	return names
}

func TestDashboards(t *testing.T) {
	names := named(t)
	uids := map[string]string{}
	for _, d := range dashboardtest.MustLoad(t, ".") {
		t.Run(d.File, func(t *testing.T) {
			if uids[d.UID] != "" || d.UID == "" {
				t.Errorf("its uid %q is that of %s, too", d.UID, uids[d.UID])
			}
			uids[d.UID] = d.File
			if d.Title == "" || d.SchemaVersion < 39 || d.Timezone != "browser" ||
				d.Refresh != "20s" || !slices.Contains(d.Tags, "ringwatch") {
				t.Errorf("title %q, schemaVersion %d, timezone %q, refresh %q, tags %v", d.Title,
					d.SchemaVersion, d.Timezone, d.Refresh, d.Tags)
			}
			if len(d.Links) != 1 || !slices.Equal(d.Links[0].Tags, []string{"ringwatch"}) {
				t.Errorf("it does not link the dashboards with the tag ringwatch: %v", d.Links)
			}
			testVariables(t, &d, names)
			testPanels(t, &d, names)
		})
	}
	if len(uids) != 5 {
		t.Errorf("%d dashboards, want 5", len(uids))
	}
}

// testVariables checks that each variable's query uses only variables before it.
func testVariables(t *testing.T, d *dashboardtest.Dashboard, names map[string]bool) {
	values := map[string]string{}
	for i, v := range d.Templating.List {
		switch {
		case i == 0:
			if v.Name != "datasource" || v.Type != "datasource" || v.Query != "prometheus" {
				t.Errorf("the first variable is %+v, not the data source", v)
			}
		case v.Type != "query":
			t.Errorf("variable %s is of type %q", v.Name, v.Type)
		default:
			query, err := dashboardtest.Expand(v.Definition, values)
			if err != nil {
				t.Errorf("variable %s: %v", v.Name, err)
			}
			expr, _, ok := dashboardtest.LabelValues(query)
			if !ok {
				expr, ok = dashboardtest.QueryResult(query)
			}
			if !ok {
				t.Errorf("variable %s asks %q", v.Name, query)
			}
			testExpr(t, "variable "+v.Name, expr, names)
			if of, _ := v.Query.(map[string]any); of["query"] != v.Definition {
				t.Errorf("variable %s has two queries: %v and %s", v.Name, v.Query, v.Definition)
			}
			if v.IncludeAll && v.AllValue != ".*" {
				t.Errorf("variable %s lists all values, which makes a regular expression longer "+
					"than api.selectors allow", v.Name)
			}
		}
		values[v.Name] = v.Chosen("x.y", "z")
	}
}

func testPanels(t *testing.T, d *dashboardtest.Dashboard, names map[string]bool) {
	values := dashboardtest.BuiltIn()
	multi := map[string]bool{}
	for _, v := range d.Templating.List {
		values[v.Name] = v.Chosen("x")
		multi[v.Name] = v.Multi
	}
	ids := map[int]bool{}
	var before *dashboardtest.Panel
	for i := range d.Panels {
		p := &d.Panels[i]
		if ids[p.ID] || p.Title == "" {
			t.Errorf("panel %d (%s) has an id that another one has, or no title", p.ID, p.Title)
		}
		ids[p.ID] = true
		if b := before; b != nil && p.GridPos.Y == b.GridPos.Y &&
			p.GridPos.X < b.GridPos.X+b.GridPos.W || p.GridPos.X+p.GridPos.W > 24 {
			t.Errorf("%s: it lies upon another panel or beyond the edge: %+v", p.Title, p.GridPos)
		}
		before = p
		if p.Type == "row" {
			continue
		}
		if !strings.HasSuffix(p.Description, ".") || strings.Count(p.Description, ". ") > 0 {
			t.Errorf("%s: its description is not one sentence: %q", p.Title, p.Description)
		}
		if p.FieldConfig.Defaults.Unit == "" || len(p.Targets) == 0 {
			t.Errorf("%s: it has no unit or no query", p.Title)
		}
		for _, q := range p.Targets {
			if s := (dashboardtest.Source{Type: "prometheus",
				UID: "${datasource}"}); q.Datasource != s || p.Datasource != s {
				t.Errorf("%s: its data source is %v", p.Title, q.Datasource)
			}
			if q.Instant == q.Range {
				t.Errorf("%s: it asks of one instant and over time, or neither", p.Title)
			}
			for _, m := range regexp.MustCompile(`(=|!=)"\$(\w+)"`).FindAllStringSubmatch(q.Expr,
				-1) {
				if multi[m[2]] {
					t.Errorf("%s: $%s has many values and is compared with =", p.Title, m[2])
				}
			}
			expr, err := dashboardtest.Expand(q.Expr, values)
			if err != nil {
				t.Errorf("%s: %v", p.Title, err)
				continue
			}
			testExpr(t, p.Title, expr, names)
		}
	}
}

// testExpr checks that an expression reads, that its metrics exist, and that rates are taken of
// what the panel's step asks for.
func testExpr(t *testing.T, where, expr string, names map[string]bool) {
	t.Helper()
	e, err := parser.NewParser(parser.Options{}).ParseExpr(expr)
	if err != nil {
		t.Errorf("%s: %s: %v", where, expr, err)
		return
	}
	parser.Inspect(e, func(n parser.Node, _ []parser.Node) error {
		switch n := n.(type) {
		case *parser.VectorSelector:
			if !slices.ContainsFunc(n.LabelMatchers, func(m *labels.Matcher) bool {
				return m.Name == labels.MetricName && m.Type == labels.MatchEqual && names[m.Value]
			}) {
				t.Errorf("%s: %s names a metric that does not exist", where, n)
			}
		case *parser.MatrixSelector:
			if n.Range.String() != "1m20s" {
				t.Errorf("%s: the range of %s is not $__rate_interval", where, n)
			}
		}
		return nil
	})
}

func TestProvisioning(t *testing.T) {
	var sources struct {
		APIVersion  int `yaml:"apiVersion"`
		Datasources []struct {
			Name, UID, Type, Access, URL string
			JSONData                     map[string]any    `yaml:"jsonData"`
			SecureJSONData               map[string]string `yaml:"secureJsonData"`
		}
	}
	mustYAML(t, "datasource.yaml", &sources)
	if len(sources.Datasources) != 1 || sources.APIVersion != 1 {
		t.Fatalf("%+v", sources)
	}
	s := sources.Datasources[0]
	if s.UID != "ringwatch" || s.Type != "prometheus" || s.Access != "proxy" ||
		s.URL != "http://127.0.0.1:9470" {
		t.Errorf("the data source is %+v", s)
	}
	for name, want := range map[string]any{"httpMethod": "POST", "manageAlerts": false,
		"timeInterval": "20s", "prometheusType": "Prometheus", "httpHeaderName1": "Authorization"} {
		if s.JSONData[name] != want {
			t.Errorf("%s is %v, want %v", name, s.JSONData[name], want)
		}
	}
	if got := s.SecureJSONData["httpHeaderValue1"]; got != "Bearer $RINGWATCH_KEY" {
		t.Errorf("the header is %q", got)
	}
	var providers struct {
		APIVersion int `yaml:"apiVersion"`
		Providers  []struct {
			Name, Type string
			Options    map[string]string
		}
	}
	mustYAML(t, "provider.yaml", &providers)
	if len(providers.Providers) != 1 || providers.APIVersion != 1 ||
		providers.Providers[0].Type != "file" || providers.Providers[0].Options["path"] == "" {
		t.Errorf("the provider is %+v", providers)
	}
}

func mustYAML(t *testing.T, file string, into any) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(text, into); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
}
