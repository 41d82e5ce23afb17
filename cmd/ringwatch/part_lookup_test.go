package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/access/listener"
	"github.com/ringwatch/ringwatch/api"
	"github.com/ringwatch/ringwatch/api/apitest"
	"github.com/ringwatch/ringwatch/api/lookup"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/wire"
	"github.com/ringwatch/ringwatch/dev/engines"
	"github.com/ringwatch/ringwatch/ring"
	"github.com/ringwatch/ringwatch/ring/throttle"
)

const otherKey = "rw_other000000000000000"

// lookedUp is an API whose tables are a keyspace of the test's own on a real Cassandra.
type lookedUp struct {
	*testing.T
	keyspace, base string
	exec           func(statement string, args ...any)

	mu    sync.Mutex
	work  []ring.Work
	admit ring.Admit // what is asked after work was noted; nil: all is admitted
}

// newTables makes the tables and serves those of the configuration, whose names lack the keyspace.
func newTables(t *testing.T, name string, schema []string, c lookup.Config) *lookedUp {
	t.Helper()
	node := engines.SharedCassandra(t)
	session := mustCQL(t, node.Addr())
	f := &lookedUp{T: t, keyspace: fmt.Sprintf("%s_%d", name, os.Getpid())}
	f.exec = func(statement string, args ...any) {
		t.Helper()
		if err := session.Query(strings.ReplaceAll(statement, "KS.", f.keyspace+"."),
			args...).ExecContext(t.Context()); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
	f.exec("CREATE KEYSPACE " + f.keyspace +
		" WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}")
	for _, s := range schema {
		f.exec(s)
	}
	c.Hosts = []string{node.Addr()}
	for i := range c.Tables {
		if !strings.Contains(c.Tables[i].Table, ".") {
			c.Tables[i].Table = f.keyspace + "." + c.Tables[i].Table
		}
	}
	rc := ring.DefaultConfig()
	rc.CacheBytes = 8 << 20
	l, err := lookup.New(c, rc, f.admitting, prometheus.NewRegistry(),
		slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	registry, err := account.NewRegistry([]account.Account{
		{Name: "acme",
			Keys: []account.Key{{Name: "r", Key: testKey, Scopes: []account.Scope{account.Read}}}},
		{Name: "other",
			Keys: []account.Key{{Name: "r", Key: otherKey, Scopes: []account.Scope{account.Read}}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	store := &apitest.Store{}
	ac := api.DefaultConfig()
	ac.Listen = "127.0.0.1:0"
	server, err := api.New(ac, api.Deps{Admit: account.NewDoor(registry.Authenticate).Admit,
		Reader: apitest.MustReader(t, ac, store.Sources()), StoreReady: store.Ready,
		Lookup: l.Read, Metrics: prometheus.NewRegistry(),
		Log: slog.New(slog.NewTextHandler(t.Output(), nil))})
	if err != nil {
		t.Fatal(err)
	}
	f.base = "http://" + server.Addr()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- wire.Together(ctx, server.Run, l.Run) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	// Until it is connected it says so.
	for deadline := time.Now().Add(2 * time.Minute); ; <-time.After(20 * time.Millisecond) {
		if r := f.ask(testKey, c.Tables[0].Table,
			`{"keys":[{}]}`); r.status == http.StatusBadRequest {
			return f
		} else if r.status != http.StatusServiceUnavailable || r.header.Get("Retry-After") == "" ||
			time.Now().After(deadline) {
			t.Fatalf("%d %s", r.status, r.body)
		}
	}
}

func (f *lookedUp) admitting(ctx context.Context, w ring.Work, keyspace, table string,
	n int) (func(time.Duration, error), error) {
	f.mu.Lock()
	f.work = append(f.work, w)
	admit := f.admit
	f.mu.Unlock()
	if admit != nil {
		return admit(ctx, w, keyspace, table, n)
	}
	return func(time.Duration, error) {}, nil
}

// hold sets what admits, and forgets what was admitted.
func (f *lookedUp) hold(admit ring.Admit) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.admit, f.work = admit, nil
}

type lookupReply struct {
	status int
	header http.Header
	body   string
	answer struct {
		Found, Missing, Failed int
		Results                []struct {
			Index int
			Key   json.RawMessage
			Found bool
			Rows  []json.RawMessage
			More  bool
			Error *struct{ Reason, Message string }
		}
		Error struct{ Reason, Field, Message string }
	}
}

func (f *lookedUp) ask(key, table, body string, header ...string) lookupReply {
	f.Helper()
	if !strings.Contains(table, ".") {
		table = f.keyspace + "." + table
	}
	q, err := http.NewRequest(http.MethodPost,
		f.base+"/v1/lookup/"+strings.Replace(table, ".", "/", 1), strings.NewReader(body))
	if err != nil {
		f.Fatal(err)
	}
	q.Header.Set("Authorization", "Bearer "+key)
	for i := 0; i+1 < len(header); i += 2 {
		q.Header.Set(header[i], header[i+1])
	}
	answer, err := http.DefaultClient.Do(q)
	if err != nil {
		f.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		f.Fatal(err)
	}
	r := lookupReply{status: answer.StatusCode, header: answer.Header, body: string(text)}
	if len(header) == 0 {
		if err := json.Unmarshal(text, &r.answer); err != nil {
			f.Fatalf("%s: %v in %s", body, err, text)
		}
	}
	return r
}

// keyTypes are all types that a key can be of: a literal, the key as JSON, what it is in an
// answer, and a key that is not there.
var keyTypes = []struct{ cql, literal, json, answer, absent string }{
	{"ascii", `'az'`, `"az"`, `"az"`, `"AZ"`},
	{"bigint", `9007199254740993`, `9007199254740993`, `"9007199254740993"`, `9007199254740992`},
	{"blob", `0xcafe00`, `"base64:yv4A"`, `"0xcafe00"`, `"0xcafe"`},
	{"boolean", `true`, `true`, `true`, `false`},
	{"date", `'1969-12-31'`, `"1969-12-31"`, `"1969-12-31"`, `"1970-01-01"`},
	{"decimal", `1.50`, `1.50`, `"1.50"`, `1.5`},
	{"double", `0.1`, `0.1`, `0.1`, `0.10000000000000002`},
	{"float", `0.1`, `0.1`, `0.1`, `0.2`},
	{"inet", `'2001:db8::1'`, `"2001:DB8:0::1"`, `"2001:db8::1"`, `"10.0.0.1"`},
	{"int", `-7`, `"-7"`, `-7`, `7`},
	{"smallint", `-2`, `-2`, `-2`, `2`},
	{"text", `'a"b é😀'`, `"a\"b \u00e9\ud83d\ude00"`, `"a\"b é😀"`, `"a"`},
	{"time", `'13:30:54.234'`, `"13:30:54.234"`, `"13:30:54.234000000"`, `"13:30:54.235"`},
	{"timestamp", `'2026-09-03T00:48:05.250Z'`, `"2026-09-03T02:48:05.25+02:00"`,
		`"2026-09-03T00:48:05.250Z"`, `0`},
	{"timeuuid", `123e4567-e89b-12d3-a456-426614174000`, `"123E4567-E89B-12D3-A456-426614174000"`,
		`"123e4567-e89b-12d3-a456-426614174000"`, `"123e4567-e89b-12d3-a456-426614174001"`},
	{"tinyint", `-128`, `-128`, `-128`, `127`},
	{"uuid", `123e4567-e89b-42d3-a456-426614174000`, `"123e4567-e89b-42d3-a456-426614174000"`,
		`"123e4567-e89b-42d3-a456-426614174000"`, `"123e4567-e89b-42d3-a456-426614174001"`},
	{"varint", `-18446744073709551616`, `-18446744073709551616`, `"-18446744073709551616"`, `-1`},
	{"tuple<int, text>", `(1, 'a')`, `[1, "a"]`, `[1,"a"]`, `[1, null]`},
	{"frozen<map<int, text>>", `{7: 'a', -1: 'b'}`, `{"-1": "b", "7": "a"}`, `{"-1":"b","7":"a"}`,
		`{"7": "a"}`},
	{"frozen<list<int>>", `[1, 2]`, `[1, 2]`, `[1,2]`, `[2, 1]`},
	{"frozen<set<text>>", `{'b', 'a'}`, `["b", "a", "b"]`, `["a","b"]`, `["a"]`},
	{"frozen<KS.money>", `{amount: 1.5, currency: 'EUR'}`, `{"currency": "EUR", "amount": 1.5}`,
		`{"amount":"1.5","currency":"EUR"}`, `{"currency": "EUR"}`},
	{"vector<float, 2>", `[1, 2]`, `[1, 2]`, `[1,2]`, `[2, 1]`},
}

// TestLookupEveryKeyType finds a row of a real Cassandra by a key of every type, and does not
// find another.
func TestLookupEveryKeyType(t *testing.T) {
	schema := []string{"CREATE TYPE KS.money (amount decimal, currency text)"}
	c := lookup.DefaultConfig()
	for i, k := range keyTypes {
		schema = append(schema, fmt.Sprintf("CREATE TABLE KS.k%d (k %s PRIMARY KEY, v int)", i,
			k.cql), fmt.Sprintf("INSERT INTO KS.k%d (k, v) VALUES (%s, %d)", i, k.literal, i))
		c.Tables = append(c.Tables, lookup.Table{Table: fmt.Sprintf("k%d", i),
			Accounts: []string{"*"}})
	}
	f := newTables(t, "lookup_types", schema, c)
	for i, k := range keyTypes {
		r := f.ask(testKey, fmt.Sprintf("k%d", i), fmt.Sprintf(`{"keys":[%s, %s, {"k": %s}]}`,
			k.absent, k.json, k.json))
		if k.json[0] == '{' { // an object is the value itself
			r = f.ask(testKey, fmt.Sprintf("k%d", i), fmt.Sprintf(`{"keys":[%s, %s, %s]}`, k.absent,
				k.json, k.json))
		}
		want := fmt.Sprintf(`{"k":%s,"v":%d}`, k.answer, i)
		if r.status != 200 || r.answer.Found != 2 || r.answer.Missing != 1 ||
			r.answer.Failed != 0 || len(r.answer.Results) != 3 {
			t.Errorf("%s: %d %s", k.cql, r.status, r.body)
			continue
		}
		for j, one := range r.answer.Results {
			if one.Index != j || one.Found != (j > 0) ||
				j > 0 && (len(one.Rows) != 1 || string(one.Rows[0]) != want) {
				t.Errorf("%s: key %d: %+v, want %s", k.cql, j, one, want)
			}
		}
	}
}

// TestLookupValues reads every type as a value, nulls, several rows, static columns, counters and
// names that need quotes.
func TestLookupValues(t *testing.T) {
	c := lookup.DefaultConfig()
	c.Tables = []lookup.Table{
		{Table: "orders", Accounts: []string{"acme"}, MaxRows: 3, MaxKeys: 50},
		{Table: "MixedCase", Accounts: []string{"acme"}}, {Table: "counts", Accounts: []string{"*"},
			CacheTTL: time.Hour},
		{Table: "items", Accounts: []string{"acme", "other"},
			Columns: []string{"id", "name", "gone"}},
		{Table: "dropped", Accounts: []string{"acme"}},
		{Table: "everything", Accounts: []string{"acme"}},
		{Table: "system_schema.keyspaces", Accounts: []string{"acme"}},
	}
	f := newTables(t, "lookup_values", []string{
		"CREATE TYPE KS.money (amount decimal, currency text)",
		"CREATE TABLE KS.orders (tenant text, day date, seq int, note text, owner text static, " +
			"PRIMARY KEY ((tenant, day), seq)) WITH CLUSTERING ORDER BY (seq DESC)",
		"CREATE TABLE KS.\"MixedCase\" (\"Item Id\" int PRIMARY KEY, \"select\" text)",
		"CREATE TABLE KS.counts (id int PRIMARY KEY, n counter)",
		"CREATE TABLE KS.items (id int PRIMARY KEY, name text, secret text)",
		"CREATE TABLE KS.everything (id int PRIMARY KEY, d duration, l list<int>, s set<inet>, m " +
			"map<text, frozen<list<tinyint>>>, n map<int, text>, u KS.money, t tuple<int, text>, " +
			"v vector<float, 2>, nothing text, blank text)",
		"INSERT INTO KS.everything (id, d, l, s, m, n, u, t, v, blank) VALUES (1, 1mo2d3h, [1, " +
			"2], {'10.0.0.1'}, {'a': [1, -1]}, {7: 'x'}, {amount: 2.50, currency: 'EUR'}, (5, " +
			"null), [0.5, -1], '')",
		"INSERT INTO KS.\"MixedCase\" (\"Item Id\", \"select\") VALUES (1, 'x')",
		"UPDATE KS.counts SET n = n + 5 WHERE id = 1",
		"INSERT INTO KS.items (id, name, secret) VALUES (1, 'spoon', 'hidden')",
		"INSERT INTO KS.orders (tenant, day, owner) VALUES ('static', '2026-11-20', 'o')",
	}, c)
	for i := range 5 {
		f.exec("INSERT INTO KS.orders (tenant, day, seq, note) VALUES ('acme', '2026-11-20', ?, ?)",
			i, fmt.Sprint("n", i))
	}
	for _, q := range []struct{ table, body, want string }{
		{"everything", `{"keys":[1]}`,
			`{"found":1,"missing":0,"failed":0,"results":[{"index":0,"key":1,"found":true,"rows":[{"id":1,"blank":"","d":"1mo2d3h","l":[1,2],"m":{"a":[1,-1]},"n":{"7":"x"},"nothing":null,"s":["10.0.0.1"],"t":[5,null],"u":{"amount":"2.50","currency":"EUR"},"v":[0.5,-1]}]}]}`},
		{"MixedCase", `{"keys":[{"Item Id":1}],"columns":["select"]}`,
			`{"found":1,"missing":0,"failed":0,"results":[{"index":0,"key":{"Item Id":1},"found":true,"rows":[{"select":"x"}]}]}`},
		// each node has its own
		{"system_schema.keyspaces", `{"keys":["system_auth", "none"],"columns":["durable_writes"]}`,
			`{"found":1,"missing":1,"failed":0,"results":[{"index":0,"key":"system_auth","found":true,"rows":[{"durable_writes":true}]},{"index":1,"key":"none","found":false}]}`},
		{"counts", `{"keys":[1]}`,
			`{"found":1,"missing":0,"failed":0,"results":[{"index":0,"key":1,"found":true,"rows":[{"id":1,"n":"5"}]}]}`},
		{"items", `{"keys":[1,2]}`,
			`{"found":1,"missing":1,"failed":0,"results":[{"index":0,"key":1,"found":true,"rows":[{"id":1,"name":"spoon"}]},{"index":1,"key":2,"found":false}]}`},
		{"items", `{"keys":[1],"columns":["name"]}`,
			`{"found":1,"missing":0,"failed":0,"results":[{"index":0,"key":1,"found":true,"rows":[{"name":"spoon"}]}]}`},
		{"orders",
			`{"keys":[["acme","2026-11-20"],{"day":"2026-11-20","tenant":"acme"}],"columns":["seq","note"],"rows":2}`, `{"found":2,"missing":0,"failed":0,"results":[{"index":0,"key":["acme","2026-11-20"],"found":true,"rows":[{"seq":4,"note":"n4"},{"seq":3,"note":"n3"}],"more":true},{"index":1,"key":{"day":"2026-11-20","tenant":"acme"},"found":true,"rows":[{"seq":4,"note":"n4"},{"seq":3,"note":"n3"}],"more":true}]}`},
		{"orders", `{"keys":[["static","2026-11-20"]]}`,
			`{"found":1,"missing":0,"failed":0,"results":[{"index":0,"key":["static","2026-11-20"],"found":true,"rows":[{"tenant":"static","day":"2026-11-20","seq":null,"owner":"o","note":null}]}]}`},
	} {
		if r := f.ask(testKey, q.table, q.body); r.status != 200 ||
			strings.TrimSpace(r.body) != q.want {
			t.Errorf("%s %s:\n%d %swant\n%s", q.table, q.body, r.status, r.body, q.want)
		}
	}
	if r := f.ask(testKey, "orders",
		`{"keys":[["acme","2026-11-20"]]}`); len(r.answer.Results) != 1 ||
		len(r.answer.Results[0].Rows) != 3 || !r.answer.Results[0].More {
		t.Errorf("beyond the table's rows: %s", r.body)
	}
	// Where the configuration lets it, a row comes from memory; elsewhere it is as new as
	// Cassandra's.
	f.exec("UPDATE KS.counts SET n = n + 1 WHERE id = 1")
	f.exec("UPDATE KS.items SET name = 'ladle' WHERE id = 1")
	for table, want := range map[string]string{"counts": `[{"id":1,"n":"5"}]`,
		"items": `[{"id":1,"name":"ladle"}]`} {
		if r := f.ask(testKey, table, `{"keys":[1]}`); !strings.Contains(r.body, want) {
			t.Errorf("%s: %s, want %s", table, r.body, want)
		}
	}
	f.exec("UPDATE KS.items SET name = 'spoon' WHERE id = 1")
	f.refusals()
	f.throttling()
}

// refusals: what is wrong, or another's, is refused with a status and a field.
func (f *lookedUp) refusals() {
	f.Helper()
	many := strings.TrimSuffix(strings.Repeat("1,", 1001), ",")
	for _, q := range []struct {
		key, table, body string
		status           int
		reason, field    string
	}{
		{testKey, "nothing", `{"keys":[1]}`, 404, "unknown_table", "table"},
		// allowed, and not in Cassandra
		{testKey, "dropped", `{"keys":[1]}`, 404, "unknown_table", "table"},
		{otherKey, "orders", `{"keys":[["a","2026-11-20"]]}`, 404, "unknown_table", "table"},
		{testKey, "ORDERS", `{"keys":[1]}`, 404, "unknown_table", "table"},
		{testKey, "items%22;DROP", `{"keys":[1]}`, 404, "unknown_table", "table"},
		{testKey, "items", `{"keys":[1],"columns":["secret"]}`, 400, "unknown_column", "columns"},
		{testKey, "items", `{"keys":[1],"columns":["gone"]}`, 400, "unknown_column", "columns"},
		{testKey, "items", `{"keys":[1],"columns":["id","id"]}`, 400, "repeated_column", "columns"},
		{testKey, "items", `{"keys":[1],"columns":["id\" FROM x"]}`, 400, "unknown_column",
			"columns"},
		{testKey, "items", `{"keys":[` + many + `]}`, 400, "too_many_keys", "keys"},
		{testKey, "orders", `{"keys":[` + many[:101] + `]}`, 400, "too_many_keys", "keys"},
		{testKey, "items", `{"keys":[]}`, 400, "no_keys", "keys"},
		{testKey, "items", `{"keys":[1, 2, "x"]}`, 400, "bad_key", "keys[2]"},
		{testKey, "items", `{"keys":[1, {"name":"spoon"}]}`, 400, "bad_key", "keys[1]"},
		{testKey, "orders", `{"keys":[["a","2026-11-20"],["a","20 November"]]}`, 400, "bad_key",
			"keys[1].day"},
		{testKey, "orders", `{"keys":["a"]}`, 400, "bad_key", "keys[0]"},
		{testKey, "items", `{"keys":[1],"rows":101}`, 400, "bad_rows", "rows"},
		{testKey, "items", `{"keys":[1],"class":"mine"}`, 400, "bad_class", "class"},
	} {
		r := f.ask(q.key, q.table, q.body)
		e := r.answer.Error
		if r.status != q.status || e.Reason != q.reason || e.Field != q.field || e.Message == "" ||
			strings.Contains(r.body, "hidden") {
			f.Errorf("%s %.80s: %d %s, want %d %s %s", q.table, q.body, r.status, r.body, q.status,
				q.reason, q.field)
		}
	}
	// Only the name that was asked for differs, so no nearer one may be there for either.
	if own, none := f.ask(otherKey, "orders", `{"keys":[1]}`), f.ask(otherKey, "ordexs",
		`{"keys":[1]}`); own.body != strings.ReplaceAll(none.body, "ordexs", "orders") {
		f.Errorf("a table of another account is told from none: %s, %s", own.body, none.body)
	}
}

// throttling: the throttle is told who asks, and what it holds back is 429 or, at the deadline,
// 504.
func (f *lookedUp) throttling() {
	f.Helper()
	f.hold(nil)
	f.ask(testKey, "items", `{"keys":[1]}`)
	f.ask(otherKey, "items", `{"keys":[1],"class":"bulk"}`)
	f.mu.Lock()
	if want := []ring.Work{{Class: "serving", Client: "acme/r"},
		{Class: "bulk", Client: "other/r"}}; !slices.Equal(f.work, want) {
		f.Errorf("admitted were %+v", f.work)
	}
	f.mu.Unlock()
	f.hold(func(context.Context, ring.Work, string, string,
		int) (func(time.Duration, error), error) {
		return nil, fmt.Errorf("held: %w",
			&throttle.Error{Class: "serving", RetryAfter: 7 * time.Second})
	})
	if r := f.ask(testKey, "items", `{"keys":[1,2]}`); r.status != http.StatusTooManyRequests ||
		r.header.Get("Retry-After") != "7" || r.answer.Error.Reason != "throttled" {
		f.Errorf("%d %s %s", r.status, r.header.Get("Retry-After"), r.body)
	}
	f.hold(func(ctx context.Context, _ ring.Work, _, _ string,
		_ int) (func(time.Duration, error), error) {
		<-ctx.Done()
		return nil, ctx.Err()
	})
	if r := f.ask(testKey, "items",
		`{"keys":[1,2],"timeout":"50ms"}`); r.status != http.StatusGatewayTimeout ||
		r.answer.Error.Reason != "timeout" {
		f.Errorf("%d %s", r.status, r.body)
	}
	if r := f.ask(testKey, "items", `{"keys":[1,2],"timeout":"50ms"}`, "Accept",
		"application/x-ndjson"); r.status != http.StatusGatewayTimeout {
		f.Errorf("%d %s", r.status, r.body)
	}
	f.hold(nil)
	var keys bytes.Buffer
	for i := range 1000 {
		fmt.Fprintf(&keys, ",%d", i)
	}
	r := f.ask(testKey, "items", `{"keys":[`+keys.String()[1:]+`]}`, "Accept",
		"application/x-ndjson")
	if r.status != 200 || strings.Count(r.body, "\n") != 1001 ||
		!strings.HasSuffix(r.body, "{\"found\":1,\"missing\":999,\"failed\":0}\n") ||
		!strings.Contains(r.body,
			`{"index":1,"key":1,"found":true,"rows":[{"id":1,"name":"spoon"}]}`) {
		f.Errorf("%d %.300s", r.status, r.body)
	}
}

// TestThrottledReadsAre429: what the throttle has no room for is told with the time to come back.
func TestThrottledReadsAre429(t *testing.T) {
	var e *listener.Error
	if err := wire.APIError(fmt.Errorf("store: read raw: %w",
		&throttle.Error{Class: "dashboard", RetryAfter: 1500 * time.Millisecond})); !errors.As(err,
		&e) || e.Status != http.StatusTooManyRequests || e.RetryAfter != 2 {
		t.Errorf("%+v", err)
	}
	if err := wire.APIError(io.EOF); err != io.EOF {
		t.Error(err)
	}
	if err := wire.APIError(nil); err != nil {
		t.Error(err)
	}
}
