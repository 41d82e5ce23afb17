package loki_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/access/listener"
	"github.com/ringwatch/ringwatch/api/loki"
	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/memory"
	"github.com/ringwatch/ringwatch/query/querytest"
	"github.com/ringwatch/ringwatch/query/selector"
	"github.com/ringwatch/ringwatch/window"
	"github.com/ringwatch/ringwatch/window/events"
)

// base is a whole second, in ms.
const base = 1_795_000_000_000

// fixture is the API over made-up events, oldest first.
type fixture struct {
	*testing.T
	mux    *http.ServeMux
	who    account.Principal
	events []events.Event
	asked  []events.Query
	page   int // how many events a page has

	refused error // what an endpoint may return that is no answer
	saw     bool  // that it did
	endless bool  // a page that has nothing says that there is more
}

var ids = []uuid.UUID{uuid.MustParse("00000000-0000-4000-8000-000000000001"),
	uuid.MustParse("00000000-0000-4000-8000-000000000002"),
	uuid.MustParse("00000000-0000-4000-8000-000000000003")}

func newFixture(t *testing.T) *fixture {
	f := &fixture{T: t, mux: http.NewServeMux(), page: 3,
		who: querytest.Principal(t, "acme", "prod-*")}
	selectors, err := selector.New(selector.DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	api := loki.New(loki.Deps{Events: f.read, Selectors: selectors,
		Clock: func() time.Time { return time.UnixMilli(base) },
		Nodes: func(_ context.Context, p account.Principal) (list []window.Node, err error) {
			for i, cluster := range []string{"prod-a", "prod-b", "other"} {
				if p.Owns(cluster) {
					list = append(list, window.Node{ID: ids[i], Cluster: cluster})
				}
			}
			return list, nil
		}})
	for _, r := range api.Routes() {
		f.mux.HandleFunc(r.Pattern, func(w http.ResponseWriter, q *http.Request) {
			if err := r.Handle(w, q, f.who); err != nil {
				if f.saw = f.refused != nil && errors.Is(err, f.refused); f.saw {
					return
				}
				e, is := errors.AsType[*listener.Error](err)
				if !is {
					t.Fatal(err)
				}
				r.Fail(w, q, e)
			}
		})
	}
	return f
}

// say adds an event of the node with a number, so many seconds before now.
func (f *fixture) say(node int, seconds int64, kind string, severity frame.Severity, text string,
	labels ...frame.Label) {
	f.events = append(f.events, events.Event{Event: frame.Event{At: base - 1000*seconds, Kind: kind,
		Severity: severity, Text: text, Labels: labels}, Node: ids[node],
		Cluster: []string{"prod-a", "prod-b", "other"}[node], FrameAt: base})
	slices.SortStableFunc(f.events, func(x, y events.Event) int { return int(x.At - y.At) })
}

// read answers as the store does, by small pages.
func (f *fixture) read(_ context.Context, account string,
	q events.Query) (p events.Page, err error) {
	f.asked = append(f.asked, q)
	if f.endless {
		next := events.NewerThan(base - int64(len(f.asked)))
		return events.Page{Next: &next}, nil
	}
	if account != "acme" {
		f.Errorf("asked of %s", account)
	}
	var list []events.Event
	match := q.Matcher()
	for _, e := range f.events {
		if slices.Contains(q.Clusters, e.Cluster) && e.At >= q.From && e.At <= q.To && match(&e) {
			list = append(list, e)
		}
	}
	if q.After == nil {
		slices.Reverse(list)
	}
	for _, e := range list {
		id := e.ID()
		if q.After != nil && id.Compare(*q.After) >= 0 ||
			q.Before != nil && id.Compare(*q.Before) <= 0 {
			continue
		}
		if len(p.Events) == min(f.page, q.Limit) {
			last := p.Events[len(p.Events)-1].ID()
			p.Next = &last
			return p, nil
		}
		p.Events = append(p.Events, e)
	}
	return p, nil
}

func (f *fixture) get(path string, values url.Values) (int, string) {
	f.Helper()
	w := httptest.NewRecorder()
	f.mux.ServeHTTP(w, httptest.NewRequest(http.MethodGet,
		"/loki/api/v1/"+path+"?"+values.Encode(), nil))
	return w.Code, strings.TrimSpace(w.Body.String())
}

// lines are those of a query_range, by stream as kind@cluster.
func (f *fixture) lines(values url.Values) string {
	f.Helper()
	code, body := f.get("query_range", values)
	var got struct {
		Status string
		Data   struct {
			ResultType string
			Result     []struct {
				Stream map[string]string
				Values [][2]string
			}
		}
		Warnings []string
	}
	if err := json.Unmarshal([]byte(body), &got); err != nil || code != 200 ||
		got.Status != "success" || got.Data.ResultType != "streams" || got.Data.Result == nil {
		f.Fatalf("%d %s", code, body)
	}
	var list []string
	for _, s := range got.Data.Result {
		if len(s.Stream) != 4 || s.Stream["node"] == "" || s.Stream["severity"] == "" {
			f.Errorf("%v", s.Stream)
		}
		for _, v := range s.Values {
			if !strings.HasSuffix(v[0], "000000") || len(v[0]) != 19 {
				f.Errorf("time %s", v[0])
			}
			list = append(list, s.Stream["kind"]+"@"+s.Stream["cluster"]+": "+v[1])
		}
	}
	if got.Warnings != nil {
		list = append(list, "WARNED")
	}
	return strings.Join(list, "; ")
}

func (f *fixture) some() {
	f.say(0, 50, "slow_query", frame.Warning, "SELECT a FROM t",
		frame.Label{Name: "keyspace", Value: "shop"}, frame.Label{Name: "table", Value: `o"x y`})
	f.say(1, 40, "gc_pause", frame.Info, "", frame.Label{Name: "gc", Value: "G1"})
	f.say(2, 30, "start", frame.Info, "secret")
	f.say(0, 20, "node_down", frame.Error, "10.0.0.2 is down\x1b[2J")
	f.say(0, 10, "gc_pause", frame.Info, "paused")
}

// TestLines: selectors, filters, order, limits and times.
func TestLines(t *testing.T) {
	f := newFixture(t)
	f.some()
	const slow = `slow_query@prod-a: SELECT a FROM t keyspace=shop table="o\"x y"`
	const down = "node_down@prod-a: 10.0.0.2 is down\x1b[2J"
	for _, c := range []struct{ query, more, want string }{
		{`{cluster=~".+"}`, "", "gc_pause@prod-a: paused; " + down + "; gc_pause@prod-b: gc=G1; " +
			slow},
		{`{cluster="prod-a"}`, "direction=forward",
			slow + "; " + down + "; gc_pause@prod-a: paused"},
		{`{cluster="prod-a"}`, "limit=1", "gc_pause@prod-a: paused"},
		{`{cluster="prod-a"}`, "limit=1&direction=FORWARD", slow},
		{`{cluster="other"}`, "", ""},
		{`{cluster=~"prod-.", kind=~"slow_query|node_down"}`, "", down + "; " + slow},
		{`{cluster!="prod-a"}`, "", "gc_pause@prod-b: gc=G1"},
		{`{severity="error"}`, "", down},
		{`{severity!="info"} != "SELECT"`, "", down},
		{`{node="` + ids[1].String() + `"}`, "", "gc_pause@prod-b: gc=G1"},
		{`{node="nosuch"}`, "", ""},
		{`{cluster="prod-a"} |= "SELECT" |= ` + "`shop`", "", slow},
		{"{cluster=\"prod-a\"} |= ``", "limit=1", "gc_pause@prod-a: paused"},
		{`{cluster="prod-a"} |~ "(?i)select|DOWN" !~ "down"`, "", slow},
		{`{kind="gc_pause"} # a comment`, "", "?400"},
		{`{cluster="prod-a"}`, "start=1794999975&end=1794999980000000000", ""},
		{`{cluster="prod-a"}`, "start=1794999980&end=1794999980000000001", down},
		{`{cluster="prod-a"}`, "since=15s", "gc_pause@prod-a: paused"},
	} {
		more, err := url.ParseQuery(c.more)
		if err != nil {
			t.Fatal(err)
		}
		more.Set("query", c.query)
		if c.want == "?400" {
			if code, body := f.get("query_range", more); code != 400 {
				t.Errorf("%s: %d %s", c.query, code, body)
			}
			continue
		}
		if got := f.lines(more); got != c.want {
			t.Errorf("%s %s:\n%q\n%q", c.query, c.more, got, c.want)
		}
	}
	for _, q := range f.asked {
		if slices.Contains(q.Clusters, "other") || len(q.Clusters) == 0 {
			t.Errorf("asked for %v", q.Clusters)
		}
	}
}

// TestRefused: what is not answered gets one sentence as text.
func TestRefused(t *testing.T) {
	f := newFixture(t)
	f.some()
	for query, want := range map[string]string{
		"": "begins with a stream selector", "up": "begins with a stream selector",
		`{`: "does not end", `{cluster="a`: "does not end", `{}`: "",
		`{cluster="a"} | json`:                          "is not answered here: use",
		`{cluster="a"} |= x`:                            "no text in quotes",
		`{cluster="a"} |~ "("`:                          "missing",
		`{cluster=~"("}`:                                "missing",
		`{app="a"}`:                                     `there is no label "app"`,
		`{__name__="a"}`:                                `there is no label "__name__"`,
		`rate({cluster="a"}[5m])`:                       "begins with a stream selector",
		`sum(count_over_time({cluster="a"}[0s]))`:       "is no duration",
		`{cluster=~"(a{1000}){1000}"}`:                  "",
		`{cluster="a"}` + strings.Repeat(` |= "x"`, 20): "16 line filters",
	} {
		code, body := f.get("query_range", url.Values{"query": {query}})
		if code != 400 && query != "{}" || !strings.Contains(body, want) ||
			strings.Contains(body, "{\"") &&
				query != "{}" {
			t.Errorf("%s: %d %s", query, code, body)
		}
	}
	for of, want := range map[string]string{"limit=0": "limit must", "limit=5001": "limit must",
		"direction=up": "direction must", "start=x": "start is not a time",
		"end=-1": "end is not a time", "since=-1h": "since is not a duration",
		"start=3&end=2": "end is before start"} {
		values, err := url.ParseQuery(of)
		if err != nil {
			t.Fatal(err)
		}
		values.Set("query", `{cluster="a"}`)
		if code, body := f.get("query_range", values); code != 400 ||
			!strings.Contains(body, want) {
			t.Errorf("%s: %d %s", of, code, body)
		}
	}
	if code, body := f.get("query", url.Values{"query": {`{cluster="a"}`}}); code != 400 ||
		!strings.Contains(body, "instant query type") {
		t.Errorf("%d %s", code, body)
	}
}

// TestVolume: what Grafana asks for the histogram above lines, and its check of a data source.
func TestVolume(t *testing.T) {
	f := newFixture(t)
	f.some()
	volume := url.Values{"query": {"sum by (level, detected_level) (count_over_time(" +
		`{cluster=~"prod-.+"} |= ` + "`` | drop __error__[20s]))"}, "step": {"20"},
		"start": {"1794999940000000000"}, "end": {"1795000000000000000"}}
	code, body := f.get("query_range", volume)
	want := `{"status":"success","data":{"resultType":"matrix","result":[` +
		`{"metric":{"detected_level":"warning"},"values":[[1794999960,"1"]]},` +
		`{"metric":{"detected_level":"info"},"values":[[1794999960,"1"],[1795000000,"1"]]},` +
		`{"metric":{"detected_level":"error"},"values":[[1794999980,"1"]]}],"stats":{}}}`
	if code != 200 || body != want {
		t.Errorf("%d %s\n%s", code, body, want)
	}
	code, body = f.get("query", url.Values{"query": {"vector(1)+vector(1)"}})
	if code != 200 || body != `{"status":"success","data":{"resultType":"vector","result":[`+
		`{"metric":{},"value":[1795000000,"2"]}],"stats":{}}}` {
		t.Errorf("%d %s", code, body)
	}
	code, body = f.get("query", url.Values{
		"query": {`sum(rate({cluster="prod-a"}[1m])) by (cluster, kind)`}, "time": {"1795000000"}})
	if code != 200 || strings.Count(body, `"0.016666666666666666"`) != 3 ||
		!strings.Contains(body, `{"cluster":"prod-a","kind":"gc_pause"}`) {
		t.Errorf("%d %s", code, body)
	}
	volume.Set("step", "0.001")
	if code, body = f.get("query_range", volume); code != 400 || !strings.Contains(body, "steps") {
		t.Errorf("%d %s", code, body)
	}
}

// TestBounded: lines that were found come with a warning, and counts are refused.
func TestBounded(t *testing.T) {
	f := newFixture(t)
	f.page = 1000
	for i := range 12_000 {
		f.say(0, 1+int64(i%3000), "error", frame.Error, fmt.Sprint("number ", i))
	}
	if got := f.lines(url.Values{"query": {`{cluster="prod-a"} |= "number 2999"`}}); got !=
		"WARNED" {
		t.Errorf("%q", got)
	}
	if n := len(f.asked); n != 10 {
		t.Errorf("%d pages", n)
	}
	code, body := f.get("query_range", url.Values{
		"query": {`sum by (kind) (count_over_time({cluster="prod-a"}[1m]))`}})
	if code != 400 || !strings.Contains(body, "more than 10000 events") {
		t.Errorf("%d %s", code, body)
	}
}

// TestEndless: a question ends, however often the store says that there is more.
func TestEndless(t *testing.T) {
	f := newFixture(t)
	f.endless = true
	selector := url.Values{"query": {`{cluster="prod-a"}`}, "match[]": {`{cluster="prod-a"}`}}
	if got := f.lines(selector); got != "WARNED" {
		t.Errorf("%q", got)
	}
	code, body := f.get("query", url.Values{
		"query": {`sum(count_over_time({cluster="prod-a"}[1m]))`}})
	if code != 400 || !strings.Contains(body, "are to be counted") {
		t.Errorf("%d %s", code, body)
	}
	for _, path := range []string{"label/kind/values", "series", "index/stats"} {
		if code, body := f.get(path, selector); code != 200 {
			t.Errorf("%s: %d %s", path, code, body)
		}
	}
	if n := len(f.asked); n != 5*50 {
		t.Errorf("%d pages for five questions", n)
	}
}

// TestManyStreams: an answer of counts has a bounded number of series, and lists are of a bounded
// number of events, whatever nodes call what happens.
func TestManyStreams(t *testing.T) {
	f := newFixture(t)
	f.page = 1000
	for i := range 6000 {
		f.say(0, int64(i%3000), fmt.Sprint("kind_", i), frame.Error, "")
	}
	code, body := f.get("query", url.Values{
		"query": {`sum by (kind) (count_over_time({cluster="prod-a"}[1h]))`}})
	if code != 400 || !strings.Contains(body, "more than 5000 series") {
		t.Errorf("%d %.200s", code, body)
	}
	for path, name := range map[string]string{"label/kind/values": `"kind_`, "series": `"kind":`} {
		code, body := f.get(path, nil)
		if n := strings.Count(body, name); code != 200 || n != 2000 {
			t.Errorf("%s: %d, %d of them", path, code, n)
		}
	}
}

// TestHostileRegexp: an expression that takes megabytes when it is compiled is refused before, as a
// matcher and as a filter.
func TestHostileRegexp(t *testing.T) {
	f := newFixture(t)
	f.some()
	const hostile = `((a{100}){100}){50}`
	for _, query := range []string{`{kind=~"` + hostile + `"}`, `{kind!~"` + hostile + `"}`,
		`{cluster="prod-a"} |~ "` + hostile + `"`, `{cluster="prod-a"} !~ "` + hostile + `"`,
		`sum(count_over_time({cluster="prod-a"} |~ "` + hostile + `" [1m]))`} {
		lease := memory.Bounded(1 << 20)
		w := httptest.NewRecorder()
		f.mux.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/loki/api/v1/query_range?"+
			url.Values{"query": {query}}.Encode(),
			nil).WithContext(memory.With(t.Context(), lease)))
		if w.Code != 400 || len(f.asked) > 0 {
			t.Errorf("%s: %d %.200s", query, w.Code, w.Body)
		}
	}
}

