package api_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/ringwatch/ringwatch/api/advice"
	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/frame/frametest"
	"github.com/ringwatch/ringwatch/query/roster"
	"github.com/ringwatch/ringwatch/stream"
	"github.com/ringwatch/ringwatch/window/events"
)

// slowOn tells of a slow query on one node.
func slowOn(id uuid.UUID) func(events.Query) (events.Page, error) {
	return func(q events.Query) (page events.Page, err error) {
		if slices.Equal(q.Kinds, []string{"slow_query"}) &&
			slices.Equal(q.Nodes, []uuid.UUID{id}) &&
			slices.Equal(q.Clusters, []string{"fleet"}) {
			page.Events = []events.Event{{Cluster: "fleet", Node: id, Event: frame.Event{
				At: q.To - time.Minute.Milliseconds(), Kind: "slow_query", Text: "SELECT ?",
				Labels: []frame.Label{{Name: "keyspace", Value: "shop"},
					{Name: "slowest_seconds", Value: "3"}, {Name: "table", Value: "orders"},
					{Name: "times", Value: "2"}}}}}
		}
		return page, nil
	}
}

// TestAdvice asks by the API over frames: what is said of alerts, what is refused, and what another
// account is told.
func TestAdvice(t *testing.T) {
	var left roster.Roster
	alerts := frame.Template{Type: "alert", Labels: []string{"alertname", "alertstate", "severity"},
		Metrics: []frame.Metric{{Name: "ALERTS", Kind: frame.Gauge}}}
	f := newSafeFixture(t, &left,
		said{alerts, []string{"CassandraSlowQueries", "firing", "warning"},
			[]frametest.Cell{{Int: 1}}}, said{frame.Template{Type: "down", Metrics: []frame.Metric{
			{Name: "cassandra_node_peers_down", Kind: frame.Gauge}}}, nil,
			[]frametest.Cell{{Int: 2}}})
	id := f.nodes[1].ID.String()
	ask := func(query string) []advice.Advice {
		t.Helper()
		of, err := url.ParseQuery(query)
		if err != nil {
			t.Fatal(err)
		}
		var answer struct{ Advice []advice.Advice }
		f.get("/v1/advice", of, &answer)
		return answer.Advice
	}
	f.happened = slowOn(f.nodes[1].ID)
	now := strconv.FormatInt(f.now.Load(), 10)
	for _, query := range []string{"", "cluster=fleet", "alert=CassandraSlowQueries", "at=" + now} {
		list := ask(query)
		if len(list) != 1 || list[0].Alert != "CassandraSlowQueries" ||
			list[0].Case != "statement" ||
			list[0].Labels["node"] != id || list[0].Labels["severity"] != "warning" ||
			list[0].Labels["alertstate"] != "" || !strings.HasPrefix(list[0].Text,
			"The newest, of shop.orders, was slow 2 times in a minute and took up to 3 s: "+
				"SELECT ?.") {
			t.Errorf("%q: %+v", query, list)
		}
	}
	// What was said holds for half a minute, and no longer.
	f.happened = nil
	if list := ask("cluster=fleet"); len(list) != 1 {
		t.Errorf("after a moment: %+v", list)
	}
	f.live(7)
	if list := ask("cluster=fleet"); len(list) != 0 {
		t.Errorf("after half a minute: %+v", list)
	}
	for _, query := range []string{"alert=CassandraHints"} {
		if list := ask(query); len(list) != 0 {
			t.Errorf("%s: %+v", query, list)
		}
	}
	for query, want := range map[string]string{"at=soon": "bad_time", "node=1": "unknown_parameter",
		"at=1&at=2": "repeated_parameter"} {
		of, _ := url.ParseQuery(query)
		if r := f.ask(acmeKey, "/v1/advice", of); r.status != http.StatusBadRequest ||
			!strings.Contains(string(r.body), want) {
			t.Errorf("%s: %d %s", query, r.status, r.body)
		}
	}
	for key, want := range map[string]int{otherKey: 200, "": 401, writeKey: 403} {
		if r := f.ask(key, "/v1/advice", nil); r.status != want ||
			strings.Contains(string(r.body), id) {
			t.Errorf("%q: %d %s", key, r.status, r.body)
		}
	}
}

