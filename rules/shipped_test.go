package rules_test

import (
	"log/slog"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"

	"github.com/ringwatch/ringwatch/rules"
	"github.com/ringwatch/ringwatch/rules/ruletest"
)

// shippedRule is a rule of a shipped file.
type shippedRule struct {
	rulefmt.Rule
	file, group string
	interval    time.Duration
	expr        parser.Expr
}

// mustShipped reads the shipped files as a Prometheus without experimental functions does.
func mustShipped(t testing.TB) (list []shippedRule) {
	t.Helper()
	parse := parser.NewParser(parser.Options{})
	for _, file := range rules.ShippedFiles {
		text, err := rules.Shipped.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		groups, errs := rulefmt.Parse(text, false, model.LegacyValidation, parse,
			slog.New(slog.DiscardHandler))
		if len(errs) > 0 {
			t.Fatalf("%s: %v", file, errs)
		}
		for _, g := range groups.Groups {
			for _, r := range g.Rules {
				expr, err := parse.ParseExpr(r.Expr)
				if err != nil {
					t.Fatalf("%s: %s: %v", file, r.Expr, err)
				}
				list = append(list, shippedRule{r, file, g.Name, time.Duration(g.Interval), expr})
			}
		}
	}
	return list
}

// TestAnnotationsClaimNoTime: whoever sees a pending alert reads its annotations, too. They say
// nothing of a time that only for has waited.
func TestAnnotationsClaimNoTime(t *testing.T) {
	words := map[time.Duration]string{time.Minute: "(a|one|1) minute", 2 * time.Minute: "(two|2) " +
		"minutes", 3 * time.Minute: "(three|3) minutes", 5 * time.Minute: "(five|5) minutes",
		8 * time.Minute:  "(eight|8) minutes",
		10 * time.Minute: "(ten|10) minutes", 15 * time.Minute: "15 minutes",
		30 * time.Minute: "(30 minutes|half an hour)", time.Hour: "(an|one|1) hour",
		2 * time.Hour: "(two|2) hours"}
	for _, r := range mustShipped(t) {
		hold := time.Duration(r.For)
		if hold < time.Minute {
			continue
		}
		if words[hold] == "" {
			t.Errorf("%s: say %s in words here", r.Alert, hold)
			continue
		}
		claims := regexp.MustCompile(`\b(for|since|has been .*) ` + words[hold] + `\b`)
		for name, text := range r.Annotations {
			if text := strings.Join(strings.Fields(text), " "); claims.MatchString(text) {
				t.Errorf("%s claims in its %s what it may not have waited for: %s", r.Alert, name,
					text)
			}
		}
	}
}

// TestPromtoolTakesShipped holds the files against Debian's promtool, which is years older than
// ours.
func TestPromtoolTakesShipped(t *testing.T) {
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		t.Fatalf("promtool is missing: apt-get install prometheus (%v)", err)
	}
	runs := [][]string{append([]string{"check", "rules", "--lint=all", "--lint-fatal"},
		rules.ShippedFiles...)}
	if !testing.Short() { // it takes some seconds
		// The histograms of cassandra_test.yaml are newer than promtool.
		runs = append(runs, []string{"test", "rules", "activity_test.yaml", "kafka_test.yaml",
			"redis_test.yaml", "targets_test.yaml", "ringwatch_test.yaml"})
	}
	for _, args := range runs {
		said, err := exec.CommandContext(t.Context(), promtool, args...).CombinedOutput()
		if err != nil {
			t.Errorf("%v: %v\n%s", args, err, said)
		}
	}
}

// severities are those of alerts. An info is shown and waits for nobody.
var severities = []string{"info", "warning", "critical"}

// TestShippedFiresAndDoesNot runs the shipped unit tests, and checks that there are two of each
// alert.
func TestShippedFiresAndDoesNot(t *testing.T) {
	type seen struct{ fires, not int }
	of := map[string]*seen{} // by alert and severity
	for _, r := range mustShipped(t) {
		if r.Alert != "" {
			of[r.Alert+" "+r.Labels["severity"]] = &seen{}
		}
	}
	for _, file := range rules.ShippedFiles {
		name := strings.TrimSuffix(file, ".yaml") + "_test.yaml"
		r := ruletest.Options{ReadFile: rules.Shipped.ReadFile,
			Glob: func(pattern string) ([]string, error) {
				return []string{path.Clean(pattern)}, nil
			}}.Run(t.Context(), name)
		for _, err := range r.Failures {
			t.Error(err)
		}
		t.Logf("%s: %d tests", name, r.Tests)
		text, err := rules.Shipped.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		var tests struct {
			Tests []struct {
				Alerts []struct {
					Name   string `yaml:"alertname"`
					Expect []struct {
						Labels map[string]string `yaml:"exp_labels"`
					} `yaml:"exp_alerts"`
				} `yaml:"alert_rule_test"`
			} `yaml:"tests"`
		}
		if err := yaml.Unmarshal(text, &tests); err != nil {
			t.Fatal(err)
		}
		for _, test := range tests.Tests {
			for _, c := range test.Alerts {
				fires := map[string]bool{}
				for _, e := range c.Expect {
					fires[e.Labels["severity"]] = true
				}
				for _, severity := range severities {
					switch s := of[c.Name+" "+severity]; {
					case s == nil:
					case fires[severity]:
						s.fires++
					default:
						s.not++
					}
				}
			}
		}
	}
	for name, s := range of {
		if s.fires == 0 || s.not == 0 {
			t.Errorf("%s: %d tests in which it fires, %d in which it does not", name,
				s.fires, s.not)
		}
	}
}

