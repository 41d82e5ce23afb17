package ruletest_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ringwatch/ringwatch/rules/ruletest"
)

// TestPromtoolsOwnFiles runs the files that promtool's tests run, at the version of go.mod.
func TestPromtoolsOwnFiles(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}",
		"github.com/prometheus/prometheus").Output()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(strings.TrimSpace(string(out)), "cmd", "promtool", "testdata")
	for file, fails := range map[string]string{
		"unittest.yml":               "",
		"long-period.yml":            "",
		"at-modifier-test.yml":       "",
		"negative-offset-test.yml":   "",
		"no-test-group-interval.yml": "",
		"start-time-test.yml":        "",
		"rules_run_fuzzy.yml":        "name: wrong fuzzy match", // and promtool runs the rest
		"rules_run_no_fuzzy.yml":     "exp: ",
		"bad-input-series.yml":       "parse error",
		"bad-promql.yml":             "many-to-many",
		"bad-rules-syntax-test.yml":  "could not parse expression",
		"bad-rules-error-test.yml":   "rule: joined",
		"failing.yml":                "unexpected: ",
	} {
		r := ruletest.Options{}.Run(t.Context(), filepath.Join(dir, file))
		var b strings.Builder
		if err := r.Print(&b); err != nil {
			t.Fatal(err)
		}
		switch failed := len(r.Failures) > 0; {
		case failed != (fails != ""):
			t.Errorf("%s: want a failure: %v\n%s", file, fails != "", &b)
		case failed && !strings.Contains(b.String(), fails):
			t.Errorf("%s: no %q in\n%s", file, fails, &b)
		}
	}
}

// mustPromtool returns where promtool is.
func mustPromtool(t testing.TB) string {
	t.Helper()
	path, err := exec.LookPath("promtool")
	if err != nil {
		t.Fatalf("promtool is missing: apt-get install prometheus (%v)", err)
	}
	return path
}

// changes are texts of testdata/test.yaml and rules.yaml and what to put there. Each changes one
// thing that a test says or a rule does.
var changes = [][2]string{
	{"evaluation_interval: 1m", "evaluation_interval: 30s"},
	{"evaluation_interval: 1m", "evaluation_interval: 2m"},
	{"[first, second]", "[second, first]"}, {"[first, second]", "[first, first]"},
	{"rul*.yaml", "none*.yaml"}, {"zone: z1}\n    external_url", "zone: z2}\n    external_url"},
	{"https://rules.example\n", "https://other.example\n"},
	{"interval: 30s\n    external", "interval: 1m\n    external"},
	{"'1 1 5x20'", "'1 1 3x20'"}, {"'1 1 5x20'", "'1 1 5x3 stale'"}, {"'3.5x20'", "'3.5x4 1x20'"},
	{"'_x3 1x4 stale'", "'1x4 stale'"}, {"'_x3 1x4 stale'", "'_x3 1x14'"},
	{`node="n1"}', value: 5}`, `node="n1"}', value: 5.0000001}`},
	{`node="n2"}', value: 3.5}`, `node="n1"}', value: 3.5}`}, {`made="here"`, `made="there"`},
	{"{value: 4}", "{value: 4, labels: '{a=\"b\"}'}"},
	{"{value: 4}\n", "{value: 4}\n          - {value: 5, labels: x}\n"},
	{"[2m:]", "[1m:]"}, {"exp_samples", "exp_sample"}, {"eval_time: 4m\n", "eval_time: 2m\n"},
	{"- eval_time: 3m\n        alertname: Slow", "- eval_time: 3m30s\n        alertname: Slow"},
	{"- eval_time: 3m\n        alertname: Slow", "- eval_time: 2m\n        alertname: Slow"},
	{"alertname: Gone", "alertname: Elsewhere"}, {"alertname: Gone", "alertname: ''"},
	{"severity: page, zone: z1", "severity: page"}, {"n1 takes 5s", "n1 takes 6s"},
	{", also: 2 nodes}", "}"}, {"{exp_labels: {node: n3}}", "{exp_labels: {node: n4}}"},
	{"values: '2x10'", "values: '4x10'"}, {"values: '2x10'", "values: 'nonsense'"},
	// YAML libraries read these differently.
	{"'2x10'}", "0x10}\n    promql_expr_test: [{expr: sum(latency), exp_samples: [{value: 0}]}]"},
	{"severity: page, zone: z1", "<<: {severity: low, zone: z1}, severity: page"},
	{"eval_time: 10m", "eval_time: 11m"},
	{"for: 2m", "for: 10m"}, {"for: 2m", "for: 0s"},
	{"keep_firing_for: 3m", "keep_firing_for: 30s"},
	{"latency:max > 3", "latency:max > 4"}, {"latency:max > 3", "latency:max >"},
	{"max by", "min by"},
	{"$value 4.0", "$value 6.0"}, {"toUpper", "toLower"}, {"toUpper", "toNothing"},
	{"rate(", "increase("},
	{"{made: here}", "{made: there}"}, {`query "count(latency)"`, `query "sum(latency)"`},
}