// TestLists: labels, values, series and stats.
func TestLists(t *testing.T) {
	f := newFixture(t)
	f.some()
	for of, want := range map[string]string{
		"labels":                `{"status":"success","data":["cluster","kind","node","severity"]}`,
		"label/cluster/values":  `{"status":"success","data":["prod-a","prod-b"]}`,
		"label/severity/values": `{"status":"success","data":["error","info","warning"]}`,
		"label/kind/values":     `{"status":"success","data":["gc_pause","node_down","slow_query"]}`,
		"label/nosuch/values":   `{"status":"success","data":[]}`,
		"label/node/values": `{"status":"success","data":["` + ids[0].String() + `","` +
			ids[1].String() + `"]}`,
	} {
		if code, body := f.get(of, nil); code != 200 || body != want {
			t.Errorf("%s: %d %s", of, code, body)
		}
	}
	code, body := f.get("label/kind/values", url.Values{"query": {`{cluster="prod-b"}`}})
	if code != 200 || body != `{"status":"success","data":["gc_pause"]}` {
		t.Errorf("%d %s", code, body)
	}
	code, body = f.get("series", url.Values{"match[]": {`{kind="gc_pause"}`}})
	if code != 200 || strings.Count(body, `"kind":"gc_pause"`) != 2 ||
		strings.Contains(body, "slow") {
		t.Errorf("%d %s", code, body)
	}
	if code, body = f.get("series", url.Values{"match[]": {"{}", "{}"}}); code != 400 {
		t.Errorf("%d %s", code, body)
	}
	code, body = f.get("index/stats", url.Values{"query": {`{cluster="prod-b"}`}})
	if code != 200 || body != `{"bytes":5,"chunks":1,"entries":1,"streams":1}` {
		t.Errorf("%d %s", code, body)
	}
}

