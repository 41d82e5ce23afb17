package rules_test

import (
	"errors"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/promql/parser"

	"github.com/ringwatch/ringwatch/rules"
)

func mustParse(t testing.TB, text string) parser.Expr {
	t.Helper()
	e, err := parser.NewParser(parser.Options{EnableExperimentalFunctions: true}).ParseExpr(text)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// recorded says of three series that rules record them.
var recorded = rules.Recorded{
	"cluster:x:rate5m": rules.PerCluster, "cluster:y:rate5m": rules.PerCluster,
	"all:x:rate5m": rules.Account,
}

func TestFormOf(t *testing.T) {
	for _, c := range []struct {
		expr, want string // a form, or what the error says
	}{
		{`up == 0`, "cluster"},
		{`sum by (cluster, table) (rate(x_total[5m])) > 3`, "cluster"},
		{`sum without (node) (x)`, "cluster"},
		{`histogram_quantile(0.99, sum by (cluster) (rate(x[5m])))`, "cluster"},
		{`a / b`, "cluster"},
		{`a / on (cluster, node) group_left (address) ringwatch_node_info`, "cluster"},
		{`a / ignoring (node) group_left () b`, "cluster"},
		{`a and on (cluster) b`, "cluster"},
		{`time() - ringwatch_node_last_seen_timestamp_seconds > 60`, "cluster"},
		{`a and on () (hour() > 8)`, "cluster"},
		{`a * on () group_left () vector(2)`, "cluster"},
		{`absent(up{cluster="a"})`, "cluster"},
		{`sum(x{cluster="a"}) / sum(y{cluster="a"})`, "cluster"},
		{`x{cluster="a"} > scalar(y{cluster="a"})`, "cluster"},
		{`sum(x{cluster="a"}) or vector(0)`, "cluster"},
		{`label_replace(x, "mount", "$1", "device", "(.*)")`, "cluster"},
		{`max_over_time(sum by (cluster) (x)[1h:1m])`, "cluster"},
		{`topk by (cluster) (3, x)`, "cluster"},
		{`sum(cluster:x:rate5m)`, "account"},
		{`cluster:x:rate5m / scalar(sum(cluster:y:rate5m))`, "account"},
		{`absent(cluster:x:rate5m)`, "account"},
		{`vector(1)`, "account"},
		{`time() > bool 5`, "account"},

		{`all:x:rate5m > 5`, "account"},
		{`all:x:rate5m + on () group_right () cluster:y:rate5m`, "account"},

		{`sum by (cluster) (x) > on () group_left () all:x:rate5m`,
			"all:x:rate5m is recorded over all clusters, where x is not: record x per " +
				"cluster first"},
		{`sum(x)`, "in sum(x): sum aggregates over clusters; write sum by (cluster, …)"},
		{`sum(x) + cluster:x:rate5m`, "in sum(x): sum aggregates"},
		{`sum without (cluster) (x)`, "leave cluster out of without (…)"},
		{`topk(3, x)`, "write topk by (cluster, …)"},
		{`count_values by (cluster) ("cluster", x)`, "with another label than cluster"},
		{`a and on (node) b`, "add cluster to on (…)"},
		{`a and on () b`, "add cluster to on (…)"},
		{`a / ignoring (cluster) b`, "leave cluster out of ignoring (…)"},
		{`a / sum(b{cluster="a"})`, `select cluster="a" on the other side too`},
		{`sum(a{cluster="a"}) / sum(b{cluster="b"})`, `one side is of cluster "a" alone`},
		{`absent(up)`, `absent() needs one cluster; select cluster="…"`},
		{`absent_over_time(up[5m])`, `absent_over_time() needs one cluster`},
		{`up == 0 or absent(up{cluster="a"})`, `select cluster="a" on the other side too`},
		{`a > scalar(b)`, "scalar() needs one cluster"},
		{`a > scalar(b{cluster="a"})`, `the number is of cluster "a" alone`},
		{`label_replace(x, "cluster", "all", "", "")`, "label_replace() writes the label cluster"},
		{`label_join(x, "cluster", "/", "a", "b")`, "write another label"},
		{`a or vector(0)`, "the constant side has no cluster"},
		{`vector(1) unless a`, "put the series on the left side"},
		{`vector(1) and on () a`, "without vector (…)"},
		{`a * on () vector(2)`, "without vector (…)"},
		{`info(a)`, "info() does not match by cluster"},
	} {
		form, err := rules.FormOf(mustParse(t, c.expr), recorded)
		switch {
		case err == nil && form.String() != c.want:
			t.Errorf("%s: %s, want %s", c.expr, form, c.want)
		case err != nil &&
			(!errors.Is(err, rules.ErrMixesClusters) || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: %v\nwant …%s…", c.expr, err, c.want)
		}
	}
	if _, err := rules.FormOf(mustParse(t, `sum(cluster:x:rate5m)`), nil); err == nil {
		t.Error("nothing is recorded, and a sum over all clusters has a form")
	}
}

// TestRecordedBy: rules that use each other are settled whatever order they stand in.
func TestRecordedBy(t *testing.T) {
	got := rules.RecordedBy([]rules.Recording{
		{"third", mustParse(t, `second * 2`)},
		{"second", mustParse(t, `first > 1`)},
		{"first", mustParse(t, `sum(cluster:x)`)},
		{"cluster:x", mustParse(t, `sum by (cluster) (x)`)},
		{"cluster:x", mustParse(t, `sum(third)`)},
		{"circle", mustParse(t, `circle + 1`)},
		{"never", mustParse(t, `sum(x)`)},
		{"nor", mustParse(t, `never + 1`)},
		{"of:alerts", mustParse(t, `count(ALERTS)`)},
	})
	want := rules.Recorded{"ALERTS": rules.PerCluster, "ALERTS_FOR_STATE": rules.PerCluster,
		"first": rules.Account, "second": rules.Account, "third": rules.Account,
		"cluster:x": rules.PerCluster, "circle": rules.PerCluster, "nor": rules.PerCluster,
		"of:alerts": rules.Account}
	if !maps.Equal(got, want) {
		t.Errorf("%v\nwant %v", got, want)
	}
}

func TestPinnedTo(t *testing.T) {
	for expr, want := range map[string]string{
		`absent(up{cluster="a"})`:                  "a",
		`sum(x{cluster="a"}) / y{cluster="a"} > 3`: "a",
		`x{cluster="a"} / y`:                       "",
		`x{cluster="a"} or y{cluster="b"}`:         "",
		`x{cluster=~"a"}`:                          "",
		`vector(1)`:                                "",
	} {
		if got := rules.PinnedTo(mustParse(t, expr)); got != want {
			t.Errorf("%s: %q, want %q", expr, got, want)
		}
	}
}

func TestLookback(t *testing.T) {
	const m = time.Minute
	for expr, want := range map[string]time.Duration{
		`1 + time()`:               0,
		`up`:                       5 * m,
		`up offset 1h`:             65 * m,
		`up offset -10m`:           0,
		`rate(x[10m])`:             10 * m,
		`rate(x[1m])`:              m,
		`rate(x[10m] offset 1w)`:   10*m + 7*24*60*m,
		`max_over_time(up[1h:1m])`: 65 * m,
		`max_over_time(rate(x[10m])[1h:1m] offset 5m)`: 75 * m,
		`a / b offset 30m`:                               35 * m,
		`sum by (cluster) (rate(x[2m])) > bool a`:        5 * m,
		`avg_over_time(max_over_time(x[2m])[3m:1m]) > 1`: 5 * m,
	} {
		got, err := rules.Lookback(mustParse(t, expr))
		if err != nil || got != want {
			t.Errorf("%s: %v, %v, want %v", expr, got, err, want)
		}
	}
	for _, expr := range []string{`up @ 3`, `rate(x[5m] @ end())`,
		`max_over_time(x[5m:1m] @ start())`} {
		if _, err := rules.Lookback(mustParse(t, expr)); !errors.Is(err, rules.ErrFixedTime) {
			t.Errorf("%s: %v", expr, err)
		}
	}
}
