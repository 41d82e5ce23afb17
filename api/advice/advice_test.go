package advice_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/promql/promqltest"
	"github.com/prometheus/prometheus/storage"

	"github.com/ringwatch/ringwatch/api/advice"
	"github.com/ringwatch/ringwatch/dictionary"
	window "github.com/ringwatch/ringwatch/window/events"
)

// source asks Prometheus's own engine and storage.
type source struct {
	engine  *promql.Engine
	storage storage.Queryable
	asked   []string
	fails   error
}

// histogram is of ten observations in a bucket up to a tenth of a second, 1, 10 or 100 s, and of
// ten more each minute.
func histogram(buckets string) string {
	h := "{{schema:-53 custom_values:[0.1 1 10 100] buckets:[" + buckets + "] count:10}}"
	return h + "+" + h + "x60"
}

// newSource loads series, a line each, with $n for the labels of node n1, $2 for those of n2, $p
// and $o for those of two processes of Ringwatch, $c for those of the cluster, $t and $i for two
// tables, $s for a replica of Redis, $m for a master that a sentinel watches, $quick and $long for
// histograms.
func newSource(t testing.TB, step time.Duration, lines string) *source {
	t.Helper()
	lines = strings.NewReplacer("$n", `cluster="prod",datacenter="dc1",rack="r1",node="n1"`,
		"$2", `cluster="prod",datacenter="dc1",rack="r2",node="n2"`, "$c", `cluster="prod"`,
		"$t", `keyspace="shop",table="orders"`, "$i", `keyspace="shop",table="items"`,
		"$p", `cluster="prod",instance="rw-1:9472",role="store"`,
		"$o", `cluster="prod",instance="rw-2:9472",role="store"`,
		"$s", `slave_ip="10.0.0.2",slave_port="6379"`,
		"$m", `master_name="mymaster",master_address="10.0.0.2:6379"`,
		"$quick", histogram("10 0 0 0"), "$long", histogram("0 0 0 10")).
		Replace(lines)
	// The first sample says how old others may be.
	st := promqltest.LoadedStorage(t, fmt.Sprintf("load 30s\n  first 1\n\nload %s\n  %s\n",
		strings.TrimSuffix(step.String(), "0s"),
		strings.ReplaceAll(strings.TrimSpace(lines), "\n", "\n  ")))
	t.Cleanup(func() { _ = st.Close() })
	return &source{engine: promqltest.NewTestEngine(t, false, 0, 1_000_000), storage: st}
}

// Query implements advice.Source.
func (s *source) Query(ctx context.Context, expr string, at time.Time) ([]advice.Series, error) {
	s.asked = append(s.asked, expr)
	if s.fails != nil {
		return nil, s.fails
	}
	q, err := s.engine.NewInstantQuery(ctx, s.storage, nil, expr, at)
	if err != nil {
		return nil, err
	}
	defer q.Close()
	v, err := q.Exec(ctx).Vector()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", expr, err)
	}
	var list []advice.Series
	for _, one := range v {
		list = append(list, advice.Series{Labels: one.Metric.Map(), Value: one.F})
	}
	return list, nil
}

// events are those of a test.
type events map[string]*advice.Event

// Newest implements advice.Events.
func (e events) Newest(_ context.Context, of advice.EventQuery) (*advice.Event, error) {
	event := e[of.Kind]
	if event == nil || of.Cluster != "prod" || of.Node != "" && of.Node != event.Node ||
		event.At.Before(of.From) || event.At.After(of.To) {
		return nil, nil
	}
	for name, value := range of.Labels {
		if event.Labels[name] != value {
			return nil, nil
		}
	}
	return event, nil
}

var shipped = sync.OnceValues(advice.Shipped)