// TestCounts: a question for counts takes what its account may have at most, and is not long.
func TestCounts(t *testing.T) {
	f := newFixture(t)
	f.page = 1000
	for i := range 200 {
		f.say(0, int64(i), fmt.Sprint("kind_", i), frame.Error, strings.Repeat("long ", 200))
	}
	ask := func(ctx context.Context, by string, step string) (int, string) {
		w := httptest.NewRecorder()
		f.mux.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/loki/api/v1/query_range?"+
			url.Values{"step": {step}, "query": {"sum by (" + by +
				`) (count_over_time({cluster="prod-a"}[30d]))`}}.Encode(), nil).WithContext(ctx))
		return w.Code, w.Body.String()
	}
	if code, body := ask(t.Context(), "kind", "0.4"); code != 400 ||
		!strings.Contains(body, "more than 1000000 points") {
		t.Errorf("%d %.200s", code, body)
	}
	var names []string
	for i := range 4000 {
		names = append(names, fmt.Sprint("n", i))
	}
	few := memory.Bounded(4 << 20)
	code, body := ask(memory.With(t.Context(), few), strings.Join(names, ",")+", severity", "60")
	if code != 200 || !strings.Contains(body, `"metric":{"severity":"error"}`) {
		t.Errorf("%d %.200s", code, body)
	}
	if n := few.Taken(); n > 300<<10 {
		t.Errorf("%d bytes for events of which only the labels are needed", n)
	}
	f.refused = memory.ErrTooLarge
	if ask(memory.With(t.Context(), memory.Bounded(4<<20)), "kind", "1"); !f.saw {
		t.Error("nothing is refused")
	}
	ended, end := context.WithCancel(t.Context())
	end()
	f.refused, f.saw = context.Canceled, false
	if ask(ended, "kind", "60"); !f.saw {
		t.Error("it goes on after its time")
	}
}

// TestLongLines: lines take memory of the account, and a bounded number of bytes.
func TestLongLines(t *testing.T) {
	f := newFixture(t)
	f.page = 1000
	label := strings.Repeat("\x01", 1000)
	var labels []frame.Label
	for i := range 16 {
		labels = append(labels, frame.Label{Name: fmt.Sprint("l", i), Value: label})
	}
	for i := range 1000 {
		f.say(0, int64(i), "error", frame.Error, "", labels...)
	}
	lease := memory.Bounded(1 << 30)
	w := httptest.NewRecorder()
	f.mux.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/loki/api/v1/query_range?"+
		url.Values{"query": {`{cluster="prod-a"}`}, "limit": {"5000"}}.Encode(),
		nil).WithContext(memory.With(t.Context(), lease)))
	n := int64(w.Body.Len())
	if w.Code != 200 || n > 100<<20 || lease.Taken() < n ||
		!strings.Contains(w.Body.String()[n-300:], "warnings") {
		t.Errorf("%d: %d bytes, %d taken", w.Code, n, lease.Taken())
	}
}
