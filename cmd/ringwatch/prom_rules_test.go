package main

import (
	"encoding/json"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/query/selector"
	"github.com/ringwatch/ringwatch/rules"
)

func mustSelectors(t *testing.T) *selector.Parser {
	t.Helper()
	p, err := selector.New(selector.DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestPromRules asks for rules by their labels, and for groups page by page.
func TestPromRules(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a.yaml")
	err := os.WriteFile(file, []byte(`
groups:
- name: one
  rules:
  - {alert: A, expr: up == 0, labels: {severity: critical}}
  - {alert: B, expr: up == 0, labels: {severity: warning, team: x}}
- {name: two, rules: [{record: "c:c", expr: up}]}
- {name: three, rules: [{alert: D, expr: up == 0, labels: {severity: critical}}]}
`), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	c := rules.DefaultConfig()
	c.Shipped, c.Files = false, []string{file}
	board, err := rules.NewStatus(c, rules.Deps{})
	if err != nil {
		t.Fatal(err)
	}
	ask := board.PromRules(mustSelectors(t))
	get := func(q url.Values) (names []string, next string) {
		t.Helper()
		data, err := ask(account.Principal{Account: "a"}, q)
		if err != nil {
			t.Fatalf("%v: %v", q, err)
		}
		b, err := json.Marshal(data)
		if err != nil {
			t.Fatal(err)
		}
		var got struct {
			Groups         []struct{ Rules []struct{ Name string } }
			GroupNextToken string
		}
		if err := json.Unmarshal(b, &got); err != nil {
			t.Fatal(err)
		}
		for _, g := range got.Groups {
			for _, r := range g.Rules {
				names = append(names, r.Name)
			}
		}
		return names, got.GroupNextToken
	}
	for _, q := range []struct {
		match []string
		want  []string
	}{
		{nil, []string{"A", "B", "c:c", "D"}},
		{[]string{`{severity="critical"}`}, []string{"A", "D"}},
		{[]string{`{severity="warning"}`, `{severity="critical",team=""}`},
			[]string{"A", "B", "D"}},
		{[]string{`{severity=~"crit.+|none"}`, `{team="x"}`}, []string{"A", "B", "D"}},
	} {
		if got, _ := get(url.Values{"match[]": q.match}); !slices.Equal(got, q.want) {
			t.Errorf("%q: %q, want %q", q.match, got, q.want)
		}
	}
	var pages [][]string
	q := url.Values{"group_limit": {"1"}}
	for range 5 {
		names, next := get(q)
		pages = append(pages, names)
		if next == "" {
			break
		}
		q.Set("group_next_token", next)
	}
	if len(pages) != 3 || !slices.Equal(slices.Concat(pages...), []string{"A", "B", "c:c", "D"}) {
		t.Errorf("the pages are %q", pages)
	}
	for _, q := range []url.Values{
		{"match[]": {"{"}}, {"group_limit": {"x"}}, {"group_limit": {"-1"}}, {"type": {"x"}},
		{"group_next_token": {"x"}}, {"group_limit": {"1"}, "group_next_token": {"x"}},
	} {
		if _, err := ask(account.Principal{Account: "a"}, q); err == nil {
			t.Errorf("%v is no error", q)
		}
	}
}
