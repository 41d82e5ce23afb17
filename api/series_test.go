package api_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	gocql "github.com/apache/cassandra-gocql-driver/v2"
	"github.com/google/uuid"

	"github.com/ringwatch/ringwatch/api"
	"github.com/ringwatch/ringwatch/api/reply"
	"github.com/ringwatch/ringwatch/frame/frametest"
	"github.com/ringwatch/ringwatch/window"
)

// TestSeries: from frames by way of a real Cassandra to /v1/series, over two days: tables come
// and go, a node comes, Cassandra goes and comes, the API restarts; another account sees nothing
// of it.
func TestSeries(t *testing.T) {
	f := newSeriesFixture(t, func(c *api.Config) { c.MaxSeries = 48 })
	const all = `{node=~".+"}`
	const minute, day = int64(60_000), int64(24 * 60 * 60_000)
	monday := f.now.Load() - f.now.Load()%day - 3*day + day/2 // noon, three days ago
	tuesday := monday + day
	asTime := func(at int64) string { return strconv.FormatInt(at, 10) }

	r := f.ask(acmeKey, "/v1/series", values([]string{"match[]", all}))
	if r.status != http.StatusServiceUnavailable || r.header.Get("Retry-After") == "" ||
		!strings.Contains(string(r.body), "loading") {
		t.Errorf("before it is loaded: %d %s", r.status, r.body)
	}
	if ready := f.ask("", "/-/ready", nil); ready.status != http.StatusOK ||
		!strings.Contains(string(ready.body), `"series":"loading`) {
		t.Errorf("ready: %d %s", ready.status, ready.body)
	}

	a, b, theirs := frametest.New("fleet-0", 1, 3), frametest.New("fleet-1", 2,
		2), frametest.New("fleet-0", 3, 1)
	addTable(theirs, "secret")
	f.say("acme", monday, a, b)
	f.say("other", monday, theirs)
	f.refresh()
	got, header := f.found(acmeKey, "match[]", all)
	f.same("at first", got, everythingOf(a, b))
	if header.Get(reply.TotalHeader) != strconv.Itoa(len(got)) ||
		header.Get(reply.PartialHeader) != "" {
		t.Errorf("headers %v", header)
	}
	got, _ = f.found(otherKey, "match[]", all)
	f.same("of the other account", got, everythingOf(theirs))
	if list := f.list(acmeKey, "/v1/label/table/values"); !slices.Equal(list,
		[]string{"table_0", "table_1", "table_2"}) {
		t.Errorf("tables %v", list)
	}
	if list := f.list(otherKey, "/v1/label/table/values"); !slices.Equal(list,
		[]string{"secret", "table_0"}) {
		t.Errorf("the other's tables %v", list)
	}
	if list := f.list(acmeKey, "/v1/label/cluster/values", "match[]",
		`{table="table_2"}`); !slices.Equal(list, []string{"fleet-0"}) {
		t.Errorf("clusters with table_2: %v", list)
	}
	if list := f.list(acmeKey, "/v1/labels"); !slices.Equal(list,
		[]string{"__name__", "cluster", "datacenter", "keyspace", "node", "rack", "request",
			"table"}) {
		t.Errorf("labels %v", list)
	}
	if list := f.list(acmeKey, "/v1/labels", "match[]", `{request="Read"}`); !slices.Equal(list,
		[]string{"__name__", "cluster", "datacenter", "node", "rack", "request"}) {
		t.Errorf("labels of requests %v", list)
	}

	addTable(a, "brand_new")
	f.say("acme", monday+10*minute, a, b)
	f.refresh()
	got, _ = f.found(acmeKey, "match[]", `{table="brand_new"}`, "match[]",
		`{cluster="fleet-1",table=~"table_.",__name__!~".*latency.*"}`)
	want := everythingOf(a).where("brand_new")
	for text := range everythingOf(b).where(`table="table_`) {
		if !strings.Contains(text, "latency") {
			want[text] = true
		}
	}
	f.same("a new table or others", got, want)
	ofMonday := everythingOf(a, b)

	a.Entities[1] = a.Entities[1][1:] // table_0 is dropped
	f.say("acme", tuesday, a, b)
	f.refresh()
	got, _ = f.found(acmeKey, "match[]", all)
	f.same("without a time", got, everythingOf(a, b))
	got, _ = f.found(acmeKey, "match[]", all, "from", asTime(monday-minute), "to",
		asTime(monday+minute))
	f.same("of monday", got, ofMonday)
	got, _ = f.found(acmeKey, "match[]", `{table="table_0"}`, "from", asTime(tuesday-30*minute))
	f.same("of tuesday", got, everythingOf(b).where(`table="table_0"`))
	got, _ = f.found(acmeKey, "match[]", `{table="table_0"}`, "from", asTime(monday))
	f.same("of both days", got, ofMonday.where(`table="table_0"`))
	got, _ = f.found(acmeKey, "match[]", all, "from", asTime(monday-2*day), "to",
		asTime(monday-day))
	f.same("before there was anything", got, sets{})

	if err := f.node.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	f.now.Add(minute)
	if err := f.state.Load().Refresh(t.Context()); err == nil {
		t.Error("a refresh without Cassandra says nothing")
	}
	got, _ = f.found(acmeKey, "match[]", all)
	f.same("while Cassandra is away", got, everythingOf(a, b))
	if ready := f.ask("", "/-/ready", nil); ready.status != http.StatusServiceUnavailable ||
		!strings.Contains(string(ready.body), `"series":"as of `) {
		t.Errorf("ready without Cassandra: %d %s", ready.status, ready.body)
	}
	if err := f.node.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	c := frametest.New("fleet-1", 4, 2) // a node joins
	addTable(b, "after_all")
	f.say("acme", tuesday+20*minute, a, b, c)
	// not all connections are there yet
	for deadline := time.Now().Add(2 * time.Minute); f.state.Load().Refresh(t.Context()) != nil; {
		if time.Now().After(deadline) {
			t.Fatal("it does not load: ", f.state.Load().State())
		}
	}
	if s := f.state.Load().State(); s != "ok" {
		t.Error("after all it says", s)
	}
	check := func(what string) {
		t.Helper()
		got, _ := f.found(acmeKey, "match[]", `{cluster="fleet-0"}`)
		f.same(what, got, everythingOf(a))
		got, _ = f.found(acmeKey, "match[]", `{cluster="fleet-1"}`)
		f.same(what, got, everythingOf(b, c))
		got, _ = f.found(otherKey, "match[]", all, "from", asTime(monday))
		f.same(what, got, everythingOf(theirs))
		got, _ = f.found(acmeKey, "match[]", `{table=~"table_0|brand_new|after_all"}`, "from",
			asTime(monday))
		f.same(what, got,
			ofMonday.and(everythingOf(a, b, c)).where("table_0").and(
				everythingOf(a).where("brand_new")).and(everythingOf(b).where("after_all")))
	}
	check("after Cassandra's restart")
	testSeriesWhileLoading(t, f, a, b, c, check)
	testSeriesRefusals(t, f)
	testSeriesDamaged(t, f, a)
	if r := f.ask(writeKey, "/v1/series", values([]string{"match[]", all})); r.status !=
		http.StatusForbidden {
		t.Errorf("without the scope: %d", r.status)
	}
}

