package api_test

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/klauspost/compress/snappy"
	"github.com/prometheus/prometheus/prompb"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/frame/frametest"
)

// assets are the files that the console's page names.
func assets(page []byte) (list []string) {
	for _, part := range strings.Split(string(page), `"`) {
		if name, ok := strings.CutPrefix(part, "/assets/"); ok {
			list = append(list, name)
		}
	}
	return list
}

// TestOpenAPI drives the server by api/openapi.yaml as that describes it, with good and hostile
// values: every answer must be one that is described.
func TestOpenAPI(t *testing.T) {
	f := newSeriesFixture(t)
	now := f.now.Load()
	a, b := frametest.New("fleet-0", 1, 2), frametest.New("fleet-1", 2, 1)
	a.Events = []frame.Event{{At: now - 60_000, Kind: "slow_query", Severity: frame.Warning,
		Labels: []frame.Label{{Name: "keyspace", Value: "shop"},
			{Name: "slowest_seconds", Value: "0.7"}, {Name: "table", Value: "items"},
			{Name: "times", Value: "3"}}, Text: "SELECT * FROM shop.items WHERE id = ?"}}
	for at := now - 60_000; at <= now; at += 20_000 {
		a.Step()
		b.Step()
		f.say("acme", at, a, b)
	}
	f.refresh()
	f.now.Store(now + 1000) // the nodes are up

	doc, err := openapi3.NewLoader().LoadFromData(f.ask("", "/v1/openapi.yaml", nil).body)
	if err != nil {
		t.Fatal(err)
	}
	if err := doc.Validate(t.Context(), openapi3.DisableExamplesValidation()); err != nil {
		t.Fatal(err)
	}
	var described []string
	for path, item := range doc.Paths.Map() {
		for method := range item.Operations() {
			described = append(described, strings.TrimSuffix(method+" "+path, " /"))
		}
	}
	served := f.server.Patterns()
	for i := range served {
		served[i] = strings.TrimSuffix(served[i], " /{$}")
	}
	slices.Sort(described)
	slices.Sort(served)
	if !slices.Equal(described, served) {
		t.Fatalf("described are %v, served are %v", described, served)
	}

	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	g := &caller{fixture: f.fixture, Rand: rand.New(rand.NewPCG(seed, 0)),
		good: map[string][]string{
			"id": {a.ID.String(), b.ID.String()}, "cluster": {"fleet-0", "fleet-1"},
			"datacenter": {"dc1"}, "name": {"table", "cluster", "__name__"},
			"metrics": {"cassandra_compaction_pending_tasks", `{keyspace="ks"}`,
				`{__name__=~"cassandra_table_.+"}`,
				"n::compactions", "n::reads,n::osLoad,n::clientRequestRead::99thPercentile",
				"cf::*::*::readLatency"},
			"match[]": {`{cluster="fleet-0"}`, "cassandra_compaction_pending_tasks"},
			"from": {fmt.Sprint(now - 50_000),
				time.UnixMilli(now - 3600_000).UTC().Format(time.RFC3339)}, "to": {fmt.Sprint(now)},
			"query": {"up", `rate(cassandra_table_read_latency_seconds[1m])`, "sum(node_load1)",
				"1"},
			"time":  {fmt.Sprint(now / 1000), time.UnixMilli(now).UTC().Format(time.RFC3339)},
			"start": {fmt.Sprint(now/1000 - 60)}, "end": {fmt.Sprint(now / 1000)},
			"timeout": {"5", "10s"}, "lookback_delta": {"1m"}, "stats": {"all", "1"},
			"metric": {"node_load1"}, "match_target": {`{cluster="fleet-0"}`}, "file": {"team.yaml"},
			"asset":       assets(f.ask("", "/", nil).body),
			"rule_name[]": {"CassandraNodeDown"}, "rule_group[]": {"cassandra-availability"},
			"file[]": {"cassandra.yaml"}, "exclude_alerts": {"true", "false"},
			"group_limit": {"0"}, "group_next_token": {""},
			"limit_per_metric": {"1"}, "scrapePool": {"ringwatch", "other"},
			"day": {"2026-01-02", time.UnixMilli(now).UTC().AddDate(0, 0,
				-1).Format(time.DateOnly)},
			"for": {"restart", "repair", "upgrade"}, "node": {a.ID.String(), b.ID.String()},
			"since": {fmt.Sprint(now - 1000)}, "at": {fmt.Sprint(now)},
			"alert":  {"CassandraNodeDown"},
			"period": {"1m", "12h"}, "step": {"20s", "10m"}, "limit": {"1", "1000"}, "after": {""},
			"rack": {"rack1"}, "by": {"node", "cluster"}, "keyspace": {"shop"}, "table": {"items"},
		}}
	prometheus, lokis := g.good, maps.Clone(g.good)
	lokis["query"] = []string{`{cluster="fleet-0"}`, `{kind="slow_query"} |= "SELECT"`,
		`sum by (kind) (count_over_time({cluster=~"fleet-.+"}[5m]))`, "vector(1)+vector(1)",
		`sum (rate({cluster="fleet-0"}[1m]))`}
	lokis["match[]"], lokis["since"] = []string{`{cluster="fleet-0"}`}, []string{"1h", "60"}
	for _, path := range slices.Sorted(func(yield func(string) bool) {
		for path := range doc.Paths.Map() {
			if !yield(path) {
				return
			}
		}
	}) {
		for method, op := range doc.Paths.Find(path).Operations() {
			t.Run(op.OperationID, func(t *testing.T) {
				g.T, g.method, g.form, g.good = t, method, nil, prometheus
				if slices.Contains(op.Tags, "loki") {
					g.good = lokis
				}
				if op.RequestBody != nil {
					if m := op.RequestBody.Value.Content.Get(formType); m != nil {
						g.form = m.Schema.Value
					}
				}
				ok := 0
				for range 60 {
					if g.call(path, op, 0)/100 == 2 {
						ok++
					}
					g.call(path, op, 0.4)
				}
				// The nodes are up, and the keys come from a configuration: TestForget, and
				// TestSessions of package account.
				if ok == 0 && !slices.Contains([]string{"forgetNode", "signIn", "signOut"},
					op.OperationID) {
					t.Error("no good request succeeds")
				}
				// there unknown ones are ignored
				if !slices.ContainsFunc(op.Tags, func(tag string) bool {
					return tag == "promql" || tag == "loki" || tag == "rules"
				}) {
					g.parametersAreDescribed(path, op)
				}
			})
		}
	}
}

