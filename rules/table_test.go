package rules_test

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/promql/parser"
)

// TestTableOfAlerts holds the table in docs/ALERTS.md against the shipped files: alerts,
// severities, how long, thresholds, and links to runbooks.
func TestTableOfAlerts(t *testing.T) {
	text, err := os.ReadFile("../docs/ALERTS.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string][]string{}
	var order []string
	for _, m := range regexp.MustCompile(`(?m)^\| \[(\w+)\]\((\S+)\) \| (.*) \| (.*) \| (.*) \|$`).
		FindAllStringSubmatch(string(text), -1) {
		if rows[m[1]] != nil {
			t.Errorf("%s has two rows", m[1])
		}
		rows[m[1]] = m[2:]
		order = append(order, m[1])
	}
	type alert struct{ severities, waits []string }
	var want []string
	of := map[string]*alert{}
	for _, r := range mustShipped(t) {
		if r.Alert == "" {
			continue
		}
		if of[r.Alert] == nil {
			of[r.Alert] = &alert{}
			want = append(want, r.Alert)
		}
		a := of[r.Alert]
		a.severities = append(a.severities, r.Labels["severity"])
		row := rows[r.Alert]
		if row == nil {
			t.Errorf("%s has no row", r.Alert)
			continue
		}
		if !strings.HasSuffix(r.Annotations["runbook_url"], "/docs/"+row[0]) {
			t.Errorf("%s: the table links %s, the rule %s", r.Alert, row[0],
				r.Annotations["runbook_url"])
		}
		wait := "–"
		if r.For > 0 {
			wait = r.For.String()
		}
		if !slices.Contains(a.waits, wait) {
			a.waits = append(a.waits, wait)
		}
		if limit, ok := limitOf(r.expr); ok && !slices.ContainsFunc(limit, func(text string) bool {
			return regexp.MustCompile(`(^|[ \d/])` + regexp.QuoteMeta(text) + `( |$)`).MatchString(
				row[3])
		}) {
			t.Errorf("%s: the table says %q, the rule's limit is %s", r.Alert, row[3], limit[0])
		}
	}
	for name, a := range of {
		if row := rows[name]; row != nil && row[1] != strings.Join(a.severities, " / ") {
			t.Errorf("%s: the table says %s, the rules %s", name, row[1], a.severities)
		}
		if row := rows[name]; row != nil && row[2] != strings.Join(a.waits, " / ") {
			t.Errorf("%s: the table says for %s, the rules %s", name, row[2], a.waits)
		}
	}
	if !slices.Equal(order, want) {
		t.Errorf("the table has %v, the files have %v", order, want)
	}
}

// limitOf returns the number that an alert compares with, in the ways in which one writes it.
func limitOf(e parser.Expr) ([]string, bool) {
	b, ok := e.(*parser.BinaryExpr)
	if !ok {
		return nil, false
	}
	if !b.Op.IsComparisonOperator() {
		return limitOf(b.LHS)
	}
	n, ok := b.RHS.(*parser.NumberLiteral)
	if !ok || n.Val == 0 || b.Op == parser.EQLC {
		return nil, false
	}
	plain := strconv.FormatFloat(n.Val, 'g', -1, 64)
	forms := []string{plain, fmt.Sprintf("%.4g", 100*n.Val)}
	if n.Val >= 1000 {
		forms = append(forms, fmt.Sprintf("%d,%03d", int(n.Val)/1000, int(n.Val)%1000))
	}
	return forms, true
}