// testSeriesWhileLoading restarts the API: a node that cannot be read yet is missing in the
// answers, which say so; then all is as before.
func testSeriesWhileLoading(t *testing.T, f *seriesFixture, a, b, c *frametest.Node,
	check func(string)) {
	release := make(chan struct{})
	slow := f.source()
	of := slow.Dictionaries
	slow.Dictionaries = func(ctx context.Context, account string, node uuid.UUID,
		from int64) ([]window.DictionaryID, error) {
		if node == a.ID {
			<-release
		}
		return of(ctx, account, node, from)
	}
	loader := f.restart(slow)
	done := make(chan error, 1)
	go func() { done <- loader.Refresh(t.Context()) }()
	for deadline := time.Now().Add(2 * time.Minute); ; {
		r := f.ask(acmeKey, "/v1/series",
			values([]string{"match[]", `{cluster=~"fleet-.",table="table_1"}`}))
		// b's and c's, four metrics each; a node counts as missing until shortly after it is there
		missing := r.header.Get(reply.PartialHeader)
		if r.status == http.StatusOK && (missing == "" ||
			strings.Contains(string(r.body), a.ID.String())) {
			t.Fatalf("while loading: %v %s", r.header, r.body)
		}
		if strings.Count(string(r.body), "__name__") == 8 && missing == "1" {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("it is not loaded: %d %s", r.status, r.body)
		}
	}
	// the other account is loaded beside it
	for deadline := time.Now().Add(2 * time.Minute); loader.State() !=
		"loading, 1 nodes are missing"; {
		if time.Now().After(deadline) {
			t.Fatal("while loading it says ", loader.State())
		}
	}
	close(release)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	check("after a restart of the API")
}

