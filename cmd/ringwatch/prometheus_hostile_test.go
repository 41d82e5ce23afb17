package main

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/snappy"
	"github.com/prometheus/prometheus/prompb"

	"github.com/ringwatch/ringwatch/api/promapi"
)

const formBody = "application/x-www-form-urlencoded"

// tenants asks at every endpoint for what is the other account's, by its cluster's name and by its
// nodes' ids. An answer may repeat what was asked for, but not say the other of the two.
func (p *promLine) tenants(t *testing.T) {
	acme, zeta := p.fleets[0], p.fleets[1]
	node := acme.nodes[0].ID.String()
	from, to := p.base-10*60_000, p.base
	shown := map[string]bool{} // endpoints that do show acme its own
	for _, r := range promapi.New(promapi.Deps{}).Routes() {
		method, path, _ := strings.Cut(r.Pattern, " ")
		for _, c := range []struct{ label, value, secret string }{
			{"cluster", acme.cluster, node}, {"node", node, acme.cluster}, {"datacenter", "dc1",
				acme.cluster},
			{"cluster", ".+", acme.cluster}, {"node", ".+", node},
		} {
			for _, label := range []string{"cluster", "node", "__name__"} {
				matcher := fmt.Sprintf(`%s=~%q`, c.label, c.value)
				values := url.Values{
					"query": {"{__name__=~\"up|node_load1|ringwatch_node_info\"," + matcher +
						"}"},
					"match[]": {"{" + matcher + "}", "up{" + matcher + "}",
						"{__name__=\"node_load1\"," + matcher + "}"},
					"time": {fmt.Sprint(to / 1000)}, "start": {fmt.Sprint(from / 1000)},
					"end":  {fmt.Sprint(to / 1000)},
					"step": {"30"}, "stats": {"all"}, "state": {"any"}, "limit": {"10000"},
				}
				ask := func(key string) (int, string) {
					at, body, kind := strings.Replace(path, "{name}", label, 1), []byte(nil), ""
					switch {
					case path == "/api/v1/read":
						re := &prompb.LabelMatcher{Type: prompb.LabelMatcher_RE, Name: c.label,
							Value: c.value}
						body, kind = readRequest(t, from, to, label == "node", re,
							equals("__name__", "node_load1")), "application/x-protobuf"
					case method == http.MethodGet:
						at += "?" + values.Encode()
					default:
						body, kind = []byte(values.Encode()), formBody
					}
					status, text, err := p.do(t.Context(), key, method, at, body, kind)
					if err != nil {
						t.Fatal(err)
					}
					if unpacked, err := snappy.Decode(nil, []byte(text)); err == nil {
						text = string(unpacked)
					}
					return status, text
				}
				status, text := ask(zeta.key)
				if status/100 != 2 || strings.Contains(text, c.secret) {
					t.Errorf("%s %s of %s: %d %.500s", r.Pattern, label, matcher, status, text)
				}
				if _, text := ask(acme.key); strings.Contains(text, c.secret) {
					shown[path] = true
				}
				for _, key := range []string{"", "rw_nobody000000000000000"} {
					if status, text := ask(key); status != http.StatusUnauthorized ||
						!strings.Contains(text, `"errorType":"unauthorized"`) {
						t.Fatalf("%s without a key: %d %s", r.Pattern, status, text)
					}
				}
			}
		}
	}
	for _, path := range []string{"query", "query_range", "series", "label/{name}/values",
		"targets", "read", "status/tsdb"} {
		if !shown["/api/v1/"+path] {
			t.Errorf("%s shows an account nothing of its own: this test is blind", path)
		}
	}
	if !shown["/federate"] {
		t.Error("/federate shows an account nothing of its own: this test is blind")
	}
}

