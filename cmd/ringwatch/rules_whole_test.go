package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/alerts"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/client"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/rulefiles"
)

const wholeRules = `
groups:
- name: whole
  interval: 1s
  rules:
  - record: cluster:nodes:count
    expr: count by (cluster) (up)
  - alert: NodeIsThere
    expr: up >= 0
    annotations: {summary: 'node {{ $labels.node }}'}
  - alert: OverAllClusters
    expr: sum(cluster:nodes:count) > 0
`

// testRules gives the account a rule file as its owner would. What it records comes back through
// Kafka, Cassandra and PromQL, its alerts are shown, and all of it ends when the file is removed.
func (w *whole) testRules(t *testing.T) {
	flags := client.Flags{API: w.API, Key: w.Key}
	api, err := flags.Client()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "whole.yaml")
	if err := os.WriteFile(file, []byte(wholeRules), 0o600); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	apply := rulefiles.RulesApplyCmd{Flags: flags, Files: []string{file}}
	if err := apply.RunTo(t.Context(), &out); err != nil {
		t.Fatal(err)
	}
	if got := out.String(); got != "applied whole.yaml: 3 rules\n" {
		t.Errorf("ringwatch rules apply says %q", got)
	}
	firing := func(ctx context.Context) (map[string]bool, error) {
		list, err := alerts.AskAlerts(ctx, api)
		names := map[string]bool{}
		for _, a := range list {
			names[a.Labels["alertname"]] = a.State == "firing"
		}
		return names, err
	}
	eventually(t, "the alerts", func(ctx context.Context) error {
		names, err := firing(ctx)
		if err == nil && !(names["NodeIsThere"] && names["OverAllClusters"]) {
			err = fmt.Errorf("there are %v", names)
		}
		return err
	})
	for _, expr := range []string{"cluster:nodes:count", "cluster:up:sum",
		`sum(ALERTS{alertname="NodeIsThere",alertstate="firing"})`} {
		eventually(t, expr, func(ctx context.Context) error {
			body, err := api.Get(ctx, "/api/v1/query", url.Values{"query": {expr}})
			if err != nil {
				return err
			}
			var answer struct {
				Data struct {
					Result []struct {
						Metric map[string]string
						Value  [2]any
					}
				}
			}
			if err := json.Unmarshal(body, &answer); err != nil {
				return err
			}
			list := answer.Data.Result
			if len(list) != 1 || list[0].Value[1] != "1" || list[0].Metric["node"] != "" {
				return fmt.Errorf("the answer is %s", body)
			}
			return nil
		})
	}
	nodes, err := w.Nodes(t.Context())
	if err != nil || len(nodes) != 1 {
		t.Errorf("what rules record is among the nodes: %v, %v", nodes, err)
	}
	out.Reset()
	list := rulefiles.RulesListCmd{Flags: flags, Type: "alert"}
	if err := list.RunTo(t.Context(), &out, time.Now()); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"NodeIsThere", "OverAllClusters", "CassandraNodeDown"} {
		if !strings.Contains(out.String(), name) {
			t.Errorf("ringwatch rules list does not have %s:\n%s", name, &out)
		}
	}
	apply.Remove = true
	if err := apply.RunTo(t.Context(), &out); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the end of the alerts", func(ctx context.Context) error {
		names, err := firing(ctx)
		if err == nil && (names["NodeIsThere"] || names["OverAllClusters"]) {
			err = fmt.Errorf("there are %v", names)
		}
		return err
	})
}