func testSeriesRefusals(t *testing.T, f *seriesFixture) {
	const match = "match[]=%7Bnode%3D~%22.%2B%22%7D"
	for _, c := range []struct{ path, reason, field string }{
		{"/v1/series", "no_match", "match[]"},
		{"/v1/series?" + match, "too_many_series", "match[]"},
		{"/v1/series?match[]=%7B", "bad_matcher", "match[]"},
		{"/v1/labels?match[]=rate(x%5B1m%5D)", "bad_matcher", "match[]"},
		{"/v1/series?" + strings.Repeat("match[]=x&", 33), "too_many_metrics", "match[]"},
		{"/v1/series?match=x", "unknown_parameter", "match"},
		{"/v1/series?" + match + "&limit=0", "bad_limit", "limit"},
		{"/v1/series?" + match + "&limit=49", "bad_limit", "limit"},
		{"/v1/labels?limit=many", "bad_limit", "limit"},
		{"/v1/series?" + match + "&from=yesterday", "bad_time", "from"},
		{"/v1/series?" + match + "&from=2&to=1", "bad_time", "from"},
		{"/v1/series?" + match + "&period=400d", "range_too_wide", "period"},
		{"/v1/label/a-b/values", "bad_label", "name"},
	} {
		r := f.ask(acmeKey, c.path, nil)
		var e struct {
			Error struct{ Reason, Field, Message string }
		}
		if err := json.Unmarshal(r.body, &e); err != nil || r.status != http.StatusBadRequest ||
			e.Error.Reason != c.reason || e.Error.Field != c.field || e.Error.Message == "" {
			t.Errorf("%s: %d %s, want %s %s", c.path, r.status, r.body, c.reason, c.field)
		}
	}
	got, header := f.found(acmeKey, "match[]", `{node=~".+"}`, "limit", "7")
	if total, _ := strconv.Atoi(header.Get(reply.TotalHeader)); len(got) != 7 || total <= 48 {
		t.Errorf("%d series, %v", len(got), header)
	}
	if list := f.list(acmeKey, "/v1/label/table/values", "limit", "2"); len(list) != 2 {
		t.Error(list)
	}
	if list := f.list(acmeKey, "/v1/label/nosuch/values"); list == nil || len(list) != 0 {
		t.Error(list)
	}
}

// testSeriesDamaged damages a dictionary in Cassandra: what it says is missing after a restart of
// the API, and answers say that something is.
func testSeriesDamaged(t *testing.T, f *seriesFixture, a *frametest.Node) {
	host, port, err := net.SplitHostPort(f.node.Addr())
	if err != nil {
		t.Fatal(err)
	}
	cluster := gocql.NewCluster(host)
	cluster.Port, _ = strconv.Atoi(port)
	cluster.Keyspace, cluster.Timeout = f.config.Keyspace, time.Minute
	session, err := cluster.CreateSession()
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	type row struct {
		day  int64
		hash []byte
	}
	var rows []row
	iter := session.Query("SELECT day, hash FROM series WHERE account = ? AND node = ? AND "+
		"entity_type = 'client_request' ALLOW FILTERING", f.account("acme"),
		gocql.UUID(a.ID)).IterContext(t.Context())
	for r := (row{}); iter.Scan(&r.day, &r.hash); r = (row{}) {
		rows = append(rows, r)
	}
	if err := iter.Close(); err != nil || len(rows) != 2 {
		t.Fatalf("%d rows on two days: %v", len(rows), err)
	}
	for _, r := range rows {
		err := session.Query("UPDATE series SET blob = 0xff WHERE account = ? AND node = ? AND "+
			"day = ? AND entity_type = 'client_request' AND hash = ?",
			f.account("acme"), gocql.UUID(a.ID), r.day, r.hash).ExecContext(t.Context())
		if err != nil {
			t.Fatal(err)
		}
	}
	f.restart(f.source())
	f.refresh()
	got, header := f.found(acmeKey, "match[]", `{cluster="fleet-0"}`)
	want := everythingOf(a)
	maps.DeleteFunc(want, func(text string, _ bool) bool {
		return strings.Contains(text, "request=")
	})
	f.same("with a damaged dictionary", got, want)
	if header.Get(reply.PartialHeader) != "1" {
		t.Errorf("it does not say that something is missing: %v", header)
	}
	if s := fmt.Sprint(f.index.Load().Stats().Missing); s != "1" {
		t.Error("missing:", s)
	}
}