// levelLabels are the labels that a level of a recorded series' name stands for.
var levelLabels = map[string][]string{
	"cluster":    {"cluster"},
	"datacenter": {"cluster", "datacenter"},
	"table":      {"cluster", "keyspace", "table"},
	"rack":       {"cluster", "datacenter", "rack"},
	"node":       {"cluster", "datacenter", "rack", "node"},
	"keyspace":   {"cluster", "datacenter", "keyspace"},
	"volume":     {"cluster", "datacenter", "node", "volume"},
	"process":    {"cluster", "instance", "job", "role"},
}

// TestShippedRules checks what every rule must have.
func TestShippedRules(t *testing.T) {
	list := mustShipped(t)
	recorded := map[string]bool{}
	for _, r := range list {
		if r.Record != "" {
			recorded[r.Record] = true
		}
	}
	names := metricNames(t)
	for _, r := range list {
		form, err := rules.FormOf(r.expr, nil)
		if form != rules.PerCluster || rules.PinnedTo(r.expr) != "" {
			t.Errorf("%s: form %s, %v", r.Expr, form, err)
		}
		if back, err := rules.Lookback(r.expr); err != nil || back > 15*time.Minute {
			t.Errorf("%s: looks back %v, %v; the role walks 15 minutes", r.Expr, back, err)
		}
		parser.Inspect(r.expr, func(n parser.Node, _ []parser.Node) error {
			if s, ok := n.(*parser.VectorSelector); ok && !recorded[s.Name] && !names(s.Name) {
				t.Errorf("%s: nothing is named %s", r.Expr, s.Name)
			}
			return nil
		})
		if r.Record != "" {
			checkRecorded(t, r)
		} else {
			checkAlert(t, r)
		}
	}
}

func checkRecorded(t *testing.T, r shippedRule) {
	parts := strings.Split(r.Record, ":")
	if len(parts) != 3 {
		t.Errorf("%s: its name is not level:metric:operation", r.Record)
		return
	}
	level, dimension, _ := strings.Cut(parts[0], "_")
	want := levelLabels[level]
	if want == nil {
		t.Errorf("%s: nobody knows the level %s", r.Record, level)
	}
	if dimension != "" {
		want = append(slices.Clone(want), dimension)
	}
	slices.Sort(want)
	parser.Inspect(r.expr, func(n parser.Node, path []parser.Node) error {
		within := slices.ContainsFunc(path, func(n parser.Node) bool {
			_, is := n.(*parser.AggregateExpr)
			return is
		})
		if a, ok := n.(*parser.AggregateExpr); ok && !a.Without && !within {
			if got := slices.Sorted(slices.Values(a.Grouping)); !slices.Equal(got, want) {
				t.Errorf("%s: its name promises labels %v, it keeps %v", r.Record, want, got)
			}
		}
		return nil
	})
	if typ := r.expr.Type(); typ != parser.ValueTypeVector {
		t.Errorf("%s is a %s", r.Record, typ)
	}
}

// nameOfNode is how a shipped text begins that names a node. A Prometheus understands it, too.
const nameOfNode = `{{ $node := $labels.node }}{{ range printf "ringwatch_node_info{cluster=%q,node=%q}" ` +
	`$labels.cluster $labels.node | query }}{{ $node = or .Labels.name $node }}{{ end -}} `

// ofNode asks for something of the node, without naming it.
var ofNode = regexp.MustCompile(`printf "[^"]+" \$labels\.cluster \$labels\.node \| query`)