// jsonType is the header of a body that is JSON.
func jsonType(op *openapi3.Operation) []string {
	if op.RequestBody == nil || op.RequestBody.Value.Content["application/json"] == nil {
		return nil
	}
	return []string{"Content-Type", "application/json"}
}

// caller makes requests.
type caller struct {
	*fixture
	*rand.Rand
	method string
	form   *openapi3.Schema    // of the body, if it is a form
	good   map[string][]string // values by parameter
}

const formType = "application/x-www-form-urlencoded"

// The bodies of requests that have one.
var (
	goodBodies = []string{`{"keys":[1]}`,
		`{"keys":["1", 2, 99], "columns":["name"], "rows":1, "timeout":"5s"}`,
		`{"keys":[{"id":2}], "class":"bulk"}`}
	hostileBodies = []string{"", " ", "null", "[]", "{}", `{"keys":[]}`, `{"keys":7}`,
		`{"keys":[1], "nosuch":1}`, `{"keys":[1]} {}`, `{"keys":[1], "rows":0}`,
		`{"keys":[1], "rows":1e99}`, `{"keys":[1], "timeout":"soon"}`,
		`{"keys":[1], "timeout":"1h"}`, `{"keys":[1], "columns":["secret"]}`,
		`{"keys":[1], "columns":"name"}`, `{"keys":[1], "class":7}`, `{"keys":["\xff"]}`,
		`{"keys":[` + strings.Repeat("[", 5000), `{"keys":[` + strings.Repeat("1,", 2000) + `1]}`,
		`{"keys":[{"a":{"b":null}}]}`, "\x00", `{"keys":["` + strings.Repeat("x", 70_000) + `"]}`,
		`{"keys":[1]`}
)

// body returns a request's body, nil if it has none.
func (g *caller) body(op *openapi3.Operation, bad float64) io.Reader {
	if op.RequestBody == nil {
		return nil
	}
	if g.form != nil {
		return strings.NewReader(g.fields(bad).Encode())
	}
	list := goodBodies
	if op.OperationID == "promRead" {
		list = g.readBodies()
	}
	if op.OperationID == "applyRules" {
		list = []string{"groups: []",
			"groups:\n- name: a\n  rules:\n  - {alert: A, expr: up == 0}\n"}
	}
	hostile := hostileBodies
	if op.OperationID == "createKey" {
		name := fmt.Sprintf("key-%d", g.Uint64()) // an account has one active key of a name
		list = []string{
			fmt.Sprintf(`{"name":%q,"scopes":["read"]}`, name),
			fmt.Sprintf(`{"name":%q,"scopes":["rules","admin","read"],"clusters":[]}`, name),
		}
		hostile = append(slices.Clone(hostile), hostileKeys...)
	}
	if g.Float64() < bad {
		list = hostile
	}
	return strings.NewReader(list[g.IntN(len(list))])
}

// fields returns a form's values.
func (g *caller) fields(bad float64) url.Values {
	form := url.Values{}
	for _, name := range slices.Sorted(maps.Keys(g.form.Properties)) {
		if slices.Contains(g.form.Required, name) || g.IntN(3) == 0 {
			p := &openapi3.Parameter{Name: name, Schema: g.form.Properties[name]}
			form.Add(name, g.value(p, bad))
		}
	}
	return form
}