// TestEqualsPromtool changes one thing after the other of a test and its rules. promtool and we
// must agree on what still passes. The files say nothing that Debian's promtool 2.42 does not
// know.
func TestEqualsPromtool(t *testing.T) {
	promtool := mustPromtool(t)
	read := func(name string) string {
		text, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	tests, rules := read("test.yaml"), read("rules.yaml")
	passed, failed, least := 0, 0, 20
	if testing.Short() { // a promtool takes half a second
		least = 4
	}
	for i, change := range append([][2]string{{"", ""}}, changes...) {
		if testing.Short() && i%5 != 0 {
			continue
		}
		dir := t.TempDir()
		found := 0
		for name, text := range map[string]string{"test.yaml": tests, "rules.yaml": rules} {
			if strings.Contains(text, change[0]) {
				found++
				text = strings.Replace(text, change[0], change[1], 1)
			}
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if i > 0 && found != 1 {
			t.Errorf("%q is in %d of two files", change[0], found)
		}
		file := filepath.Join(dir, "test.yaml")
		said, err := exec.CommandContext(t.Context(), promtool, "test", "rules",
			file).CombinedOutput()
		r := ruletest.Options{}.Run(t.Context(), file)
		var ours strings.Builder
		if err := r.Print(&ours); err != nil {
			t.Fatal(err)
		}
		if (err == nil) != (len(r.Failures) == 0) {
			t.Errorf("%q → %q\npromtool: %v\n%s\nwe:\n%s", change[0], change[1], err, said, &ours)
		}
		if err == nil {
			passed++
			continue
		}
		failed++
		if got, want := namedIn(ours.String()), namedIn(string(said)); got != want {
			t.Errorf("%q → %q\npromtool names %s\n%s\nwe name %s\n%s", change[0], change[1],
				want, said,
				got, &ours)
		}
	}
	t.Logf("%d pass and %d fail, in promtool as here", passed, failed)
	if passed == 0 || failed < least {
		t.Error("the changes do not differ enough")
	}
}

// namedIn returns which alerts and expressions a report calls wrong, in its order.
func namedIn(report string) string {
	var list []string
	for line := range strings.Lines(report) {
		line = strings.TrimSpace(line)
		for _, kind := range []string{"alertname: ", "expr: "} {
			if strings.HasPrefix(line, kind) {
				name, _, _ := strings.Cut(line, ", time")
				list = append(list, name)
			}
		}
	}
	return fmt.Sprint(list)
}

// TestPrint shows how a difference reads.
func TestPrint(t *testing.T) {
	tests := `
rule_files: [rules.yaml]
tests:
  - name: names
    input_series: [{series: 'up{node="a"}', values: 0x9}, {series: 'up{node="b"}', values: 0x9}]
    promql_expr_test:
      - {expr: up, eval_time: 1m, exp_samples: [{labels: 'up{node="a"}', value: 0}, {labels: up, value: 2}]}
    alert_rule_test:
      - eval_time: 1m
        alertname: Down
        exp_alerts:
          - {exp_labels: {node: a}, exp_annotations: {summary: a is down}}
          - {exp_labels: {node: c}, exp_annotations: {summary: c sleeps}}
`
	rules := `
groups:
  - name: g
    rules:
      - {alert: Down, expr: up == 0, annotations: {summary: "{{ $labels.node }} sleeps"}}
`
	o := ruletest.Options{
		ReadFile: func(name string) ([]byte, error) {
			return []byte(map[string]string{"dir/t.yaml": tests, "dir/rules.yaml": rules}[name]),
				nil
		},
		Glob: func(pattern string) ([]string, error) { return []string{pattern}, nil },
	}
	r := o.Run(t.Context(), "dir/t.yaml")
	var b strings.Builder
	if err := r.Print(&b); err != nil {
		t.Fatal(err)
	}
	const want = `Unit Testing:  dir/t.yaml
  FAILED:
    name: names,
    alertname: Down, time: 1m,
        differs: {alertname="Down", node="a"}
            summary
                exp: "a is down"
                got: "a sleeps"
        missing: {alertname="Down", node="c"}
                 {summary="c sleeps"}
        unexpected: {alertname="Down", node="b"}
                    {summary="b sleeps"}

    name: names,
    expr: "up", time: 1m,
        exp: {__name__="up"} 2
        got: {__name__="up", node="b"} 0

`
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", &b, want)
	}
	o.Only = func(name string) bool { return name != "names" }
	if r := o.Run(t.Context(), "dir/t.yaml"); r.Tests != 0 || len(r.Failures) > 0 {
		t.Errorf("%d tests run, want none: %v", r.Tests, r.Failures)
	}
}
