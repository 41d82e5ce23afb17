package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/fleet"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/screen"
)

// TestJobsOfOneAddress: two jobs that read one address are told apart.
func TestJobsOfOneAddress(t *testing.T) {
	for _, c := range []struct {
		kind, job, want string
	}{{"other", "web", "other (web)"}, {"other", "probe", "other (probe)"},
		{"other", "", "other"}, {"kafka", "kafka", "kafka"}, {"cassandra", "", "cassandra"}} {
		n := fleet.NodeInfo{Kind: c.kind, Facts: map[string]string{"job": c.job}}
		if got := n.Software(); got != c.want {
			t.Errorf("%+v: %s", c, got)
		}
	}
}

// TestNodesFit: lines have 100 columns at most, the host comes first, and what is left out of a
// name is its middle, so that a pod's number stays.
func TestNodesFit(t *testing.T) {
	type node map[string]any
	var nodes []node
	for i := range 3 {
		nodes = append(nodes, node{"id": fmt.Sprintf("5a3c8a31-b4a8-4d3e-9f57-0000000000%02d", i),
			"cluster": "payments-production", "datacenter": "europe-west-1",
			"rack": "europe-west-1b",
			"kind": "cassandra", "address": fmt.Sprintf("[2001:db8:85a3::8a2e:370:733%d]:7000", i),
			"facts": map[string]string{"cassandra_version": "5.0.4",
				"hostname": fmt.Sprintf("payments-cassandra-europe-west-1b-default-sts-%d", i)},
			"state": "up", "age_seconds": 1})
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/nodes", func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(nodes)
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	t.Setenv("RINGWATCH_API", server.URL)
	t.Setenv("RINGWATCH_KEY", testKey)
	show := func(args ...string) []string {
		t.Helper()
		code, out, errs := say(t, append([]string{"nodes"}, args...)...)
		if lines := strings.Split(strings.TrimSpace(out), "\n"); code == 0 && len(lines) == 4 {
			return lines
		}
		t.Fatalf("exit %d: %q %q", code, out, errs)
		return nil
	}
	for i, line := range show() {
		if screen.Width(line) > 100 {
			t.Errorf("%d columns: %s", screen.Width(line), line)
		}
		if i > 0 {
			expect(t, line, fmt.Sprintf(`^payme\S*…\S*-%d  \[2001\S*:7000  .*  up `, i-1))
		}
	}
	for i, line := range show("--wide")[1:] {
		expect(t, line, fmt.Sprintf(`^payments-cassandra-europe-west-1b-default-sts-%d  \[`, i),
			`  5a3c8a31-b4a8-4d3e-9f57-0000000000\d\d$`)
	}
}
