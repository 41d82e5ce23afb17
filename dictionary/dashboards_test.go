package dictionary_test

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// TestWatchDashboards holds dashboards.txt to kafka.txt and redis.txt, and the tables of
// docs/WATCH.md to all three.
func TestWatchDashboards(t *testing.T) {
	have := map[string]bool{}
	for _, file := range []string{"kafka.txt", "redis.txt"} {
		for _, m := range regexp.MustCompile(`(?m)^(\w+) (?:counter|gauge|histogram)`).
			FindAllStringSubmatch(mustRead(t, file), -1) {
			have[m[1]] = true
		}
	}
	page := mustRead(t, "../docs/WATCH.md")
	row := func(format string, args ...any) {
		if text := fmt.Sprintf(format, args...); !strings.Contains(page, text) {
			t.Errorf("docs/WATCH.md does not have the row %s", text)
		}
	}
	lacks, named := map[string]bool{}, map[string]bool{}
	ours := func(name string) bool {
		named[name] = true
		if have[name] == lacks[name] {
			t.Errorf("%s: the role watch reads it: %t, and is said to lack it: %t", name,
				have[name],
				lacks[name])
		}
		return have[name]
	}
	dashboard, all, there := "", 0, 0
	finish := func() {
		if dashboard != "" {
			row("| `%s` | %d | %d |", dashboard, all, there)
		}
		dashboard, all, there = "", 0, 0
	}
	kminion, counterparts := 0, 0
	for line := range strings.Lines(mustRead(t, "dashboards.txt")) {
		line = strings.TrimSuffix(line, "\n")
		word, rest, _ := strings.Cut(line, " ")
		switch {
		case line == "" || line[0] == '#':
		case word == "lacks":
			name, why, _ := strings.Cut(rest, "\t")
			if lacks[name] = true; why == "" {
				t.Errorf("%s: it has no reason", line)
			}
		case word == "dashboard":
			finish()
			fields := strings.Fields(rest)
			dashboard = fields[0]
			row("| `%s` | [%s](https://github.com/%[2]s/blob/%s/%s) |", fields[0], fields[1],
				fields[2], fields[3])
		case word == "variable":
			ours(rest)
		case word == "kminion":
			kminion++
			if of := strings.Fields(rest); len(of) == 2 {
				counterparts++
				if !have[of[1]] {
					t.Errorf("%s: the role watch does not read it", line)
				}
			}
		default:
			times := 1
			if n, err := strconv.Atoi(word); err == nil {
				times, line = n, rest
			}
			all += times
			missing := 0
			for name := range strings.SplitSeq(line, " & ") {
				if !ours(name) {
					missing++
				}
			}
			if missing == 0 {
				there += times
			}
		}
	}
	finish()
	for name := range lacks {
		if !named[name] {
			t.Errorf("no dashboard reads %s: take it out", name)
		}
	}
	if len(named) < 40 || kminion < 20 {
		t.Errorf("only %d metrics of dashboards and %d of kminion were found", len(named), kminion)
	}
	text := fmt.Sprintf("Of the %d metrics that its documentation lists, %d", kminion, counterparts)
	if !strings.Contains(strings.ReplaceAll(page, "\n", " "), text) {
		t.Errorf("docs/WATCH.md does not say %q", text)
	}
}
