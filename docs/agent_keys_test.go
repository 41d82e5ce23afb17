package docs_test

import (
	"encoding/json"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// resultValue returns a value of a kept result of the benchmarks.
func resultValue(t *testing.T, file, key string) float64 {
	t.Helper()
	var result struct{ Values map[string]float64 }
	if err := json.Unmarshal([]byte(mustRead(t, "../bench/results/"+file+".json")),
		&result); err != nil {
		t.Fatal(err)
	}
	v, ok := result.Values[key]
	if !ok {
		t.Fatalf("bench/results/%s.json has no %s", file, key)
	}
	return v
}

var (
	agentRow  = regexp.MustCompile("(?m)^\\| `([^`]+)` \\| (–|`[^`]*`) \\| .+ \\|$")
	agentKeys = regexp.MustCompile(`KEYS =\s+"([^"]+)"`)
	agentSub  = regexp.MustCompile(
		`unknown key \\"([a-z]+)\." \+ name \+ "\\": there are ([^"]+)"`)
	javaParts = regexp.MustCompile(`"\s+\+ "`) // where a string goes on in its next line
)

// agentDefaults are the fields of the agent's Config that have a default, and what the page says.
var agentDefaults = map[string]string{
	"interval":       "intervalMs",
	"queue_bytes":    "queueBytes",
	"spool.bytes":    "spoolBytes",
	"max_entities":   "maxEntities",
	"cql":            "cql",
	"events":         "events",
	"partition_keys": "partitionKeys",
}

// TestAgentKeysAreDocumented: CONFIG.md has a row for each key of agent.yaml, and the defaults that
// the agent's source has.
func TestAgentKeysAreDocumented(t *testing.T) {
	source := javaParts.ReplaceAllString(
		mustRead(t, "../agent/src/main/java/dev/ringwatch/agent/Config.java"), "")
	_, page, found := strings.Cut(mustRead(t, "CONFIG.md"), "\n## The agent\n")
	if !found {
		t.Fatal("CONFIG.md has no section The agent")
	}
	rows := map[string]string{}
	for _, m := range agentRow.FindAllStringSubmatch(page, -1) {
		rows[m[1]] = strings.Trim(m[2], "`")
	}
	keys := map[string]bool{}
	top := agentKeys.FindStringSubmatch(source)
	if top == nil {
		t.Fatal("Config.java has no list KEYS")
	}
	sections := agentSub.FindAllStringSubmatch(source, -1)
	for _, key := range strings.Split(top[1], ", ") {
		keys[key] = true
	}
	for _, m := range sections {
		delete(keys, m[1])
		for _, key := range strings.Split(m[2], ", ") {
			keys[m[1]+"."+key] = true
		}
	}
	if len(keys) < 15 {
		t.Errorf("only %d keys were found in Config.java", len(keys))
	}
	for key := range keys {
		if _, ok := rows[key]; !ok {
			t.Errorf("CONFIG.md has no row for the agent's %s", key)
		}
	}
	for key := range rows {
		if !keys[key] {
			t.Errorf("CONFIG.md has a row for the agent's %s, which is no key", key)
		}
	}
	for key, field := range agentDefaults {
		m := regexp.MustCompile(`\b` + field + ` = ([^;]+);`).FindStringSubmatch(source)
		if m == nil {
			t.Errorf("Config.java has no default of %s", field)
			continue
		}
		if got := agentDefault(t, key, m[1]); got != rows[key] {
			t.Errorf("CONFIG.md says that the agent's %s is %s, its default is %s", key, rows[key],
				got)
		}
	}
}

// agentDefault writes a Java literal as the page does.
func agentDefault(t *testing.T, key, literal string) string {
	t.Helper()
	number, shift, _ := strings.Cut(strings.ReplaceAll(strings.ReplaceAll(literal, "_", ""), "L",
		""), " << ")
	n, err := strconv.Atoi(number)
	switch {
	case err != nil:
		return literal // true
	case shift == "20":
		return number + "MiB"
	case key == "interval":
		return (time.Duration(n) * time.Millisecond).String()
	}
	return number
}
