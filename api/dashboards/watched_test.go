package dashboards_test

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/promql/promqltest"

	"github.com/ringwatch/ringwatch/api/dashboards/dashboardtest"
)

// inLegend is a label that a legend shows.
var inLegend = regexp.MustCompile(`\{\{(\w+)\}\}`)

// TestWatchedPanelsShow: each query of the dashboards for Kafka and Redis has an answer, with the
// labels of its legend, where every metric is there with those that the dictionary gives it. A
// running fleet of cmd/ringwatch has neither.
func TestWatchedPanelsShow(t *testing.T) {
	storage := promqltest.LoadedStorage(t, everyWatchedSeries(t))
	defer storage.Close()
	engine := promqltest.NewTestEngine(t, false, 0, promqltest.DefaultMaxSamplesPerQuery)
	asked := 0
	for _, d := range dashboardtest.MustLoad(t, ".") {
		if !slices.Contains(d.Tags, "kafka") && !slices.Contains(d.Tags, "redis") {
			continue
		}
		values := dashboardtest.BuiltIn()
		for _, v := range d.Templating.List {
			values[v.Name] = v.Chosen("v")
		}
		for i := range d.Panels {
			for _, q := range d.Panels[i].Targets {
				expr, err := dashboardtest.Expand(q.Expr, values)
				if err != nil {
					t.Fatal(err)
				}
				asked++
				query, err := engine.NewInstantQuery(t.Context(), storage, nil, expr,
					time.Unix(600, 0))
				if err != nil {
					t.Fatalf("%s, %s: %s: %v", d.File, d.Panels[i].Title, expr, err)
				}
				result := query.Exec(t.Context())
				vector, err := result.Vector()
				if err != nil || len(vector) == 0 {
					t.Errorf("%s, %s: %s has no answer, %v", d.File, d.Panels[i].Title, expr, err)
				}
				for _, m := range inLegend.FindAllStringSubmatch(q.LegendFormat, -1) {
					for _, sample := range vector {
						if !sample.Metric.Has(m[1]) {
							t.Errorf("%s, %s: no label %s: %s", d.File, d.Panels[i].Title, m[1],
								sample.Metric)
						}
					}
				}
				query.Close()
			}
		}
	}
	if asked < 80 {
		t.Errorf("only %d queries were asked", asked)
	}
}

// everyWatchedSeries is ten minutes of one series of each metric, in promqltest's language.
func everyWatchedSeries(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("load 20s\n")
	add := func(name, values string, more []string) {
		fmt.Fprintf(&b, "  %s{", name)
		for _, label := range append([]string{"cluster", "datacenter", "rack", "node", "job",
			"instance"}, more...) {
			fmt.Fprintf(&b, "%s=\"v\",", label)
		}
		fmt.Fprintf(&b, "} %s\n", values)
	}
	for _, name := range watched {
		add(name, "1x40", nil)
	}
	for _, file := range []string{"kafka.txt", "redis.txt"} {
		text, err := os.ReadFile("../../dictionary/" + file)
		if err != nil {
			t.Fatal(err)
		}
		var labels []string
		for line := range strings.Lines(string(text)) {
			fields := strings.Fields(line)
			switch {
			case len(fields) < 3 || line[0] == ' ' || line[0] == '#':
			case fields[0] == "type":
				labels = fields[3:]
			case fields[1] == "histogram":
				add(fields[0], "{{schema:-53 sum:0 count:0 custom_values:[1 2] buckets:[0 0]}}+"+
					"{{schema:-53 sum:9 count:9 custom_values:[1 2] buckets:[4 5]}}x40", labels)
			case fields[1] == "counter":
				add(fields[0], "0+1x40", labels)
			default:
				add(fields[0], "1x40", labels)
			}
		}
	}
	return b.String()
}