// record puts alerts that fire into the frames of rules of a cluster.
func (f *fixture) record(cluster string, alerts ...map[string]string) {
	f.Helper()
	var list []frametest.Recorded
	for _, labels := range alerts {
		labels["alertstate"] = "firing"
		list = append(list, frametest.Recorded{Name: "ALERTS", Labels: labels, Value: 1})
	}
	rules := frametest.Recorder{Account: f.account("acme"), Cluster: cluster, Group: "g",
		Interval: 15_000}
	b, err := rules.Frame(f.now.Load(), list)
	if err != nil {
		f.Fatal(err)
	}
	f.store.Put(f.account("acme"), b)
	if err := f.writer.Handle(f.Context(),
		[]stream.Record{{Account: f.account("acme"), Value: b}}); err != nil {
		f.Fatal(err)
	}
}

// TestAdviceIsOfOnesClusters: a key is told nothing of clusters that it does not see, whatever
// labels a rule gives an alert, and nothing of alerts that only keys with more clusters see.
func TestAdviceIsOfOnesClusters(t *testing.T) {
	var left roster.Roster
	f := newSafeFixture(t, &left)
	alert := func(cluster, rule string) map[string]string {
		return map[string]string{"alertname": "CassandraSlowQueries", "cluster": cluster,
			"rule": rule}
	}
	f.record("fleet", alert("fleet", "own"), alert("secret", "labelled"))
	f.record(frame.EveryCluster, alert("fleet", "of all"))
	var read []string
	f.happened = func(q events.Query) (page events.Page, err error) {
		read = append(read, q.Clusters...)
		page.Events = []events.Event{{Cluster: q.Clusters[0], Event: frame.Event{At: q.To,
			Kind: "slow_query", Text: "SELECT of " + q.Clusters[0]}}}
		return page, nil
	}
	for _, c := range []struct{ key, query, rules string }{
		{acmeKey, "", "of all own labelled"}, {fleetKey, "", "own"},
		{fleetKey, "cluster=fleet", "own"}, {acmeKey, "cluster=fleet", "of all own"},
		{fleetKey, "cluster=secret", ""},
	} {
		of, _ := url.ParseQuery(c.query)
		read = nil
		r := f.ask(c.key, "/v1/advice", of)
		var answer struct{ Advice []advice.Advice }
		if err := json.Unmarshal(r.body, &answer); err != nil {
			t.Fatalf("%d %s", r.status, r.body)
		}
		var rules []string
		for _, a := range answer.Advice {
			rules = append(rules, a.Labels["rule"])
		}
		slices.Sort(rules)
		want := strings.Fields(strings.ReplaceAll(c.rules, "of all", "of_all"))
		for i := range want {
			want[i] = strings.ReplaceAll(want[i], "_", " ")
		}
		slices.Sort(want)
		told := strings.ReplaceAll(string(r.body), `no cluster \"secret\"`, "") // as it was asked
		if !slices.Equal(rules, want) || c.key == fleetKey &&
			(strings.Contains(told, "secret") || slices.Contains(read, "secret")) {
			t.Errorf("%+v: %s, read %q", c, r.body, read)
		}
	}
}

// TestAdviceIsBounded: an answer over many clusters asks no more than one of a single cluster may,
// and silence of what could not be asked is not kept.
func TestAdviceIsBounded(t *testing.T) {
	var left roster.Roster
	f := newSafeFixture(t, &left)
	var alerts []map[string]string
	for i := range 300 {
		alerts = append(alerts, map[string]string{"alertname": "CassandraSlowQueries",
			"cluster": fmt.Sprint("c", i), "node": f.nodes[0].ID.String()})
	}
	f.record(frame.EveryCluster, alerts...)
	asked, fails := 0, errors.New("busy")
	f.happened = func(events.Query) (events.Page, error) {
		asked++
		return events.Page{}, fails
	}
	var answer any
	for _, c := range []struct {
		fails error
		asks  bool
	}{{fails, true}, {nil, true}, {nil, false}} {
		asked, fails = 0, c.fails
		if f.get("/v1/advice", nil, &answer); asked > advice.Most || asked > 0 != c.asks {
			t.Errorf("%+v: asked for events %d times", c, asked)
		}
	}
}