// readBodies are remote reads that take samples, and that take chunks.
func (g *caller) readBodies() (list []string) {
	name := &prompb.LabelMatcher{Type: prompb.LabelMatcher_EQ, Name: "__name__",
		Value: "node_load1"}
	end := g.now.Load()
	asked := &prompb.ReadRequest{Queries: []*prompb.Query{{
		StartTimestampMs: end - 60_000, EndTimestampMs: end, Matchers: []*prompb.LabelMatcher{name},
	}}}
	for range 2 {
		message, err := asked.Marshal()
		if err != nil {
			g.Fatal(err)
		}
		list = append(list, string(snappy.Encode(nil, message)))
		asked.AcceptedResponseTypes = append(asked.AcceptedResponseTypes,
			prompb.ReadRequest_STREAMED_XOR_CHUNKS)
	}
	return list
}

var hostile = []string{"n::nosuch", "n::reads,", "cf::", "ks::a\"b::reads", "", " ", "%", "nowhere",
	"../..", "\x00", "{", `{a="`, "NaN", "-1", "0", "1e308", "99999999999999999999",
	"1969-01-01T00:00:00Z", "1ns", "-5m", "9999999y", "'; DROP", "𝔘", "{__name__=~\"(a*)*b\"}",
	strings.Repeat("x", 3000)}

func (g *caller) value(p *openapi3.Parameter, bad float64) string {
	if g.Float64() < bad {
		return hostile[g.IntN(len(hostile))]
	}
	if text, is := p.Example.(string); is {
		return text
	}
	if list := g.good[p.Name]; list != nil {
		return list[g.IntN(len(list))]
	}
	if enum := p.Schema.Value.Enum; len(enum) > 0 {
		return enum[g.IntN(len(enum))].(string)
	}
	g.Fatalf("%s has no good values", p.Name)
	return ""
}

// call makes one request with values that are bad by chance, and checks its answer.
func (g *caller) call(path string, op *openapi3.Operation, bad float64) int {
	g.Helper()
	query := url.Values{}
	for _, ref := range op.Parameters {
		p := ref.Value
		switch {
		case p.In == "path":
			v := g.value(p, bad/4)
			if v == "" || v == "../.." || v == " " {
				v = "-" + v + "-" // an empty part, and .., is another path
			}
			path = strings.ReplaceAll(path, "{"+p.Name+"}", url.PathEscape(v))
		case p.Required || g.IntN(3) == 0:
			query.Add(p.Name, g.value(p, bad))
			if g.Float64() < bad/2 {
				query.Add(p.Name, g.value(p, bad))
			}
		}
	}
	if g.Float64() < bad/4 {
		query.Set("nosuch", "1")
	}
	var header []string
	if g.form != nil {
		header = []string{"Content-Type", formType}
	} else if op.RequestBody != nil && g.IntN(3) == 0 {
		header = []string{"Accept", "application/x-ndjson"}
	}
	header = append(header, jsonType(op)...)
	r := g.send(g.method, acmeKey, path, query, g.body(op, bad), header...)
	what := fmt.Sprintf("%s?%s: %d %.300s", path, query.Encode(), r.status, r.body)
	if r.status >= 500 {
		g.Errorf("failed: %s", what)
	}
	answer := op.Responses.Status(r.status)
	if answer == nil {
		answer = op.Responses.Default()
	}
	if answer == nil {
		g.Fatalf("not described: %s", what)
	}
	if r.status == http.StatusFound { // to a page of the console
		if to := r.header.Get("Location"); !strings.HasPrefix(to, "/#/") {
			g.Errorf("it leads to %q: %s", to, what)
		}
		return http.StatusOK
	}
	kind, _, err := mime.ParseMediaType(r.header.Get("Content-Type"))
	if err != nil {
		g.Fatal(what, err)
	}
	media := answer.Value.Content.Get(kind)
	if media == nil {
		g.Fatalf("%s is not described: %s", kind, what)
	}
	if kind == "application/json" {
		var v any
		if err := json.Unmarshal(r.body, &v); err != nil {
			g.Fatal(what, err)
		}
		if err := media.Schema.Value.VisitJSON(v); err != nil {
			g.Fatalf("%v: %s", err, what)
		}
	}
	return r.status
}

// parametersAreDescribed: the refusal of an unknown parameter lists those that there are.
func (g *caller) parametersAreDescribed(path string, op *openapi3.Operation) {
	if op.Security != nil {
		return // open to everybody, without parameters
	}
	var described []string
	for _, ref := range op.Parameters {
		if p := ref.Value; p.In == "path" {
			path = strings.ReplaceAll(path, "{"+p.Name+"}", g.good[p.Name][0])
		} else {
			described = append(described, p.Name)
		}
	}
	r := g.send(g.method, acmeKey, path, url.Values{"nosuch": {"1"}}, g.body(op, 0),
		jsonType(op)...)
	_, list, _ := strings.Cut(string(r.body), "unknown parameter: use ")
	list, _, _ = strings.Cut(list, `"`)
	var served []string
	if !strings.Contains(string(r.body), "this path takes no parameters") {
		served = strings.Split(list, ", ")
	}
	slices.Sort(described)
	slices.Sort(served)
	if r.status != http.StatusBadRequest || !slices.Equal(described, served) {
		g.Errorf("described are %v, served are %v: %s", described, served, r.body)
	}
}
