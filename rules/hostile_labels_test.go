package rules

import (
	"fmt"
	"math"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/ringwatch/ringwatch/memory"
	"github.com/ringwatch/ringwatch/memory/memorytest"
)

// doubling nests label_join, which doubles a label with each level.
func doubling(levels int, expr string) string {
	for range levels {
		expr = fmt.Sprintf(`label_join(%s, "x", "", "x", "x", "node")`, expr)
	}
	return expr
}

const ruleOf = "groups:\n- name: labels\n  rules:\n  - {record: \"a:fine\", expr: max by " +
	"(cluster) (node_load1)}\n  - {record: \"b:dear\", expr: '%s'}\n"

// TestHostileLabels: a rule whose labels become too long is refused before it is stored; one that
// becomes dear with the series that there are says so, takes nothing from other rules and accounts,
// and ends.
func TestHostileLabels(t *testing.T) {
	limit := memory.Find(1 << 30)
	t.Cleanup(func() { debug.SetMemoryLimit(math.MaxInt64) })
	for _, expr := range []string{
		doubling(12, `{__name__=~"cassandra_table.*"}`),
		"count by (cluster, x) (" + doubling(15, "up") + ")",
		`label_replace(up, "x", "` + strings.Repeat("a", 20_000) + `", "node", ".*")`,
		`up * on (cluster, node) group_left (x) ` + doubling(15, "up"),
		`last_over_time(` + doubling(15, "up") + `[5m:1m])`,
		`count_values by (cluster, x) ("v", ` + doubling(15, "up") + `)`,
	} {
		text := fmt.Sprintf(ruleOf, expr)
		for _, of := range Check([]RuleFile{{Name: "hostile.yaml", Text: []byte(text)}}) {
			if len(of.Errors) != 1 || !strings.Contains(of.Errors[0].Error(), "max_label_bytes") {
				t.Errorf("%.80s… is checked as %v", expr, of.Errors)
			}
		}
		c := DefaultConfig()
		f := newFiles(&c, checkParser(), map[string][]byte{"hostile.yaml": []byte(text)}, nil, nil)
		groups, err := f.groups("hostile.yaml", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := newSet([]file{{"hostile.yaml", []byte(text), groups}}, checkParser(),
			&c); err == nil ||
			!strings.Contains(err.Error(), "max_label_bytes") {
			t.Errorf("%.80s… is loaded: %v", expr, err)
		}
	}

	// What passes the check may still be too much of what there is: here a name of 1 KiB, joined
	// sixteen times, and labels for which the account has no memory.
	long := `label_join(label_replace(node_load1, "x", "` + strings.Repeat("a", 1000) +
		`", "", ""), "x", ""` +
		strings.Repeat(`, "x"`, 15) + `)`
	w := newTown(t, 0, fmt.Sprintf(ruleOf, long))
	budget, err := memory.NewBudget("rules", 4<<20, nil)
	if err != nil {
		t.Fatal(err)
	}
	w.set = func(_ *Config, d *Deps) { d.Budget = budget }
	for i := range uint64(150) {
		w.add("acme", "north", i+1)
	}
	w.add("zeta", "south", 200)
	took := memorytest.Allocated(func() { w.pass(2*time.Minute, nil) })
	t.Logf("two minutes of 151 nodes allocated %d MiB", took>>20)
	if limit.Has() > limit.Bytes {
		t.Errorf("the process has %d MiB", limit.Has()>>20)
	}
	w.wantHealth("acme", 2, map[string]string{"b:dear": "memory"})
	w.wantHealth("zeta", 2, nil)
	if _, newest := w.recordedOf("zeta", "a:fine"); newest < w.at-20_000 {
		t.Error("another account's rules were not evaluated")
	}
}