func mustShipped(t testing.TB) *advice.Rules {
	t.Helper()
	r, err := shipped()
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// alertOf are the labels of an alert of node n1, with more as "a=b,c=d"; of the cluster if these
// begin so.
func alertOf(name, more string) map[string]string {
	labels := map[string]string{"alertname": name, "cluster": "prod", "severity": "warning"}
	if !strings.HasPrefix(more, "cluster") {
		maps.Copy(labels, map[string]string{"datacenter": "dc1", "rack": "r1", "node": "n1"})
	}
	for part := range strings.SplitSeq(more, ",") {
		if name, value, is := strings.Cut(part, "="); is {
			labels[name] = value
		}
	}
	return labels
}

func called(node string) string {
	return map[string]string{"n1": "db-1", "n2": "db-2"}[node]
}

// spoken is what a case of the test's says: its name and text.
func (c *speaking) spoken(t *testing.T, lines string, of events) (*source, advice.Advice) {
	t.Helper()
	alert, _, _ := strings.Cut(c.of, "/")
	step, n := time.Minute, 60
	if c.day {
		step, n = 5*time.Minute, 300
	}
	s := newSource(t, step, lines)
	at := time.Unix(0, 0).Add(time.Duration(n) * step)
	q := advice.Question{Source: s, Name: called, At: at}
	if of != nil {
		list := events{}
		for kind, event := range of {
			copied := *event
			copied.At = at.Add(-5 * time.Minute)
			list[kind] = &copied
		}
		q.Events = list
	}
	list, err := mustShipped(t).Ask(t.Context(), q, []map[string]string{alertOf(alert, c.alert)})
	if err != nil {
		t.Fatal(err)
	}
	if len(list) == 0 {
		return s, advice.Advice{}
	}
	return s, list[0]
}

// TestCases: each shipped case speaks when what it is about is there, and is silent when it is not.
func TestCases(t *testing.T) {
	speaks, silent := map[string]bool{}, map[string]bool{}
	for _, c := range cases {
		t.Run(c.of, func(t *testing.T) {
			_, name, _ := strings.Cut(c.of, "/")
			s, said := c.spoken(t, c.series, c.events)
			if said.Case != name || said.Text != c.says {
				t.Errorf("%s says\n%s\nand should say\n%s\nasked %q", said.Case, said.Text,
					c.says, s.asked)
			}
			speaks[c.of] = true
			if len(s.asked) > 15 {
				t.Errorf("it asks %d queries", len(s.asked))
			}
			if c.events != nil {
				if _, said := c.spoken(t, c.series, nil); said.Case == name {
					t.Errorf("without events it says %s", said.Text)
				}
				silent[c.of] = true
			}
			if c.quiet[0] == "" {
				return
			}
			for _, quiet := range append(c.also, c.quiet) {
				other := strings.Replace(c.series, quiet[0], quiet[1], 1)
				if other == c.series {
					t.Fatalf("%q is not there", quiet[0])
				}
				if _, said := c.spoken(t, other, c.events); said.Case == name {
					t.Errorf("with %s it says %s", quiet[1], said.Text)
				}
			}
			silent[c.of] = true
		})
	}
	rules := mustShipped(t)
	for _, alert := range rules.Alerts() {
		for _, c := range rules.Cases(alert) {
			if of := alert + "/" + c.Name; !speaks[of] || !silent[of] {
				t.Errorf("%s: speaks in a test %t, is silent in one %t", of, speaks[of], silent[of])
			}
		}
	}
}

// TestEveryAlert: each file of rules has a file of advice of its name, with advice for each of its
// alerts, or a reason for none, and with no others.
func TestEveryAlert(t *testing.T) {
	files, err := filepath.Glob("../../rules/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	all := 0
	for _, file := range files {
		if strings.HasSuffix(file, "_test.yaml") {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		of, err := advice.LoadFile(filepath.Base(file))
		if err != nil {
			t.Fatal(err)
		}
		alerts := map[string]bool{}
		for _, m := range regexp.MustCompile(`(?m)^ +- alert: (\w+)$`).FindAllStringSubmatch(
			string(text), -1) {
			alerts[m[1]] = true
		}
		if want := slices.Sorted(maps.Keys(alerts)); !slices.Equal(of.Alerts(), want) {
			t.Errorf("%s: there is advice for %q and should be for %q: write cases, or none with "+
				"the reason", file, of.Alerts(), want)
		}
		all += len(alerts)
	}
	if known := len(mustShipped(t).Alerts()); all != known || all < 80 {
		t.Errorf("rules have %d alerts, and advice is there for %d", all, known)
	}
}

// ofTargets is what the role watch says of whatever it reads, beside what it reads.
var ofTargets = []string{"ringwatch_target_error_info", "scrape_samples_scraped"}

// described reports whether the dictionary has a metric of an agent, of the role watch, of a rule,
// of package query or of a process of Ringwatch.
func described(name string) bool {
	_, found := dictionary.Find(strings.TrimSuffix(name, "_count"))
	help := dictionary.Help(name, false)
	return found || !strings.HasPrefix(help, "Not described") &&
		!strings.HasPrefix(help, "Kafka's own")
}

// TestMetricsAreThere: every name is one that something sends, records or makes.
func TestMetricsAreThere(t *testing.T) {
	rules := mustShipped(t)
	sentence := regexp.MustCompile(`^[A-Z{].*\.$`)
	for _, alert := range rules.Alerts() {
		for _, c := range rules.Cases(alert) {
			for _, expr := range c.Queries {
				expr = strings.NewReplacer("$cluster", `cluster="c"`, "$node", `cluster="c"`,
					"$process", `cluster="c"`, "$keyspace", `cluster="c"`, "$table",
					`cluster="c"`).Replace(expr)
				tree, err := parser.NewParser(parser.Options{}).ParseExpr(expr)
				if err != nil {
					t.Fatal(err)
				}
				parser.Inspect(tree, func(n parser.Node, _ []parser.Node) error {
					if s, is := n.(*parser.VectorSelector); is && !described(s.Name) &&
						!slices.Contains(ofTargets, s.Name) {
						t.Errorf("%s/%s: nothing gives %s", alert, c.Name, s.Name)
					}
					return nil
				})
			}
			if !sentence.MatchString(c.Text) || len(c.Text) > 400 {
				t.Errorf("%s/%s: no two sentences: %q", alert, c.Name, c.Text)
			}
		}
	}
}

// TestBounds: an answer asks the same once and no more than Most, and a failure gives no advice.
func TestBounds(t *testing.T) {
	s := newSource(t, time.Minute, "cassandra_node_peers_down{$n} 2x60")
	q := advice.Question{Source: s, At: time.Unix(3600, 0)}
	var alerts []map[string]string
	for range 50 {
		alerts = append(alerts, alertOf("CassandraUnavailables", ""))
	}
	list, err := mustShipped(t).Ask(t.Context(), q, alerts)
	if err != nil || len(list) != 50 || len(s.asked) != 1 {
		t.Errorf("%d, %v, asked %d times", len(list), err, len(s.asked))
	}
	s.asked = nil
	for i := range 500 {
		alerts = append(alerts, alertOf("CassandraUnavailables", fmt.Sprintf("node=n%d", i+3)))
	}
	if _, err = mustShipped(t).Ask(t.Context(), q, alerts); err != nil ||
		len(s.asked) != advice.Most {
		t.Errorf("%v, asked %d times", err, len(s.asked))
	}
	s.fails = errors.New("the store is away")
	if list, err = mustShipped(t).Ask(t.Context(), q, alerts); err != nil || len(list) != 0 ||
		list == nil {
		t.Errorf("%v, %v", list, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if list, err := mustShipped(t).Ask(ctx, q, alerts); err == nil {
		t.Errorf("%v", list)
	}
}

// TestHostile: labels that somebody chose break neither a query nor a line.
func TestHostile(t *testing.T) {
	evil := "a\"b\\c\n}\x1b[2J"
	s := newSource(t, time.Minute, "cassandra_node_peers_down{$n} 2x60")
	q := advice.Question{Source: s, At: time.Unix(3600, 0)}
	alert := alertOf("CassandraUnavailables", "")
	alert["node"] = evil
	if _, err := mustShipped(t).Ask(t.Context(), q, []map[string]string{alert}); err != nil {
		t.Fatal(err)
	}
	for _, expr := range s.asked {
		if _, err := parser.NewParser(parser.Options{}).ParseExpr(expr); err != nil {
			t.Errorf("%s: %v", expr, err)
		}
	}
	q.Events = events{"error": {At: time.Unix(3500, 0), Node: "n1",
		Text: strings.Repeat("x", 2000) + evil}}
	list, err := mustShipped(t).Ask(t.Context(), q,
		[]map[string]string{alertOf("CassandraStorageExceptions", "")})
	if err != nil || len(list) != 1 || len(list[0].Text) > 500 ||
		strings.ContainsAny(list[0].Text, "\n\x1b") {
		t.Errorf("%+v, %v", list, err)
	}
}

const own = `
alerts:
  - alert: CassandraUnavailables
    none: our coordinators are told of by another tool
  - alert: OrdersStand
    cases:
      - name: shop
        queries:
          orders: sum(shop_orders{$cluster,shop="$shop"})
        text: "{orders} orders wait in {alert.shop}, of {orders|bytes}. Ask the shop."
`

// TestOwn: an account's file changes, adds and takes away.
func TestOwn(t *testing.T) {
	path := filepath.Join(t.TempDir(), "own.yaml")
	if err := os.WriteFile(path, []byte(own), 0o600); err != nil {
		t.Fatal(err)
	}
	mine, err := advice.LoadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	joined := mustShipped(t).With(mine)
	s := newSource(t, time.Minute,
		"cassandra_node_peers_down{$n} 2x60\nshop_orders{$c,shop=\"east\"} 2048x60")
	list, err := joined.Ask(t.Context(), advice.Question{Source: s, At: time.Unix(3600, 0)},
		[]map[string]string{alertOf("CassandraUnavailables", ""),
			alertOf("OrdersStand", "shop=east"), alertOf("OrdersStand", "")})
	if err != nil || len(list) != 1 ||
		list[0].Text != "2048 orders wait in east, of 2 KiB. Ask the shop." {
		t.Errorf("%+v, %v", list, err)
	}
	if joined.None["CassandraUnavailables"] == "" ||
		mustShipped(t).None["CassandraUnavailables"] != "" {
		t.Error("the reason for no advice is not the account's")
	}
}

// TestEventsOfOnesClusters: nobody reads events of a cluster that who asks does not own.
func TestEventsOfOnesClusters(t *testing.T) {
	read := 0
	of := advice.EventsOf(func(cluster string) bool { return cluster == "mine" },
		func(context.Context, window.Query) (window.Page, error) {
			read++
			return window.Page{Events: []window.Event{{}}}, nil
		})
	for _, cluster := range []string{"mine", "other"} {
		event, err := of.Newest(t.Context(), advice.EventQuery{Cluster: cluster, Kind: "start"})
		if err != nil || (event != nil) != (cluster == "mine") || read != 1 {
			t.Errorf("%s: %v, %v, read %d times", cluster, event, err, read)
		}
	}
}

// TestWrong: each mistake is said with the file, the alert and the remedy.
func TestWrong(t *testing.T) {
	replace := func(old, new string) string { return strings.Replace(own, old, new, 1) }
	for name, c := range map[string]struct{ text, want string }{
		"an unknown key": {replace("queries:", "query:"), "unknown field"},
		"no YAML":        {"alerts: [", "own.yaml: "},
		"no name":        {replace("alert: OrdersStand", "alert: ''"), "an alert has no name"},
		"nothing":        {replace("none: our", "none: '' #"), "write cases, or none with"},
		"twice":          {replace("OrdersStand", "CassandraUnavailables"), "is there twice"},
		"a name of two":  {replace("name: shop", "name: my shop"), "name it with one word"},
		"no text":        {replace(`"{orders} orders wait`, `"" #`), "text is missing"},
		"no PromQL":      {replace("sum(shop", "sum((shop"), "case shop: query orders: "},
		"no scope":       {replace("$cluster", `cluster="other"`), "has none of $cluster, $node"},
		"single quotes":  {replace(`"$shop"`, "'$shop'"), "within double quotes"},
		"backticks":      {replace(`"$shop"`, "`$shop`"), "within double quotes"},
		"a scalar":       {replace(`sum(shop_orders{$cluster,shop="$shop"})`, "1"), "a scalar"},
		"no selector": {replace(`sum(shop_orders{$cluster,shop="$shop"})`, "vector(1)"),
			"no selector"},
		"a query of ours": {replace("orders: sum", "event: sum"), "other than alert and event"},
		"an unknown blank": {replace("{alert.shop}", "{shop}"),
			"text: nothing is called {shop}"},
		"no event":        {replace("{alert.shop}", "{event.text}"), "{event.text}"},
		"an unknown unit": {replace("|bytes", "|stones"), "unknown unit"},
		"a bad kind":      {replace("queries:", "event: A b\n        queries:"), "no kind of"},
		"nothing asked": {replace("queries:\n          orders: sum(shop_orders{$cluster,"+
			`shop="$shop"})`, "queries: {}"), "it asks for nothing"},
		"a great many": {"alerts:\n" + strings.Repeat("  - {alert: A, none: b}\n", 201),
			"201 alerts, and 200 are allowed"},
	} {
		_, err := advice.Load("own.yaml", []byte(c.text))
		if err == nil || !strings.Contains(err.Error(), c.want) ||
			!strings.HasPrefix(err.Error(), "own.yaml") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := advice.LoadFile(filepath.Join(t.TempDir(), "none")); !errors.Is(err,
		os.ErrNotExist) {
		t.Error(err)
	}
}
