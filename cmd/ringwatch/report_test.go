package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/ringwatch/ringwatch/api/report"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/client"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/daily"
	"github.com/ringwatch/ringwatch/query/catalog"
)

// testReport makes the live node's report in all forms.
func (w *whole) testReport(t *testing.T) {
	nodes, err := w.Nodes(t.Context())
	if err != nil || len(nodes) != 1 {
		t.Fatalf("%d nodes, %v", len(nodes), err)
	}
	make := func(format string) string {
		t.Helper()
		var out, errs bytes.Buffer
		ask := daily.ReportCmd{
			Flags:   client.Flags{API: w.API, Key: w.Key},
			Cluster: nodes[0].Cluster,
			Format:  format,
		}
		if err := ask.RunTo(t.Context(), &out, &errs); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(errs.String(), "lacks") {
			t.Error(errs.String())
		}
		return out.String()
	}
	eventually(t, "a report of shop.orders", func(context.Context) error {
		var r report.Report
		if err := json.Unmarshal([]byte(make("json")), &r); err != nil {
			return err
		}
		if len(r.Nodes) != 1 || !r.Nodes[0].Up || len(r.Disks) == 0 || len(r.Plots) < 6 {
			return fmt.Errorf(
				"%d nodes, %d disks, %d plots",
				len(r.Nodes),
				len(r.Disks),
				len(r.Plots),
			)
		}
		if top := r.Top(1, func(t *report.Table) float64 { return float64(t.Writes) }); len(
			top,
		) != 1 ||
			top[0].Name() != "shop.orders" {
			return fmt.Errorf("the busiest table is %+v", top)
		}
		return nil
	})
	text := make("text")
	if !strings.Contains(text, "nodes up: 1 of 1") ||
		strings.Contains(text, "No alerts are recorded") { // the rules of the line record them
		t.Error(text)
	}
	t.Log("\n" + text)
	page := make("html")
	if !strings.Contains(page, "<svg") || !strings.HasSuffix(page, "</html>\n") {
		t.Errorf("%.300s", page)
	}
	if path := os.Getenv("RINGWATCH_REPORT_HTML"); path != "" { // to look at it
		if err := os.WriteFile(path, []byte(page), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ask := daily.ReportCmd{Flags: client.Flags{API: w.API, Key: w.Key}, Cluster: "nosuch"}
	if err := ask.RunTo(t.Context(), &bytes.Buffer{}, os.Stderr); err == nil ||
		!strings.Contains(err.Error(), "use "+nodes[0].Cluster) {
		t.Error(err)
	}
	ask.Cluster, ask.Day = nodes[0].Cluster, "yesterday"
	if err := ask.RunTo(t.Context(), &bytes.Buffer{}, os.Stderr); err == nil {
		t.Error("yesterday is a day")
	}
}

// TestReportCountsWhoIsThere: the command's report counts the nodes that the list of nodes has, and
// names who replaced another.
func TestReportCountsWhoIsThere(t *testing.T) {
	shipped, err := catalog.Shipped()
	if err != nil {
		t.Fatal(err)
	}
	since := time.Now().Add(-time.Hour).UTC()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var answer any = map[string]any{}
		switch query := r.FormValue("query"); {
		case r.URL.Path == "/v1/nodes":
			answer = []map[string]any{{"id": "n2", "cluster": "prod", "state": "up"},
				{"id": "n1", "cluster": "prod", "state": "replaced", "address": "10.0.0.1",
					"left": map[string]any{"since": since.Format(time.RFC3339), "by": "n2"}}}
		case r.URL.Path == "/v1/catalog":
			answer = shipped.Groups
		case strings.HasPrefix(query, "up{"):
			up := func(node, value string) map[string]any {
				return map[string]any{"metric": map[string]string{"node": node},
					"values": [][]any{{json.Number(r.FormValue("end")), value}}}
			}
			answer = map[string]any{"data": map[string]any{"result": []any{up("n1", "0"),
				up("n2", "1")}}}
		}
		if err := json.NewEncoder(w).Encode(answer); err != nil {
			t.Error(err)
		}
	}))
	defer server.Close()
	var out, errs bytes.Buffer
	c := daily.ReportCmd{Flags: client.Flags{API: server.URL, Key: testKey}, Cluster: "prod"}
	if err := c.RunTo(t.Context(), &out, &errs); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"nodes up: 1 of 1",
		since.Format("15:04") + "  10.0.0.1 was replaced by n2."} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s\n%s", want, out.String(), errs.String())
		}
	}
}
