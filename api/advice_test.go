package api_test

import (
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
	"github.com/ringwatch/ringwatch/window/events"
)

// slowOn tells of a slow query on one node.
func slowOn(id uuid.UUID) func(events.Query) events.Page {
	return func(q events.Query) (page events.Page) {
		if slices.Equal(q.Kinds, []string{"slow_query"}) && slices.Equal(q.Nodes, []uuid.UUID{id}) &&
			slices.Equal(q.Clusters, []string{"fleet"}) {
			page.Events = []events.Event{{Cluster: "fleet", Node: id, Event: frame.Event{
				At: q.To - time.Minute.Milliseconds(), Kind: "slow_query", Text: "SELECT ?",
				Labels: []frame.Label{{Name: "keyspace", Value: "shop"},
					{Name: "slowest_seconds", Value: "3"}, {Name: "table", Value: "orders"},
					{Name: "times", Value: "2"}}}}}
		}
		return page
	}
}

// TestAdvice asks by the API over frames: what is said of alerts, what is refused, and what another
// account is told.
func TestAdvice(t *testing.T) {
	var left roster.Roster
	alerts := frame.Template{Type: "alert", Labels: []string{"alertname", "alertstate", "severity"},
		Metrics: []frame.Metric{{Name: "ALERTS", Kind: frame.Gauge}}}
	f := newSafeFixture(t, &left, said{alerts, []string{"CassandraSlowQueries", "firing", "warning"},
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
		if len(list) != 1 || list[0].Alert != "CassandraSlowQueries" || list[0].Case != "statement" ||
			list[0].Labels["node"] != id || list[0].Labels["severity"] != "warning" ||
			list[0].Labels["alertstate"] != "" || !strings.HasPrefix(list[0].Text,
			"The newest, of shop.orders, was slow 2 times in a minute and took up to 3 s: SELECT ?.") {
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
	for _, query := range []string{"cluster=other", "alert=CassandraHints", `cluster="}`} {
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