// badInput: every mistake, and everything that is too much, is refused soon and in a sentence.
func (p *promLine) badInput(t *testing.T) {
	key := p.fleets[0].key
	many := strings.Builder{}
	for i := range 10_000 {
		fmt.Fprintf(&many, `l%d="",`, i)
	}
	long := `{__name__=~"` + strings.Repeat("a{0,1000}b{0,1000}", 14<<10/18) + `"}`
	bomb := snappy.Encode(nil, make([]byte, 64<<20))
	var lists [][]*prompb.LabelMatcher
	for range 200 {
		lists = append(lists, []*prompb.LabelMatcher{equals("__name__", "up")})
	}
	queries := func(of ...*prompb.Query) string {
		b, err := (&prompb.ReadRequest{Queries: of}).Marshal()
		if err != nil {
			t.Fatal(err)
		}
		return string(snappy.Encode(nil, b))
	}
	var tooMany []*prompb.Query
	for _, l := range lists {
		tooMany = append(tooMany, &prompb.Query{Matchers: l})
	}
	const ok = http.StatusOK
	for _, c := range []struct {
		path   string
		values url.Values // of a form; nil: body is a remote read's
		body   string
		status int
		says   string
	}{
		{"query", url.Values{"query": {"sum("}}, "", 400, "parse error"},
		{"query", url.Values{}, "", 400, "query"},
		{"query", url.Values{"query": {`up{a=~"["}`}}, "", 400, "missing closing"},
		{"query", url.Values{"query": {"up"}, "time": {"NaN"}}, "", 400, "time"},
		{"query", url.Values{"query": {"up"}, "time": {"+Inf"}}, "", 400, "time"},
		{"query", url.Values{"query": {"up{" + many.String() + "}"}}, "", 400,
			"bytes of an expression"},
		{"query", url.Values{"query": {"up{" + many.String()[:40_000] + "}"}}, "", 400,
			"matchers in the selectors of a request"},
		{"query", url.Values{"query": {long}}, "", 400, "bytes of one regular expression"},
		{"query", url.Values{"query": {long[:7000] + `"}`}}, "", 400,
			"instructions"},
		{"query", url.Values{"query": {`{__name__=~".*"}`}}, "", 400, "non-empty matcher"},
		{"query", url.Values{"query": {`{__name__=~".+_bucket"}`}}, "", 422,
			"max_series allows 120"},
		{"query", url.Values{"query": {`count_over_time(up[290y])`}}, "", ok, ""},
		{"query", url.Values{"query": {`count_over_time(node_load1[290y])`}}, "", ok, ""},
		{"query", url.Values{"query": {"up"}, "time": {"-9000000000"}}, "", ok, `"result":[]`},
		{"query", url.Values{"query": {"up"}, "time": {"9000000000"}}, "", ok, ""},
		{"query", url.Values{"query": {"up"}, "limit": {"9223372036854775807"}}, "", ok, ""},
		{"query", url.Values{"query": {"up * on (datacenter) up"}}, "", 422, "many-to-many"},
		{"query", url.Values{"query": {`label_replace(up,"a","$1","b","` +
			strings.Repeat("(a|b{0,999})", 900) + `")`}}, "", 400, ""},
		{"query_range", url.Values{"query": {"up"}, "start": {"1451606400"}, "end": {"1767225600"},
			"step": {"1ms"}}, "", 400, "exceeded maximum resolution"},
		{"query_range", url.Values{"query": {"up"}, "start": {"-9000000000"}, "end": {"9000000000"},
			"step": {"2000000"}}, "", ok, ""},
		{"query_range", url.Values{"query": {"node_load1"}, "start": {"-9000000000"},
			"end": {"9000000000"}, "step": {"2000000"}}, "", ok, ""},
		{"query_range", url.Values{"query": {"up"}, "start": {"5"}, "end": {"4"}, "step": {"1"}},
			"", 400, "end timestamp must not be before start"},
		{"query_range", url.Values{"query": {"up"}, "start": {"5"}, "end": {"6"}, "step": {"-1s"}},
			"", 400, "step"},
		{"query_range", url.Values{"query": {"up"}, "start": {"NaN"}, "end": {"6"}, "step": {"1"}},
			"", 400, "start"},
		{"query_range", url.Values{"query": {"up"}, "start": {"1"}, "end": {"Inf"}, "step": {"1"}},
			"", 400, "end"},
		{"query_range", url.Values{"query": {"up"}, "start": {"1"}, "end": {"2"}, "step": {"NaN"}},
			"", 400, "step"},
		{"series", url.Values{"match[]": {"{}"}}, "", 400, "non-empty matcher"},
		{"series", url.Values{"match[]": {`{__name__=~".*"}`}}, "", 400, "non-empty matcher"},
		{"series", url.Values{"match[]": {"up{" + many.String() + "}"}}, "", 400, "matchers"},
		{"series", url.Values{"match[]": {long}}, "", 400, "regular expression"},
		{"series", url.Values{"match[]": {"up"}, "limit": {"9223372036854775807"}}, "", ok, ""},
		{"series", url.Values{"match[]": {"up"}, "start": {"Inf"}}, "", 400, "start"},
		{"labels", url.Values{"match[]": {"{}"}}, "", 400, "non-empty matcher"},
		{"labels", url.Values{"end": {"NaN"}}, "", 400, "end"},
		{"read", nil, "no snappy", 400, "snappy"},
		{"read", nil, "", 400, "snappy"},
		{"read", nil, string(snappy.Encode(nil, []byte("no protobuf"))), 400,
			"not a remote read request"},
		{"read", nil, string(bomb[:min(len(bomb), 1<<20)]), 413, "unpacks"},
		{"read", nil, string(binary.AppendUvarint(nil, math.MaxUint32)) + "x", 413, "unpacks"},
		{"read", nil, strings.Repeat("x", 2<<20), 413, "bytes"},
		{"read", nil, queries(tooMany...), 400, "queries"},
		{"read", nil, queries(&prompb.Query{EndTimestampMs: p.base}), 400,
			"matchers match everything"},
		{"read", nil, queries(&prompb.Query{EndTimestampMs: p.base,
			Matchers: []*prompb.LabelMatcher{{Type: 7, Name: "a",
				Value: "b"}}}), 400, "unknown type"},
		{"read", nil, queries(&prompb.Query{EndTimestampMs: p.base,
			Matchers: []*prompb.LabelMatcher{{Type: prompb.LabelMatcher_RE, Name: "a",
				Value: strings.Repeat("a{0,1000}", 800)}}}), 400, "instructions"},
		{"read", nil, queries(&prompb.Query{StartTimestampMs: math.MinInt64,
			EndTimestampMs: math.MaxInt64, Matchers: []*prompb.LabelMatcher{equals("__name__",
				"up")}}), ok, ""},
		{"read", nil, queries(&prompb.Query{StartTimestampMs: math.MinInt64,
			EndTimestampMs: math.MaxInt64, Matchers: []*prompb.LabelMatcher{equals("__name__",
				"node_load1")}}), ok, ""},
		{"read", nil, queries(&prompb.Query{StartTimestampMs: math.MaxInt64,
			EndTimestampMs: math.MinInt64, Matchers: []*prompb.LabelMatcher{equals("__name__",
				"node_load1")}}), ok, ""},
	} {
		body, kind := []byte(c.body), "application/x-protobuf"
		if c.values != nil {
			body, kind = []byte(c.values.Encode()), formBody
		}
		what := fmt.Sprintf("%s %.150s%.20q", c.path, c.values.Encode(), c.body)
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		began := time.Now()
		status, text, err := p.do(ctx, key, http.MethodPost, "/api/v1/"+c.path, body, kind)
		cancel()
		if d := time.Since(began); d > 3*time.Second {
			t.Logf("%s took %s", what, d)
		}
		if err != nil || status != c.status || status == ok && c.path == "query" &&
			!strings.Contains(text, c.says) {
			t.Errorf("%s: %d %v %.300s, want %d %q", what, status, err, text, c.status, c.says)
			continue
		}
		if status == ok {
			continue
		}
		var e struct{ Status, ErrorType, Error string }
		if err := json.Unmarshal([]byte(text), &e); err != nil || e.Status != "error" ||
			e.ErrorType == "" || !strings.Contains(e.Error, c.says) || !strings.Contains(e.Error,
			" ") {
			t.Errorf("%s: %d %.300s, want a sentence with %q", what, status, text, c.says)
		}
	}
	for path, status := range map[string]int{
		"/api/v1/label/no%20name/values": ok, "/api/v1/label/nosuch/values": ok,
		"/api/v1/label/%ff/values": 400,
		"/api/v1/query?query=%zz":  400, "/api/v1/query?query=1;time=2": 400, "/federate": 400,
		"/federate?match[]={}":     400,
		"/federate?match[]=nosuch": ok, "/federate?match[]={__name__=~\".%2b_bucket\"}": 422,
		"/api/v1/targets?state=asleep": 400, "/api/v1/metadata?limit=x": 400,
		"/api/v1/targets/metadata?limit=x": 400, "/api/v1/metadata?limit=-1": ok,
		"/api/v1/query?query=" + strings.Repeat("x", 20<<10): 414,
		"/api/v1/query_exemplars":                            400, "/api/v1/nosuch": 404,
		"/api/v1/admin/tsdb/snapshot": 404,
	} {
		got, text, err := p.do(t.Context(), key, http.MethodGet, path, nil, "")
		if err != nil || got != status {
			t.Errorf("%.100s: %d %.300s %v, want %d", path, got, text, err, status)
		}
	}
	eventually(t, "all memory to be given back", p.idle)
}

