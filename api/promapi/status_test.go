package promapi_test

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestFeatures: every feature has the name that Prometheus gives it, at the version of go.mod, and
// no category of PromQL lacks one.
func TestFeatures(t *testing.T) {
	f := newFixture(t)
	out, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}",
		"github.com/prometheus/prometheus").Output()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(out)), "cmd", "prometheus",
		"testdata", "features.json"))
	if err != nil {
		t.Fatal(err)
	}
	var theirs, ours map[string]map[string]bool
	if err := json.Unmarshal(text, &theirs); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(f.get("/api/v1/features").Data, &ours); err != nil {
		t.Fatal(err)
	}
	for category, names := range ours {
		for name := range names {
			if _, known := theirs[category][name]; !known {
				t.Errorf("Prometheus has no feature %s in %s", name, category)
			}
		}
	}
	for _, category := range []string{"promql", "promql_functions", "promql_operators",
		"templating_functions", "rules"} {
		for name := range theirs[category] {
			if _, named := ours[category][name]; !named {
				t.Errorf("the feature %s of %s is not named", name, category)
			}
		}
	}
	for _, c := range []struct {
		category, name string
		want           bool
	}{
		{"promql_functions", "rate", true}, {"promql_functions", "sort_by_label", true},
		{"promql", "per_step_stats", true}, {"promql", "anchored", false},
		{"api", "remote_write_receiver", false}, {"api", "query_warnings", true},
	} {
		if got := ours[c.category][c.name]; got != c.want {
			t.Errorf("%s of %s is %v", c.name, c.category, got)
		}
	}
	if r := f.get("/api/v1/query", "query", `sort_by_label(up, "node")`); r.Status != "success" {
		t.Errorf("sort_by_label: %s", r.Error)
	}
}

// TestNotifications: there are none, and who would listen for some is told so.
func TestNotifications(t *testing.T) {
	f := newFixture(t)
	f.want(f.get("/api/v1/notifications"), `[]`)
	answer, err := http.Get(f.URL + "/api/v1/notifications/live")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusNoContent || len(body) > 0 ||
		answer.Header.Get("Content-Type") != "text/event-stream" {
		t.Errorf("live: %s %v %q %v", answer.Status, answer.Header, body, err)
	}
}

// TestTSDBRefusals: limits are bounded as Prometheus bounds them, and an engine without an index
// says so.
func TestTSDBRefusals(t *testing.T) {
	f := newFixture(t)
	for limit, want := range map[string]string{
		"0": "limit must be a positive number", "-1": "limit must be a positive number",
		"x": "limit must be a positive number", "10001": "limit must not exceed 10000",
		"99999999999999999999": "limit must be a positive number",
	} {
		if r := f.get("/api/v1/status/tsdb", "limit", limit); r.code != 400 ||
			r.ErrorType != "bad_data" || r.Error != want {
			t.Errorf("limit=%s: %d %s %q", limit, r.code, r.ErrorType, r.Error)
		}
	}
	if r := f.get("/api/v1/status/tsdb"); r.code != 503 || r.ErrorType != "unavailable" ||
		!strings.Contains(r.Error, "no index") {
		t.Errorf("without an index: %d %s %q", r.code, r.ErrorType, r.Error)
	}
	f.want(f.get("/api/v1/status/tsdb/blocks"), `{"blocks":[]}`)
	f.want(f.get("/api/v1/status/walreplay"), `{"min":0,"max":0,"current":0}`)
}
