package promapi_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/ringwatch/ringwatch/query/metadata"
)

// TestMetadataLimits: of metadata, as in Prometheus, a negative limit is none, and 0 gives nothing.
// Of queries and lists a negative one is refused, and 0 is none.
func TestMetadataLimits(t *testing.T) {
	f := newFixtureOf(t, true)
	count := func(path string, pairs ...string) int {
		t.Helper()
		r := f.get(path, pairs...)
		var object map[string]any
		var list []any
		if json.Unmarshal(r.Data, &object) != nil && json.Unmarshal(r.Data, &list) != nil ||
			r.code != 200 {
			t.Fatalf("%s %v: %d %s %.200s", path, pairs, r.code, r.Error, r.Data)
		}
		return len(object) + len(list)
	}
	const metrics, targets = "/api/v1/metadata", "/api/v1/targets/metadata"
	all := count(metrics)
	perNode := count(targets) / len(f.nodes)
	if all < 5 || perNode != all {
		t.Errorf("there are %d metrics, and %d of each target", all, perNode)
	}
	for _, c := range []struct {
		path, limit string
		want        int
	}{
		{metrics, "-1", all}, {metrics, "-7", all}, {metrics, "", all}, {metrics, "0", 0},
		{metrics, "2", 2}, {metrics, "100000", all},
		{targets, "-1", 3 * all}, {targets, "", 3 * all}, {targets, "0", 0},
		// No target begins beyond the limit, and none is cut.
		{targets, "1", all}, {targets, "100000", 3 * all},
	} {
		if n := count(c.path, "limit", c.limit); n != c.want {
			t.Errorf("%s limit=%s has %d entries, not %d", c.path, c.limit, n, c.want)
		}
	}
	for _, n := range []string{"-1", "0", "2"} {
		if got := count(metrics, "limit_per_metric", n); got != all {
			t.Errorf("limit_per_metric=%s leaves %d of %d metrics", n, got, all)
		}
	}
	for _, path := range []string{metrics, targets} {
		if r := f.get(path, "limit", "x"); r.code != 400 || r.Error != "limit must be a number" {
			t.Errorf("%s limit=x: %d %q", path, r.code, r.Error)
		}
	}
	for _, path := range []string{"/api/v1/query?query=up", "/api/v1/series?match[]=up",
		"/api/v1/labels?", "/api/v1/label/node/values?",
		"/api/v1/query_range?query=up&start=1&end=2&step=1"} {
		before, after, _ := strings.Cut(path, "?")
		pairs := []string{"limit", "-1"}
		for name, value := range form(strings.ReplaceAll(after, "&", " ")) {
			pairs = append(pairs, name, value)
		}
		if r := f.get(before, pairs...); r.code != 400 ||
			!strings.Contains(r.Error, "limit must be non-negative") {
			t.Errorf("%s limit=-1: %d %q", path, r.code, r.Error)
		}
	}
}

// TestTargetsMetadata: each target that match_target selects has its metrics there as /api/v1/
// metadata has them, under the labels that /api/v1/targets says. Of one metric there is no name.
func TestTargetsMetadata(t *testing.T) {
	f := newFixtureOf(t, true)
	type entry struct {
		Target map[string]string
		Metric *string
		metadata.Metadata
	}
	ask := func(pairs ...string) (list []entry) {
		t.Helper()
		r := f.get("/api/v1/targets/metadata", pairs...)
		if err := json.Unmarshal(r.Data, &list); err != nil || r.code != 200 || list == nil {
			t.Fatalf("%v: %d %s %s", pairs, r.code, r.Error, r.Data)
		}
		return list
	}
	var known map[string][]metadata.Metadata
	if err := json.Unmarshal(f.get("/api/v1/metadata").Data, &known); err != nil {
		t.Fatal(err)
	}
	var targets struct {
		ActiveTargets []struct{ Labels map[string]string }
	}
	if err := json.Unmarshal(f.get("/api/v1/targets").Data, &targets); err != nil {
		t.Fatal(err)
	}
	for _, of := range targets.ActiveTargets {
		seen := map[string]bool{}
		for _, one := range ask("match_target", `{job="ringwatch", node="`+of.Labels["node"]+`"}`) {
			if one.Metric == nil || len(known[*one.Metric]) != 1 || seen[*one.Metric] ||
				known[*one.Metric][0] != one.Metadata {
				t.Errorf("%+v is not among %v, or twice", one, known)
				continue
			}
			seen[*one.Metric] = true
			for name, value := range of.Labels {
				if one.Target[name] != value {
					t.Errorf("the target %v has the labels %v", of.Labels, one.Target)
				}
			}
		}
		if len(seen) != len(known) {
			t.Errorf("%d of %d metrics", len(seen), len(known))
		}
	}
	for metric, n := range map[string]int{"node_load1": 3, "up": 3, "nosuch": 0,
		"cassandra_table_read_latency_seconds_bucket": 0} {
		list := ask("metric", metric)
		if len(list) != n {
			t.Errorf("%d targets have %s, not %d", len(list), metric, n)
		}
		for _, one := range list {
			if one.Metric != nil || one.Metadata != known[metric][0] {
				t.Errorf("%s: %+v, want %v without a name", metric, one, known[metric])
			}
		}
	}
	if n := len(ask("metric", "node_load1", "limit", "2")); n != 2 {
		t.Errorf("limit=2 gives %d", n)
	}
	for _, none := range []string{`{job="other"}`, `{cluster!="fleet"}`, "up"} {
		if list := ask("match_target", none); len(list) != 0 {
			t.Errorf("%s selects %v", none, list)
		}
	}
	if r := f.get("/api/v1/targets/metadata", "match_target", "{"); r.code != 400 ||
		!strings.Contains(r.Error, `invalid parameter "match_target"`) {
		t.Errorf("a torn selector: %d %q", r.code, r.Error)
	}
}
