package docs_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
)

var (
	// runbookCommand begins a line of a runbook that is typed at a shell.
	runbookCommand = regexp.MustCompile(
		`^(ringwatch|nodetool|curl|journalctl|redis-cli|grep|iostat|ls|df|du|nc|dmesg|keytool|` +
			`timedatectl|chronyc|kafka-[a-z-]+\.sh)( |$)`)
	// metricName is a metric in the text of a runbook, in code.
	metricName = regexp.MustCompile("`((?:cassandra|jvm|os|ringwatch|kafka|redis)_[a-z0-9_]+)")
)

// TestRunbooksNameWhatExists: the PromQL of each runbook parses, and each metric that a runbook
// names is one of the agent's or of the role watch, one that a shipped rule records, or one that a
// process has on /metrics.
func TestRunbooksNameWhatExists(t *testing.T) {
	known := ""
	for _, file := range []string{"agent/METRICS.md", "dictionary/kafka.txt",
		"dictionary/redis.txt", "rules/cassandra.yaml", "rules/ringwatch.yaml"} {
		known += mustRead(t, "../"+file)
	}
	sources := goSources(t)
	exists := func(name string) bool {
		if strings.Contains(known, name) || strings.HasPrefix(name, "process_") {
			return true
		}
		base := name
		for _, suffix := range []string{"_bucket", "_sum", "_count"} {
			base = strings.TrimSuffix(base, suffix)
		}
		if strings.Contains(known, base) || strings.Contains(sources, base) {
			return true
		}
		// Some metrics are written as ringwatch, package and the rest.
		parts := strings.SplitN(base, "_", 3)
		return len(parts) == 3 && (strings.Contains(sources, `"`+parts[2]+`"`) ||
			strings.Contains(sources, `"`+strings.TrimSuffix(parts[2], "_total")+`"`))
	}
	expressions, names := 0, 0
	for _, page := range []string{"runbooks/cassandra.md", "runbooks/activity.md",
		"runbooks/kafka.md", "runbooks/redis.md", "runbooks/targets.md", "runbooks/ringwatch.md"} {
		text := mustRead(t, page)
		for _, m := range metricName.FindAllStringSubmatch(text, -1) {
			names++
			if !exists(m[1]) {
				t.Errorf("%s names %s, which nothing has", page, m[1])
			}
		}
		for _, expr := range runbookExpressions(text) {
			expressions++
			tree, err := parser.NewParser(parser.Options{}).ParseExpr(expr)
			if err != nil {
				t.Errorf("%s: %q is not PromQL: %v", page, expr, err)
				continue
			}
			for _, matchers := range parser.ExtractSelectors(tree) {
				for _, m := range matchers {
					if m.Name != labels.MetricName {
						continue
					}
					names++
					if name := m.Value; name != "up" && !exists(name) {
						t.Errorf("%s: nothing has the metric %s of %q", page, name, expr)
					}
				}
			}
		}
	}
	if expressions < 200 || names < 200 {
		t.Errorf("only %d expressions and %d names of metrics were found", expressions, names)
	}
}

// runbookExpressions returns the PromQL in a runbook's indented blocks. A line that is indented
// further goes on with the one before it.
func runbookExpressions(text string) (list []string) {
	for line := range strings.Lines(text) {
		code, ok := strings.CutPrefix(line, "    ")
		code = strings.TrimRight(code, "\n")
		switch {
		case !ok || runbookCommand.MatchString(code):
		case strings.HasPrefix(code, " "):
			list[len(list)-1] += code
		default:
			list = append(list, code)
		}
	}
	return list
}

// goSources returns all Go of the repository that is not a test.
func goSources(t *testing.T) string {
	t.Helper()
	var all strings.Builder
	err := filepath.WalkDir("..", func(path string, entry os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := entry.Name()
		switch {
		case entry.IsDir() &&
			(name == "node_modules" || strings.HasPrefix(name, ".") && name != ".."):
			return filepath.SkipDir
		case strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go"):
			b, err := os.ReadFile(path)
			all.Write(b)
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all.String()
}
