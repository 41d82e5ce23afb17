package main

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// mustRules writes files of rules and tests and returns their folder.
func mustRules(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestRulesCheck(t *testing.T) {
	var out strings.Builder
	if err := (&rulesCheckCmd{Lint: "all", LintFatal: true}).run(&out); err != nil {
		t.Errorf("shipped rules: %v\n%s", err, &out)
	}
	for _, want := range []string{"Checking cassandra.yaml\n  SUCCESS: ",
		"Checking ringwatch.yaml\n  SUCCESS: ",
		"CassandraHints", "LOOKS BACK"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, &out)
		}
	}

	dir := mustRules(t, map[string]string{
		"good.yaml": `groups: [{name: g, rules: [{record: "cluster:load:sum", expr: sum by (cluster) (os_load1 offset 1h)}]}]`,
		"uses.yaml": `groups: [{name: g, rules: [
			{alert: Fleet, expr: 'sum(cluster:load:sum) > 9'}, {alert: Gone, expr: 'absent(up{cluster="prod"})'}]}]`,
		"mixes.yaml": `groups: [{name: g, rules: [{alert: Mixed, expr: sum(os_load1) > 9}, {alert: Fixed, expr: up @ 0 == 0}]}]`,
		"twice.yaml": `groups: [{name: g, rules: [{alert: A, expr: up == 0}, {alert: A, expr: up == 1}]}]`,
		"bad.yaml":   `groups: [{name: g, rules: [{alert: A, expr: up ==}], colour: red}]`,
	})
	for _, c := range []struct {
		args, want string
		code       int
	}{
		{"good.yaml uses.yaml", "Fleet  account  5m", 0},
		{"good.yaml uses.yaml", "Gone   cluster prod  5m", 0},
		{"good.yaml", "cluster:load:sum  cluster  1h5m", 0},
		{"uses.yaml", "sum aggregates over clusters; write sum by (cluster, …)", 1},
		{"mixes.yaml", `rule "Mixed": the expression mixes clusters: in sum(os_load1)`, 1},
		{"mixes.yaml", "rules may not use the modifier @: up @ 0.000; write an offset instead", 1},
		{"twice.yaml", `lint error: `, 0},
		{"--lint-fatal twice.yaml", "A is defined twice", 3},
		{"--lint-fatal --lint=none twice.yaml", "SUCCESS: 2 rules found", 0},
		{"bad.yaml", "field colour not found", 1},
		{"none.yaml", "", 2},
	} {
		var out strings.Builder
		cmd := &rulesCheckCmd{Lint: "duplicate-rules"}
		args := []string{"rules", "check"}
		for _, a := range strings.Fields(c.args) {
			switch {
			case a == "--lint-fatal":
				cmd.LintFatal = true
			case a == "--lint=none":
				cmd.Lint = "none"
			default:
				a = filepath.Join(dir, a)
				cmd.Files = append(cmd.Files, a)
			}
			args = append(args, a)
		}
		_ = cmd.run(&out)
		text := strings.Join(strings.Fields(out.String()), " ")
		if !strings.Contains(text, strings.Join(strings.Fields(c.want), " ")) {
			t.Errorf("%s: no %q in\n%s", c.args, c.want, &out)
		}
		if code := run(args); code != c.code {
			t.Errorf("%s: exit code %d, want %d", c.args, code, c.code)
		}
	}

	out.Reset()
	if err := (&rulesCheckCmd{JSON: true, Lint: "all",
		Files: []string{filepath.Join(dir, "mixes.yaml")}}).run(&out); !errors.Is(err, errRules) {
		t.Error(err)
	}
	var list []struct {
		Rules []struct {
			Name, Kind, Form string
			Lookback         float64 `json:"lookback_seconds"`
		}
		Errors []string
	}
	if err := json.Unmarshal([]byte(out.String()), &list); err != nil || len(list) != 1 ||
		len(list[0].Errors) != 2 || len(list[0].Rules) != 2 || list[0].Rules[0].Form != "none" ||
		list[0].Rules[0].Kind != "alerting" || list[0].Rules[0].Lookback != 300 {
		t.Errorf("%v: %+v\n%s", err, list, &out)
	}
}

func TestRulesTest(t *testing.T) {
	dir := mustRules(t, map[string]string{
		"rules.yaml": `groups: [{name: g, rules: [{alert: Down, expr: up == 0}]}]`,
		"test.yaml": `
rule_files: [rules.yaml]
tests:
  - name: right
    input_series: [{series: up, values: 0x9}]
    alert_rule_test: [{eval_time: 1m, alertname: Down, exp_alerts: [{}]}]
  - name: wrong
    input_series: [{series: up, values: 1x9}]
    alert_rule_test: [{eval_time: 1m, alertname: Down, exp_alerts: [{}]}]
`})
	file := filepath.Join(dir, "test.yaml")
	for _, c := range []struct {
		args []string
		want string
		code int
	}{
		{[]string{file}, `missing: {alertname="Down"}`, 1},
		{[]string{"--run", "right", file}, "SUCCESS", 0},
		{[]string{"--run", "(", file}, "", 2},
		{[]string{filepath.Join(dir, "none.yaml")}, "no such file", 1},
		{[]string{"--run", "CassandraNodeDown"}, "SUCCESS", 0}, // those that are shipped
	} {
		var out strings.Builder
		cmd := &rulesTestCmd{}
		for i := 0; i < len(c.args); i++ {
			if c.args[i] == "--run" {
				i++
				cmd.Only = c.args[i]
				continue
			}
			cmd.Files = append(cmd.Files, c.args[i])
		}
		_ = cmd.run(t.Context(), &out)
		if !strings.Contains(out.String(), c.want) {
			t.Errorf("%s: no %q in\n%s", c.args, c.want, &out)
		}
		if code := run(append([]string{"rules", "test"}, c.args...)); code != c.code {
			t.Errorf("%s: exit code %d, want %d", c.args, code, c.code)
		}
	}
}
