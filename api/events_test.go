package api_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ringwatch/ringwatch/api"
	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/frame/frametest"
	"github.com/ringwatch/ringwatch/store"
	"github.com/ringwatch/ringwatch/stream"
)

// eventsFixture is an API over a directory of rows, to which frames come as from the stream.
type eventsFixture struct {
	*fixture
	writer *store.Writer
	offset int64
}

func newEventsFixture(t *testing.T) *eventsFixture {
	f := &eventsFixture{fixture: &fixture{T: t, metrics: prometheus.NewRegistry()}}
	f.now.Store(time.Now().UnixMilli())
	c := store.DefaultConfig()
	c.Dir, c.Now, c.Log = t.TempDir(), f.clock, slog.New(slog.DiscardHandler)
	db, err := store.New(c, store.NewMetrics(f.metrics))
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Connect(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	if err := db.Apply(t.Context()); err != nil {
		t.Fatal(err)
	}
	f.writer = store.NewWriter(db)
	f.start(inMemory, realStore{db}.sources(), api.Deps{
		StoreReady: func(context.Context) error { return db.Ready(t.Context()) },
		Events:     realStore{db}.Events})
	return f
}

// tell makes a node of an account say what happened, all of it at the frame's time.
func (f *eventsFixture) tell(account string, n *frametest.Node, at int64, list ...frame.Event) {
	f.Helper()
	for _, e := range list {
		e.At = at
		n.Events = append(n.Events, e)
	}
	f.take(account, n.Frame(at))
}

// take gives the store a frame.
func (f *eventsFixture) take(account string, b []byte) {
	f.Helper()
	f.offset++
	if err := f.writer.Handle(f.Context(), []stream.Record{{Account: f.account(account),
		Offset: f.offset, Value: b}}); err != nil {
		f.Fatal(err)
	}
}

// told is an answer of /v1/events.
type told struct {
	Events []struct {
		ID, Cluster, Node, Name, Kind, Severity, Text string
		At                                            time.Time
		Labels                                        map[string]string
		Nodes                                         int
		Also                                          []string
	}
	Next string
	More bool
}

func (a *told) texts() string {
	var list []string
	for _, e := range a.Events {
		list = append(list, e.Text)
	}
	return strings.Join(list, " ")
}

func (f *eventsFixture) events(key string, asked ...string) (a told) {
	f.Helper()
	r := f.ask(key, "/v1/events", values(asked))
	if err := json.Unmarshal(r.body, &a); err != nil || r.status != http.StatusOK {
		f.Fatalf("%v: %d %s", asked, r.status, r.body)
	}
	return a
}

func saidEvent(text string, severity frame.Severity, kind string, labels ...string) frame.Event {
	e := frame.Event{Text: text, Severity: severity, Kind: kind}
	for i := 0; i < len(labels); i += 2 {
		e.Labels = append(e.Labels, frame.Label{Name: labels[i], Value: labels[i+1]})
	}
	return e
}

// TestEvents: each filter, pages from either end, nodes by their names, and no account sees
// another's, whatever it asks for.
func TestEvents(t *testing.T) {
	f := newEventsFixture(t)
	now := f.now.Load()
	a, b := frametest.New("prod", 1, 1), frametest.New("test", 2, 1)
	theirs := frametest.New("prod", 3, 1) // another account may call its cluster so, too
	f.tell("acme", a, now-40_000, saidEvent("one", frame.Info, "start"),
		saidEvent("two", frame.Error, "error", "keyspace", "shop"))
	f.tell("acme", b, now-30_000, saidEvent("three", frame.Warning, "gc_pause"))
	f.tell("acme", a, now-20_000, saidEvent("four", frame.Warning, "node_down"))
	f.tell("other", theirs, now-10_000, saidEvent("secret", frame.Error, "error"))
	from := fmt.Sprint(now - 35_000)
	for _, c := range []struct{ want, asked string }{
		{"four three two one", ""},
		{"four two one", "cluster=prod"},
		{"three", "node=" + b.ID.String()},
		{"three", "node=10.0.0.2"},
		{"four two one", "node=" + a.ID.String()[:6]},
		{"", "node=" + theirs.ID.String()},
		{"four three", "kind=gc_pause,node_down,stop"},
		{"four three two", "severity=warning"},
		{"two", "severity=error"},
		{"three", "text=REE"},
		{"two", "text=Shop"},
		{"four three", "from=" + from},
		{"two one", "to=" + from},
		{"four", "period=25s"},
		{"three two one", "period=35s&to=" + fmt.Sprint(now-25_000)},
		{"one two three four", "after=0"},
		{"three four", "after=" + from},
		{"two", "cluster=prod&node=10.0.0.1&kind=error&severity=error&text=two&from=0"},
	} {
		asked, err := url.ParseQuery(c.asked)
		if err != nil {
			t.Fatal(err)
		}
		var pairs []string
		for name, v := range asked {
			pairs = append(pairs, name, v[0])
		}
		if got := f.events(acmeKey, pairs...); got.texts() != c.want {
			t.Errorf("%s: %q, not %q", c.asked, got.texts(), c.want)
		}
	}
	if got := f.events(otherKey); got.texts() != "secret" || len(got.Events) != 1 {
		t.Errorf("the other account sees %+v", got)
	}
	first := f.events(acmeKey, "limit", "1")
	e := first.Events[0]
	if e.Name != "10.0.0.1" || e.Node != a.ID.String() || e.Severity != "warning" ||
		e.Cluster != "prod" || e.At.UnixMilli() != now-20_000 || e.Labels == nil {
		t.Errorf("%+v", e)
	}
	if got := f.events(otherKey, "cursor", first.Next); got.texts() != "" {
		t.Errorf("with another's cursor an account sees %+v", got)
	}
	if got := f.events(otherKey, "after", first.Next); got.texts() != "secret" {
		t.Errorf("with another's cursor an account sees %+v", got)
	}
	var all []string
	for page := first; ; page = f.events(acmeKey, "limit", "1", "cursor", page.Next) {
		if all = append(all, page.texts()); page.Next == "" {
			break
		}
	}
	if got := strings.TrimSpace(strings.Join(all, " ")); got != "four three two one" {
		t.Errorf("page by page: %q", got)
	}
	if got := f.events(acmeKey, "cursor", e.ID, "limit", "2"); got.texts() != "three two" {
		t.Errorf("older than an event: %q", got.texts())
	}
}

// TestFollowEvents: who asks again with next hears of each event, of those that come late too, on
// pages of any size.
func TestFollowEvents(t *testing.T) {
	f := newEventsFixture(t)
	begin := f.now.Load()
	const a, b = 1, 2
	var sent, got []string
	have := map[string]bool{}
	next := fmt.Sprint(begin)
	for i := range int64(60) {
		at := begin + i*10_000
		f.now.Store(at)
		say := func(node uint64, at int64) {
			text := fmt.Sprintf("%d-%d", len(sent), at-begin)
			sent = append(sent, text)
			f.tell("acme", frametest.New("prod", node, 1), at, saidEvent(text, frame.Info,
				"start"))
		}
		say(a, at)
		if i > 30 && i%7 == 0 {
			say(b, at-200_000) // it waited
		}
		if i%9 == 5 {
			say(b, at-600_000) // longer than an answer repeats, and before following began, too
		}
		for pages := 0; ; pages++ {
			page := f.events(acmeKey, "after", next, "limit", "10")
			for _, e := range page.Events {
				if !have[e.ID] {
					have[e.ID] = true
					got = append(got, e.Text)
				}
			}
			if next = page.Next; next == "" || pages > 100 {
				t.Fatal("there is no next, or no end")
			}
			if !page.More {
				break
			}
		}
	}
	slices.Sort(sent) // what waited comes in between
	slices.Sort(got)
	if strings.Join(got, " ") != strings.Join(sent, " ") {
		t.Errorf("heard\n%v of\n%v", got, sent)
	}
}

// TestFollowLate: what comes late is on pages of any size with what happens, the oldest first and
// each once, is filtered like that, and nobody else's, and comes to who begins afterwards in no
// answer.
func TestFollowLate(t *testing.T) {
	f := newEventsFixture(t)
	now := f.now.Load()
	a, b := frametest.New("prod", 1, 1), frametest.New("test", 2, 1)
	f.tell("acme", a, now-4000_000)
	f.tell("acme", b, now-4000_000)
	f.tell("other", frametest.New("prod", 3, 1), now-4000_000)
	next := f.events(acmeKey, "after", fmt.Sprint(now)).Next
	theirs := f.events(otherKey, "after", fmt.Sprint(now)).Next
	for i := range 7 {
		f.tell("acme", a, now-3600_000+int64(i)*1000, saidEvent(fmt.Sprint("a", i), frame.Error,
			"error"))
		f.tell("acme", b, now-1800_000+int64(i), saidEvent(fmt.Sprint("b", i), frame.Info, "stop"))
	}
	f.now.Add(1000)
	f.tell("acme", a, now+1000, saidEvent("new", frame.Error, "start"))
	for _, c := range []struct{ want, asked string }{
		{"a0 a1 a2 a3 a4 a5 a6 b0 b1 b2 b3 b4 b5 b6 new", ""},
		{"a0 a1 a2 a3 a4 a5 a6 new", "cluster=prod"},
		{"b0 b1 b2 b3 b4 b5 b6", "cluster=test"},
		{"new", "kind=start"},
		{"a3", "text=A3"},
		{"b0 b1 b2 b3 b4 b5 b6 new", fmt.Sprint("from=", now-2000_000)},
		{"a0 a1 a2 a3 a4 a5 a6", fmt.Sprint("to=", now-2000_000)},
	} {
		for _, limit := range []string{"1", "2", "15", "1000"} {
			asked, err := url.ParseQuery(c.asked)
			if err != nil {
				t.Fatal(err)
			}
			pairs := []string{"limit", limit}
			for name, v := range asked {
				pairs = append(pairs, name, v[0])
			}
			var got []string
			for page, pages := (told{Next: next}), 0; pages < 40; pages++ {
				page = f.events(acmeKey, append(pairs, "after", page.Next)...)
				for _, e := range page.Events {
					if !slices.Contains(got, e.Text) {
						got = append(got, e.Text)
					}
				}
			}
			if slices.Sort(got); strings.Join(got, " ") != c.want {
				t.Errorf("%s by %s: %q, not %q", c.asked, limit, got, c.want)
			}
			page := f.events(acmeKey, append(pairs, "after", next)...)
			if limit == "1000" && page.texts() != c.want {
				t.Errorf("%s in one answer: %q, not %q", c.asked, page.texts(), c.want)
			}
		}
	}
	if got := f.events(otherKey, "after", theirs); len(got.Events) > 0 {
		t.Errorf("the other account hears of %+v", got)
	}
	if got := f.events(otherKey, "after", next); len(got.Events) > 0 {
		t.Errorf("with another's place an account hears of %+v", got)
	}
	begun := f.events(acmeKey, "after", fmt.Sprint(now+1))
	if again := f.events(acmeKey, "after", begun.Next); begun.texts() != "new" ||
		again.texts() != "new" {
		t.Errorf("who begins hears of %+v, %+v", begun, again)
	}
}

// TestSchemaOnce: what all nodes say of one change of the schema is one line, and what is another
// change is not in it.
func TestSchemaOnce(t *testing.T) {
	f := newEventsFixture(t)
	now := f.now.Load() - 600_000
	var nodes []*frametest.Node
	for i := range 4 {
		nodes = append(nodes, frametest.New("prod", uint64(i+1), 1))
	}
	other := frametest.New("test", 9, 1)
	schema := func(change, table string) frame.Event {
		return saidEvent(change+" "+table, frame.Info, "schema", "change", change, "keyspace",
			"shop", "table", table)
	}
	for i, n := range nodes {
		at := now + int64(i)*15_000
		f.tell("acme", n, at, schema("created", "a"), saidEvent("lazy", frame.Info, "warning"))
		f.tell("acme", n, at+1000, schema("dropped", "a"))
		f.tell("acme", n, at+2000, schema("created", "a")) // once more
		f.tell("acme", n, now+200_000+int64(i)*40_000, schema("created", "b"))
	}
	f.tell("acme", other, now+5000, schema("created", "a"))
	f.now.Add(400_000) // who begins to follow now hears of none of them as late
	shown := func(a told) string {
		var list []string
		for _, e := range a.Events {
			list = append(list, fmt.Sprint(e.Text, " ", e.Nodes))
		}
		return strings.Join(list, ", ")
	}
	for _, c := range []struct{ want, asked string }{
		{"created b 2, created b 2", "text=b"},
		{"created b 2, created b 2", "after=" + fmt.Sprint(now+100_000)},
		{"created a 4, dropped a 4, created a 4", "kind=schema&cluster=prod&to=" +
			fmt.Sprint(now+100_000)},
		{"created a 1", "cluster=test"},
		{"lazy 0, lazy 0, lazy 0, lazy 0", "kind=warning"},
		{"created a 1, dropped a 1, created a 1", "kind=schema&node=10.0.0.3&to=" +
			fmt.Sprint(now+100_000)},
	} {
		asked, err := url.ParseQuery(c.asked)
		if err != nil {
			t.Fatal(err)
		}
		var pairs []string
		for name, v := range asked {
			pairs = append(pairs, name, v[0])
		}
		if got := shown(f.events(acmeKey, pairs...)); got != c.want {
			t.Errorf("%s: %s, not %s", c.asked, got, c.want)
		}
	}
	if e := f.events(acmeKey, "text", "dropped").Events[0]; e.Node != nodes[0].ID.String() ||
		e.At.UnixMilli() != now+1000 {
		t.Errorf("the first that said so was not %+v", e)
	}
}

// TestSchemaFollowed: who follows and drops what is known hears once of a change that two nodes
// tell of, whichever is the first, for as long as answers repeat either.
func TestSchemaFollowed(t *testing.T) {
	f := newEventsFixture(t)
	begin := f.now.Load()
	a, b := frametest.New("prod", 1, 1), frametest.New("prod", 2, 1)
	f.tell("acme", a, begin)
	f.tell("acme", b, begin)
	next, had := fmt.Sprint(begin), map[string]bool{}
	var heard []string
	answers := 0
	for second := int64(0); second <= 7*60; second += 2 {
		f.now.Store(begin + second*1000)
		say := func(n *frametest.Node, text string, at int64) {
			f.tell("acme", n, begin+at*1000, saidEvent(text, frame.Info, "schema"))
		}
		switch second {
		case 10:
			say(a, "first", 10)
		case 26:
			say(b, "first", 25)
		case 60:
			say(b, "second", 60)
		case 80:
			say(a, "second", 45) // it waited
		}
		page := f.events(acmeKey, "after", next)
		for _, e := range page.Events {
			answers++
			known := false
			for _, id := range append(e.Also, e.ID) {
				known = known || had[id]
				had[id] = true
			}
			if !known {
				heard = append(heard, e.Text)
			}
		}
		next = page.Next
	}
	if got := strings.Join(heard, " "); got != "first second" || len(had) != 4 || answers < 200 {
		t.Errorf("of %d repeated events it heard %q, with %d ids", answers, got, len(had))
	}
}

// TestLateBeforeFollowing: what comes late between a list and the first answer with after= is told.
func TestLateBeforeFollowing(t *testing.T) {
	f := newEventsFixture(t)
	now := f.now.Load()
	n := frametest.New("prod", 1, 1)
	f.tell("acme", n, now-1000, saidEvent("listed", frame.Info, "start"))
	list := f.events(acmeKey)
	f.now.Add(2000)
	f.tell("acme", n, now-3600_000, saidEvent("late", frame.Info, "stop"))
	f.now.Add(2000)
	for after, want := range map[string]string{
		list.Events[0].ID:                      "late",
		fmt.Sprint(now - 300_000):              "late listed",
		fmt.Sprint(now - 2*3600_000):           "late listed", // as what happened, once
		fmt.Sprint(f.now.Load()):               "",
		fmt.Sprint(f.now.Load() + 10*3600_000): "", // a clock is ahead
	} {
		if got := f.events(acmeKey, "after", after); got.texts() != want {
			t.Errorf("after %s: %q, not %q", after, got.texts(), want)
		}
	}
}

// TestLateBacklog: a backlog does not hold back what happens, and its events are told once in an
// answer, though two store processes wrote them.
func TestLateBacklog(t *testing.T) {
	f := newEventsFixture(t)
	now := f.now.Load()
	n := frametest.New("prod", 1, 1)
	f.tell("acme", n, now-3600_000)
	next := f.events(acmeKey, "after", fmt.Sprint(now)).Next
	for i := range int64(6) {
		f.now.Add(1000)
		at := now - 1800_000 + i
		n.Events = []frame.Event{{At: at, Text: fmt.Sprint("late", i), Kind: "stop"}}
		b := n.Frame(at)
		f.take("acme", b)
		f.now.Add(1)
		f.take("acme", b)
	}
	f.tell("acme", n, now+1000, saidEvent("new0", frame.Info, "start"))
	f.tell("acme", n, now+2000, saidEvent("new1", frame.Info, "start"))
	for limit, want := range map[string]string{"1": "new0", "2": "late0 new0",
		"4": "late0 new0 new1", "7": "late0 late1 new0 new1",
		"100": "late0 late1 late2 late3 late4 late5 new0 new1"} {
		page := f.events(acmeKey, "after", next, "limit", limit)
		if page.texts() != want || page.More != (limit != "100") {
			t.Errorf("of %s: %q, more: %v", limit, page.texts(), page.More)
		}
	}
	first := f.events(acmeKey, "after", next, "limit", "1")
	second := f.events(acmeKey, "after", first.Next, "limit", "1")
	third := f.events(acmeKey, "after", second.Next, "limit", "1")
	if third.texts() != "late0" {
		t.Errorf("one by one: %q, %q, %q", first.texts(), second.texts(), third.texts())
	}
}

// TestFollowMore: an answer that has few events because nodes say the same says that there is more.
func TestFollowMore(t *testing.T) {
	f := newEventsFixture(t)
	now := f.now.Load()
	for i := range int64(4) {
		f.tell("acme", frametest.New("prod", uint64(i+1), 1), now+i,
			saidEvent("created", frame.Info,
				"schema"))
	}
	f.tell("acme", frametest.New("prod", 1, 1), now+10, saidEvent("behind", frame.Info, "start"))
	f.now.Add(1000)
	page := f.events(acmeKey, "after", fmt.Sprint(now), "limit", "4")
	if page.texts() != "created" || !page.More {
		t.Errorf("%+v", page)
	}
	page = f.events(acmeKey, "after", page.Next, "limit", "4")
	if page.texts() != "behind" || page.More {
		t.Errorf("%+v", page)
	}
}

func TestSlowQueries(t *testing.T) {
	f := newEventsFixture(t)
	now := f.now.Load()
	a, b := frametest.New("prod", 1, 1), frametest.New("prod", 2, 1)
	slow := func(table, times, seconds, text string) frame.Event {
		return saidEvent(text, frame.Warning, "slow_query", "keyspace", "shop", "slowest_seconds",
			seconds,
			"table", table, "times", times)
	}
	f.tell("acme", a, now-30*3600_000, slow("old", "9", "9", "SELECT old"))
	f.tell("acme", a, now-60_000, slow("items", "3", "0.6", "SELECT ?"),
		saidEvent("", frame.Info, "start"), slow("items", "2", "NaN", "SELECT other"),
		slow("items", "x", "1e999", "SELECT odd"))
	f.tell("acme", b, now-30_000, slow("items", "4", "1.5", "SELECT ?"))
	ask := func(key string, asked ...string) string {
		var answer struct {
			Queries []struct {
				Statement, Table, Last string
				Times, Nodes           int
				Slowest                float64 `json:"slowest_seconds"`
			}
		}
		r := f.ask(key, "/v1/slow-queries", values(asked))
		if err := json.Unmarshal(r.body, &answer); err != nil || r.status != http.StatusOK {
			t.Fatalf("%v: %d %s", asked, r.status, r.body)
		}
		text := ""
		for _, q := range answer.Queries {
			text += fmt.Sprint(q.Statement, " ", q.Times, " ", q.Slowest, " ", q.Nodes, "; ")
		}
		return text
	}
	for _, c := range []struct{ got, want string }{
		{ask(acmeKey), "SELECT ? 7 1.5 2; SELECT other 2 0 1; SELECT odd 1 0 1; "},
		{ask(acmeKey, "period", "2d", "limit", "1"), "SELECT old 9 9 1; "},
		{ask(acmeKey, "node", "10.0.0.2"), "SELECT ? 4 1.5 1; "},
		{ask(otherKey), ""},
	} {
		if c.got != c.want {
			t.Errorf("%q, not %q", c.got, c.want)
		}
	}
}

// TestBadEvents: what cannot be answered is refused with the parameter's name and a remedy.
func TestBadEvents(t *testing.T) {
	f := newEventsFixture(t)
	f.tell("acme", frametest.New("prod", 1, 1), f.now.Load(), saidEvent("x", frame.Info, "start"))
	for _, c := range []struct {
		key, asked    string
		status        int
		reason, field string
	}{
		{"", "", 401, "no_key", "Authorization"},
		{writeKey, "", 403, "no_scope", "Authorization"},
		{acmeKey, "nosuch=1", 400, "unknown_parameter", "nosuch"},
		{acmeKey, "kind=a&kind=b", 400, "repeated_parameter", "kind"},
		{acmeKey, "cluster=nowhere", 404, "unknown_cluster", "cluster"},
		{acmeKey, "cluster=", 404, "unknown_cluster", "cluster"},
		{acmeKey, "node=nobody", 404, "unknown_node", "node"},
		{acmeKey, "node=", 404, "unknown_node", "node"},
		{acmeKey, "kind=", 400, "bad_kind", "kind"},
		{acmeKey, "kind=a,", 400, "bad_kind", "kind"},
		{acmeKey, "kind=GC", 400, "bad_kind", "kind"},
		{acmeKey, "kind=foo", 400, "bad_kind", "kind"},
		{acmeKey, "kind=start,foo", 400, "bad_kind", "kind"},
		{acmeKey, "kind=a" + strings.Repeat(",a", 32), 400, "bad_kind", "kind"},
		{acmeKey, "severity=fatal", 400, "bad_severity", "severity"},
		{acmeKey, "severity=", 400, "bad_severity", "severity"},
		{acmeKey, "text=" + strings.Repeat("x", 1025), 400, "bad_text", "text"},
		{acmeKey, "from=yesterday", 400, "bad_time", "from"},
		{acmeKey, "to=-1", 400, "bad_time", "to"},
		{acmeKey, "period=soon", 400, "bad_duration", "period"},
		{acmeKey, "period=1h&from=0", 400, "bad_time", "period"},
		{acmeKey, "from=2000000000&to=1", 400, "bad_time", "from"},
		{acmeKey, "limit=0", 400, "bad_limit", "limit"},
		{acmeKey, "limit=1001", 400, "bad_limit", "limit"},
		{acmeKey, "limit=", 400, "bad_limit", "limit"},
		{acmeKey, "cursor=", 400, "bad_cursor", "cursor"},
		{acmeKey, "cursor=AAAA", 400, "bad_cursor", "cursor"},
		{acmeKey, "cursor=" + strings.Repeat("_", 5000), 400, "bad_cursor", "cursor"},
		{acmeKey, "after=", 400, "bad_after", "after"},
		{acmeKey, "after=" + strings.Repeat("_", 44) + ".x", 400, "bad_after", "after"},
		{acmeKey, "after=" + strings.Repeat("_", 44) + ".-5", 400, "bad_after", "after"},
		{acmeKey, "after=" + strings.Repeat("A", 44) + ".5", 400, "bad_after", "after"},
		{acmeKey, "after=" + strings.Repeat("A", 44) + ".5." + strings.Repeat("A", 44) + ".-1",
			400, "bad_after", "after"},
		{acmeKey, "after=" + strings.Repeat("A", 44) + ".5.AAAA.5", 400, "bad_after", "after"},
		{acmeKey, "after=0&cursor=" + strings.Repeat("A", 44), 400, "bad_cursor", "cursor"},
	} {
		asked, err := url.ParseQuery(c.asked)
		if err != nil {
			t.Fatal(err)
		}
		r := f.ask(c.key, "/v1/events", asked)
		var answer struct {
			Error struct{ Reason, Field, Message string }
		}
		if err := json.Unmarshal(r.body, &answer); err != nil || r.status != c.status ||
			answer.Error.Reason != c.reason || answer.Error.Field != c.field ||
			answer.Error.Message == "" {
			t.Errorf("%.60s: %d %s", c.asked, r.status, r.body)
		}
	}
	// whatever an id says, an answer is right
	for _, id := range []string{"f" + strings.Repeat("_", 10) + strings.Repeat("A", 33),
		strings.Repeat("A", 44)} {
		f.events(acmeKey, "cursor", id)
	}
	f.events(acmeKey, "after", strings.Repeat("A", 44))
	if r := f.ask(acmeKey, "/v1/slow-queries", url.Values{"to": {"5"}}); r.status != 400 {
		t.Errorf("%d %s", r.status, r.body)
	}
}
