package rules

import (
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestLink: an alert's link opens the console's Explore with its expression, at the time when it
// fired. Where nobody has said where the console is there is none.
func TestLink(t *testing.T) {
	const rule = `
groups:
  - name: g
    rules:
      - {alert: Loaded, expr: 'node_load1{node!=""} > 5 and node_load1 != 7', for: 20s}
`
	for base, want := range map[string]string{
		"":                        "",
		"https://rw.example:9470": "https://rw.example:9470/#/explore?",
		"https://rw.example/":     "https://rw.example/#/explore?",
	} {
		w := newTown(t, 1, rule)
		w.begin()
		w.role.url, _ = url.Parse(base)
		w.nodes[0].load = 9
		w.pass(2*time.Minute, nil)
		if len(w.alerts) == 0 {
			t.Fatal("nothing fires")
		}
		for _, a := range w.alerts {
			query, found := strings.CutPrefix(a.GeneratorURL, want)
			if !found || want == "" && query != "" {
				t.Errorf("with %q: %q", base, a.GeneratorURL)
			}
			if want == "" {
				continue
			}
			q, err := url.ParseQuery(query)
			from, _ := strconv.ParseInt(q.Get("from"), 10, 64)
			to, _ := strconv.ParseInt(q.Get("to"), 10, 64)
			if err != nil || q.Get("expr") != a.Expr || from >= a.ActiveAt.Unix() ||
				to <= a.FiredAt.Unix() || to-from > 2*3600 {
				t.Errorf("%v of %q", q, a.GeneratorURL)
			}
		}
	}
}