func checkAlert(t *testing.T, r shippedRule) {
	if s := r.Labels["severity"]; !slices.Contains(severities, s) {
		t.Errorf("%s: severity %q", r.Alert, s)
	}
	for _, name := range []string{"summary", "description", "runbook_url"} {
		if text := r.Annotations[name]; text == "" || strings.Contains(text, "\n") {
			t.Errorf("%s: its %s is %q", r.Alert, name, text)
		}
	}
	for name, text := range r.Annotations {
		rest, named := strings.CutPrefix(text, nameOfNode)
		rest = ofNode.ReplaceAllString(rest, "")
		if strings.Contains(rest, "$labels.node") && name != "address" ||
			named != strings.Contains(rest, "{{ $node }}") {
			t.Errorf("%s: its %s does not name the node as people call it: %s", r.Alert, name, text)
		}
	}
	if s := r.Annotations["summary"]; !strings.Contains(s, "$labels.cluster") &&
		!strings.Contains(s, "$labels.instance") {
		t.Errorf("%s: its summary %q does not say where", r.Alert, s)
	}
	url := strings.TrimPrefix(r.Annotations["runbook_url"],
		"https://github.com/ringwatch/ringwatch/blob/main/")
	file, anchor, _ := strings.Cut(url, "#")
	text, err := os.ReadFile(filepath.Join("..", filepath.FromSlash(file)))
	if err != nil {
		t.Errorf("%s: %v", r.Alert, err)
		return
	}
	_, section, found := strings.Cut(string(text), "\n## "+r.Alert+"\n")
	if anchor != strings.ToLower(r.Alert) || !found {
		t.Errorf("%s: %s has no section for #%s", r.Alert, file, anchor)
		return
	}
	section, _, _ = strings.Cut(section, "\n## ")
	if lines := strings.Count(section, "\n"); lines < 8 || lines > 30 ||
		!strings.Contains(section, "**Look at**") || !strings.Contains(section, "**Do**") {
		t.Errorf("%s: its runbook has %d lines, or does not say what to look at and what to do",
			r.Alert, lines)
	}
	// one expression in two lines
	section = regexp.MustCompile("\n {5,}").ReplaceAllString(section, " ")
	for _, m := range regexp.MustCompile("(?m)^    ([a-z(0-9].*)$").FindAllStringSubmatch(section,
		-1) {
		if _, err := parser.NewParser(parser.Options{}).ParseExpr(m[1]); err != nil &&
			!regexp.MustCompile(
				`^(ringwatch|nodetool|curl|df|du|ls|nc|grep|iostat|redis-cli|journalctl|dmesg|`+
					`keytool|timedatectl|chronyc|kafka-[a-z-]+\.sh)( |$)`).MatchString(
				m[1]) {
			t.Errorf("%s: its runbook says %q, which is neither PromQL nor a command: %v", r.Alert,
				m[1], err)
		}
	}
}

// metricNames reports names of agents' and targets' series, of the role's own, and of what /metrics
// has.
func metricNames(t *testing.T) func(name string) bool {
	t.Helper()
	text, err := os.ReadFile("../agent/METRICS.md")
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{"up": true, "ringwatch_node_last_seen_timestamp_seconds": true,
		"ringwatch_node_info": true, "process_start_time_seconds": true,
		"kafka_lag_bound_seconds": true} // an account's own rules may record it
	for _, m := range regexp.MustCompile("(?m)^\\| `(\\w+)` \\|").FindAllStringSubmatch(
		string(text), -1) {
		names[m[1]] = true
		names[m[1]+"_count"] = true
	}
	for name := range watchedMetrics(t) {
		names[name] = true
	}
	var code strings.Builder
	for _, pattern := range []string{"../*/*.go", "../*/*/*.go"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			if b, err := os.ReadFile(f); err == nil && !strings.HasSuffix(f, "_test.go") {
				code.Write(b)
			}
		}
	}
	return func(name string) bool {
		if names[name] {
			return true
		}
		// A package writes a metric in one piece, or its own prefix once and leaves _total to a
		// helper.
		name = strings.TrimSuffix(strings.TrimSuffix(name, "_bucket"), "_count")
		_, own, _ := strings.Cut(strings.TrimPrefix(name, "ringwatch_"), "_")
		for _, literal := range []string{name, own, strings.TrimSuffix(own, "_total")} {
			if strings.Contains(code.String(), `"`+literal+`"`) {
				return true
			}
		}
		return false
	}
}

// watchedMetrics returns the labels of what the role watch reads of Kafka and Redis, by metric.
func watchedMetrics(t *testing.T) map[string][]string {
	t.Helper()
	of := map[string][]string{}
	for _, file := range []string{"kafka.txt", "redis.txt"} {
		text, err := os.ReadFile(filepath.Join("..", "dictionary", file))
		if err != nil {
			t.Fatal(err)
		}
		var labels []string
		for line := range strings.Lines(string(text)) {
			switch fields := strings.Fields(line); {
			case len(fields) < 3 || line[0] == ' ' || line[0] == '#':
			case fields[0] == "type":
				labels = fields[3:]
			default:
				of[fields[0]] = labels
			}
		}
	}
	if len(of) < 200 {
		t.Fatalf("only %d metrics of Kafka and Redis were found", len(of))
	}
	return of
}

// TestShippedSelectsNoPartitions: what rules select is kept in memory, and a cluster of Kafka may
// have 10,000 partitions for each of 200 groups.
func TestShippedSelectsNoPartitions(t *testing.T) {
	watched := watchedMetrics(t)
	seen := 0
	for _, r := range mustShipped(t) {
		parser.Inspect(r.expr, func(n parser.Node, _ []parser.Node) error {
			s, ok := n.(*parser.VectorSelector)
			if !ok {
				return nil
			}
			if labels, found := watched[s.Name]; found {
				seen++
				if slices.Contains(labels, "partition") {
					t.Errorf("%s: %s has a series for each partition", r.Expr, s.Name)
				}
			}
			return nil
		})
	}
	if seen < 40 {
		t.Errorf("only %d selectors of Kafka's and Redis's metrics were found", seen)
	}
}
