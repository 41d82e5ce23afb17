package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/access/listener"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/client"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/rulefiles"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/exit"
	"github.com/ringwatch/ringwatch/rules"
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
	if err := (&rulefiles.RulesCheckCmd{Lint: "all", LintFatal: true}).RunTo(&out); err != nil {
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
		{"--lint-fatal twice.yaml", `twice.yaml:1: group "g", rule "A": lint error: it is defined twice`, 3},
		{"--lint-fatal --lint=none twice.yaml", "SUCCESS: 2 rules found", 0},
		{"bad.yaml", `bad.yaml:1: group "g": a group has no field colour: use one of name, interval`, 1},
		{"none.yaml", "", 2},
	} {
		var out strings.Builder
		cmd := &rulefiles.RulesCheckCmd{Lint: "duplicate-rules"}
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
		_ = cmd.RunTo(&out)
		text := strings.Join(strings.Fields(out.String()), " ")
		if !strings.Contains(text, strings.Join(strings.Fields(c.want), " ")) {
			t.Errorf("%s: no %q in\n%s", c.args, c.want, &out)
		}
		if code := run(args); code != c.code {
			t.Errorf("%s: exit code %d, want %d", c.args, code, c.code)
		}
	}

	out.Reset()
	if err := (&rulefiles.RulesCheckCmd{JSON: true, Lint: "all",
		Files: []string{filepath.Join(dir, "mixes.yaml")}}).RunTo(&out); !errors.Is(err,
		rulefiles.ErrRules) {
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
		cmd := &rulefiles.RulesTestCmd{}
		for i := 0; i < len(c.args); i++ {
			if c.args[i] == "--run" {
				i++
				cmd.Only = c.args[i]
				continue
			}
			cmd.Files = append(cmd.Files, c.args[i])
		}
		_ = cmd.RunTo(t.Context(), &out)
		if !strings.Contains(out.String(), c.want) {
			t.Errorf("%s: no %q in\n%s", c.args, c.want, &out)
		}
		if code := run(append([]string{"rules", "test"}, c.args...)); code != c.code {
			t.Errorf("%s: exit code %d, want %d", c.args, code, c.code)
		}
	}
}

// TestRulesApplyOfABadFile: whatever is wrong in a file that is applied is said once, in a line of
// its own that begins with the file as it was typed and the line in it.
func TestRulesApplyOfABadFile(t *testing.T) {
	dir := mustRules(t, map[string]string{
		"torn.yaml": "groups:\n- name: g\n  rules: [{alert: A, expr: up == 0}\n",
		"bad.yaml": "groups:\n- name: g\n  rules:\n  - alert: Down\n    expr: up ==\n" +
			"  - alert: Hot\n    expr: os_load1 > 9\n    annotations: {summary: '{{ nosuch }}'}\n",
		"mixes.yaml": "groups:\n- name: g\n  rules:\n  - alert: Mixed\n" +
			"    expr: sum(os_load1) > 9\n",
	})
	board, err := rules.NewStatus(rules.DefaultConfig(), rules.Deps{
		Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	for _, r := range board.Routes(func(context.Context, string, string, []byte) error {
		t.Error("a bad file is kept")
		return nil
	}) {
		mux.HandleFunc(r.Pattern, func(w http.ResponseWriter, req *http.Request) {
			if of, is := errors.AsType[*listener.Error](r.Handle(w, req, account.Principal{
				Account: "acme"})); is {
				w.WriteHeader(of.Status)
				_ = json.NewEncoder(w).Encode(map[string]any{"error": map[string]string{
					"reason": of.Reason, "message": of.Message}})
			}
		})
	}
	server := httptest.NewServer(mux)
	defer server.Close()
	for name, want := range map[string][]string{
		"torn.yaml": {`:3: did not find expected ',' or ']'`},
		"bad.yaml": {`:5: group "g", rule "Down": could not parse expression: 1:6: parse error: ` +
			"unexpected end of input",
			`:8: group "g", rule "Hot": annotation "summary": template: __alert_Hot:1: ` +
				`function "nosuch" not defined`},
		"mixes.yaml": {`:5: group "g", rule "Mixed": the expression mixes clusters: in ` +
			"sum(os_load1): sum aggregates over clusters; write sum by (cluster, …), or " +
			"record it per cluster first"},
	} {
		file := filepath.Join(dir, name)
		err := (&rulefiles.RulesApplyCmd{Flags: client.Flags{API: server.URL, Key: "k"},
			Files: []string{file}}).RunTo(t.Context(), io.Discard)
		if !errors.As(err, &exit.UsageError{}) {
			t.Errorf("%s: %T", name, err)
		}
		lines := []string{file + " was not applied, correct it first:"}
		for _, one := range want {
			lines = append(lines, file+one)
		}
		if err == nil || err.Error() != strings.Join(lines, "\n") {
			t.Errorf("it says\n%v\nwant\n%s", err, strings.Join(lines, "\n"))
		}
	}
}