// hangUp asks for what takes minutes, and hangs up.
func (p *promLine) hangUp(t *testing.T) {
	slow := "count_over_time((vector(1)" + strings.Repeat("+vector(1)", 100) + ")[1000s:1ms])"
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error, 1)
	ask := func() {
		_, text, err := p.do(ctx, p.fleets[0].key, http.MethodPost, "/api/v1/query",
			[]byte("query="+url.QueryEscape(slow)), formBody)
		if err == nil {
			err = fmt.Errorf("it was answered: %.300s", text)
		}
		ended <- err
	}
	go ask()
	running := func(want float64) func(context.Context) error {
		return func(ctx context.Context) error {
			if want > 0 && len(ended) > 0 { // by query.timeout, before anybody saw it run
				t.Logf("asked again: %v", <-ended)
				go ask()
			}
			m, err := metricsOf(ctx, p.api+"/metrics")
			if n, there := m["ringwatch_query_prometheus_engine_queries"]; err == nil && (!there ||
				n != want) {
				err = fmt.Errorf("%v queries run", n)
			}
			return err
		}
	}
	eventually(t, "the query to run", running(1))
	select {
	case err := <-ended:
		t.Fatalf("it has ended by itself: %v", err)
	default:
	}
	cancel()
	<-ended
	began := time.Now()
	eventually(t, "the query to end", running(0))
	t.Logf("it ended after %s", time.Since(began))
}
