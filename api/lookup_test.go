package api_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/access/listener"
	"github.com/ringwatch/ringwatch/api"
	"github.com/ringwatch/ringwatch/api/apitest"
	"github.com/ringwatch/ringwatch/api/lookup"
	"github.com/ringwatch/ringwatch/api/reply"
)

// lookupTables has one table that the account may read.
func lookupTables(account string) lookup.Read {
	return apitest.Tables{account: {"shop.items": {
		"1": `[{"id":1,"name":"fleet spoon"}]`, `"1"`: `[{"id":1,"name":"fleet spoon"}]`,
		"2":        `[{"id":2,"name":"fork"},{"id":2,"name":"knife"}]`,
		`{"id":2}`: `[{"id":2,"name":"fork"}]`,
	}}}.Read
}

// walkLookup is TestOtherAccount for the one route with a body.
func (f *fixture) walkLookup(path string) {
	f.Helper()
	target := strings.NewReplacer("{keyspace}", "shop", "{table}", "items").Replace(path)
	for key, want := range map[string]int{acmeKey: http.StatusOK, otherKey: http.StatusNotFound,
		"": http.StatusUnauthorized, writeKey: http.StatusForbidden} {
		r := f.send(http.MethodPost, key, target, nil, strings.NewReader(`{"keys":[1]}`))
		if r.status != want || strings.Contains(string(r.body), "fleet") != (key == acmeKey) {
			f.Errorf("%s with %q: %d %s", target, key, r.status, r.body)
		}
	}
	own, none := f.send(http.MethodPost, otherKey, target, nil, strings.NewReader(`{"keys":[1]}`)),
		f.send(http.MethodPost, otherKey, "/v1/lookup/no/such", nil,
			strings.NewReader(`{"keys":[1]}`))
	if string(own.body) != string(none.body) {
		f.Errorf("a table of another account is told from one that is not there: %s and %s",
			own.body, none.body)
	}
}

// lookupServer is an API with a Lookup of the test's.
type lookupServer struct {
	*testing.T
	base    string
	metrics *prometheus.Registry
}

func newLookupServer(t *testing.T, lookup lookup.Read,
	change ...func(*api.Config, *api.Deps)) *lookupServer {
	t.Helper()
	registry, err := account.NewRegistry(
		[]account.Account{{Name: "acme",
			Keys: []account.Key{{Name: "r", Key: acmeKey, Scopes: []account.Scope{account.Read}}}}})
	if err != nil {
		t.Fatal(err)
	}
	store := &apitest.Store{}
	c := api.DefaultConfig()
	c.Listen = "127.0.0.1:0"
	d := api.Deps{Admit: account.NewDoor(registry.Authenticate).Admit, StoreReady: store.Ready,
		Lookup: lookup, Metrics: prometheus.NewRegistry(), Log: slog.New(slog.DiscardHandler)}
	for _, f := range change {
		f(&c, &d)
	}
	d.Reader = apitest.MustReader(t, c, store.Sources())
	server, err := api.New(c, d)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- server.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return &lookupServer{t, "http://" + server.Addr(), d.Metrics}
}

// post sends a lookup. The caller closes the answer's body.
func (s *lookupServer) post(body string, header ...string) *http.Response {
	s.Helper()
	r, err := http.NewRequest(http.MethodPost, s.base+"/v1/lookup/shop/items",
		strings.NewReader(body))
	if err != nil {
		s.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+acmeKey)
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		s.Fatal(err)
	}
	return answer
}

func (s *lookupServer) whole(body string, header ...string) (*http.Response, string) {
	s.Helper()
	answer := s.post(body, header...)
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		s.Fatal(err)
	}
	return answer, string(text)
}

var (
	slow = &listener.Error{Status: http.StatusGatewayTimeout, Reason: "timeout",
		Message: "its replicas are late", Cause: errors.New("10.0.0.1 is late")}
	held = &listener.Error{Status: http.StatusTooManyRequests, Reason: "throttled",
		Message:    "no room",
		RetryAfter: 3}
)

// mixed answers the last key first: the first fails, the second is missing, others have a row.
func mixed(_ context.Context, q *lookup.Query, take func(int, lookup.Answer)) error {
	for i := range slices.Backward(q.Keys) {
		switch i {
		case 0:
			take(i, lookup.Answer{Err: slow})
		case 1:
			take(i, lookup.Answer{})
		default:
			take(i, lookup.Answer{Rows: fmt.Appendf(nil, `[{"i":%d}]`, i), More: i == 3})
		}
	}
	return nil
}

const mixedResults = `{"index":0,"key":"a","error":{"reason":"timeout","message":"its replicas are late"}}
{"index":1,"key":[1,"b"],"found":false}
{"index":2,"key":7,"found":true,"rows":[{"i":2}]}
{"index":3,"key":{"k":null},"found":true,"rows":[{"i":3}],"more":true}
`

func TestLookupWhole(t *testing.T) {
	s := newLookupServer(t, mixed)
	answer, text := s.whole(`{"keys":["a", [1, "b"], 7, {"k": null}]}`)
	want := `{"found":2,"missing":1,"failed":1,"results":[` +
		strings.ReplaceAll(strings.TrimSpace(mixedResults), "\n", ",") + "]}\n"
	if answer.StatusCode != 200 || text != want || answer.Header.Get(reply.PartialHeader) != "1" ||
		answer.Header.Get("Content-Type") != "application/json" {
		t.Errorf("%s %v\n%s, want\n%s", answer.Status, answer.Header, text, want)
	}
	answer, text = s.whole(`{"keys":[1,2,3]}`, "Accept-Encoding", "identity")
	if _, partial := answer.Header[reply.PartialHeader]; !partial || !json.Valid([]byte(text)) {
		t.Errorf("%v %s", answer.Header, text)
	}
	f := fixture{T: t, metrics: s.metrics}
	if found, missing, failed := f.count("ringwatch_api_lookup_keys_total",
		"found"), f.count("ringwatch_api_lookup_keys_total", "missing"),
		f.count("ringwatch_api_lookup_keys_total", "failed"); found != 3 || missing != 2 ||
		failed != 2 {
		t.Error("counted are", found, missing, failed)
	}
}

// TestLookupLines: a line is there when its key is answered, while others are not yet.
func TestLookupLines(t *testing.T) {
	for _, coding := range []string{"identity", "gzip"} {
		seen := make(chan struct{})
		s := newLookupServer(t, func(ctx context.Context, q *lookup.Query,
			take func(int, lookup.Answer)) error {
			take(0, lookup.Answer{Err: slow}) // waits for one that is none: all might fail
			take(3, lookup.Answer{Rows: []byte(`[{"i":3}]`), More: true})
			select {
			case <-seen:
			case <-ctx.Done():
				return ctx.Err()
			}
			take(1, lookup.Answer{})
			take(2, lookup.Answer{Rows: []byte(`[{"i":2}]`)})
			return nil
		})
		header := []string{"Accept", "application/x-ndjson"}
		if coding == "identity" { // the client asks for gzip by itself, and unpacks
			header = append(header, "Accept-Encoding", coding)
		}
		answer := s.post("{\"keys\":[\"a\",\n[1,\n\"b\"], 7, {\"k\": null}]}", header...)
		lines := bufio.NewScanner(answer.Body)
		got := map[string]bool{}
		var last string
		for n := 1; lines.Scan(); n++ {
			last = lines.Text()
			if got[last] = true; n == 2 {
				close(seen)
			}
		}
		answer.Body.Close()
		if err := lines.Err(); err != nil || answer.StatusCode != 200 ||
			answer.Header.Get("Content-Type") != "application/x-ndjson" {
			t.Fatalf("%v %s %v", err, answer.Status, answer.Header)
		}
		for want := range strings.Lines(mixedResults) {
			if !got[strings.TrimSpace(want)] {
				t.Errorf("%s: no line %s in %v", coding, want, got)
			}
		}
		if last != `{"found":2,"missing":1,"failed":1}` || len(got) != 5 ||
			answer.Trailer.Get(reply.PartialHeader) != "1" {
			t.Errorf("%s: %d lines, the last is %s, trailer %v", coding, len(got), last,
				answer.Trailer)
		}
	}
}

// TestLookupAllFail: if nothing could be read the status says why, in both forms.
func TestLookupAllFail(t *testing.T) {
	for want, lookup := range map[int]lookup.Read{
		http.StatusGatewayTimeout: func(ctx context.Context, q *lookup.Query,
			take func(int, lookup.Answer)) error {
			<-ctx.Done()
			for i := range q.Keys {
				take(i, lookup.Answer{Err: slow})
			}
			return nil
		},
		http.StatusTooManyRequests: func(_ context.Context, q *lookup.Query,
			take func(int, lookup.Answer)) error {
			for i := range q.Keys {
				take(i, lookup.Answer{Err: held})
			}
			return nil
		},
		// no key was answered
		http.StatusServiceUnavailable: func(context.Context, *lookup.Query,
			func(int, lookup.Answer)) error {
			return nil
		},
		http.StatusNotFound: func(context.Context, *lookup.Query,
			func(int, lookup.Answer)) error {
			return &listener.Error{Status: http.StatusNotFound, Reason: "unknown_table",
				Message: "no"}
		},
	} {
		s := newLookupServer(t, lookup)
		for _, accept := range []string{"*/*", "text/html;q=0.5, Application/X-NDJSON; q=1"} {
			answer, text := s.whole(`{"keys":[1,2],"timeout":"20ms"}`, "Accept", accept)
			var e struct{ Error refusal }
			if err := json.Unmarshal([]byte(text), &e); err != nil || answer.StatusCode != want ||
				e.Error.Reason == "" || e.Error.Message == "" ||
				strings.Contains(text, "10.0.0.1") {
				t.Errorf("%s: %s %s %v, want %d", accept, answer.Status, text, err, want)
			}
			if after := answer.Header.Get(
				"Retry-After"); (after != "") != (want == 429 || want == 503) ||
				want == 429 && after != "3" {
				t.Errorf("%d: Retry-After %q", want, after)
			}
		}
	}
	if answer, text := newLookupServer(t,
		nil).whole(`{"keys":[1]}`); answer.StatusCode != http.StatusNotFound ||
		!strings.Contains(text, "unknown_table") {
		t.Error("without tables:", answer.Status, text)
	}
	// One that waits for nothing but its deadline.
	s := newLookupServer(t, func(ctx context.Context, _ *lookup.Query,
		_ func(int, lookup.Answer)) error {
		<-ctx.Done()
		return ctx.Err()
	})
	if answer, text := s.whole(`{"keys":[1],"timeout":"20ms"}`); answer.StatusCode !=
		http.StatusGatewayTimeout {
		t.Error(answer.Status, text)
	}
}

// TestLookupSomeUnanswered: what was not answered is said to have failed, and an answer that is
// too large is refused, or ends where it is a stream.
func TestLookupSomeUnanswered(t *testing.T) {
	s := newLookupServer(t, func(_ context.Context, q *lookup.Query,
		take func(int, lookup.Answer)) error {
		take(1, lookup.Answer{})
		take(1, lookup.Answer{}) // twice
		return errors.New("broke off")
	})
	if answer, text := s.whole(`{"keys":[1,2]}`); answer.StatusCode != 200 ||
		!strings.HasPrefix(text,
			`{"found":0,"missing":1,"failed":1,"results":[{"index":0,"key":1,"error":{"reason":"unavailable"`) {
		t.Error(answer.Status, text)
	}
	s = newLookupServer(t, func(_ context.Context, q *lookup.Query,
		take func(int, lookup.Answer)) error {
		for i := range q.Keys {
			take(i, lookup.Answer{Rows: []byte(`["` + strings.Repeat("x", 400) + `"]`)})
		}
		return nil
	}, func(c *api.Config, _ *api.Deps) { c.MaxResponseBytes = 1000 })
	if answer, text := s.whole(`{"keys":[1,2]}`); answer.StatusCode != 200 {
		t.Error(answer.Status, text)
	}
	if answer, text := s.whole(`{"keys":[1,2,3,4]}`); answer.StatusCode != 400 ||
		!strings.Contains(text, "too_large") {
		t.Error(answer.Status, text)
	}
	answer, text := s.whole(`{"keys":[1,2,3,4]}`, "Accept", "application/x-ndjson")
	if answer.StatusCode != 200 || strings.Count(text, "too_large") != 2 ||
		!strings.HasSuffix(text, "{\"found\":2,\"missing\":0,\"failed\":2}\n") ||
		answer.Trailer.Get(reply.PartialHeader) != "2" {
		t.Error(answer.Status, text, answer.Trailer)
	}
}

func TestLookupRefusals(t *testing.T) {
	var taken atomic.Int64
	s := newLookupServer(t, mixed, func(c *api.Config, d *api.Deps) {
		c.MaxRequestBytes = 100_000
		d.Limit = func(_ context.Context, account, node string) (time.Duration, string) {
			if taken.Add(1); account != "acme" || node != "" {
				t.Errorf("counted for %q, %q", account, node)
			}
			return 0, ""
		}
	})
	bodies := map[string][3]string{ // status, reason, field
		``:                                 {"400", "bad_body", "body"},
		`[1]`:                              {"400", "bad_body", "body"},
		`{"keys":[1]} x`:                   {"400", "bad_body", "body"},
		`{"keys":[1],"nosuch":2}`:          {"400", "unknown_field", "nosuch"},
		`{"keys":{"a":1}}`:                 {"400", "bad_body", "keys"},
		`{"keys":[1],"columns":"a"}`:       {"400", "bad_body", "columns"},
		`{"keys":[1],"columns":[1]}`:       {"400", "bad_body", "columns"},
		`{"keys":[1],"rows":-1}`:           {"400", "bad_rows", "rows"},
		`{"keys":[1],"timeout":"1y"}`:      {"400", "bad_timeout", "timeout"},
		`{"keys":[1],"timeout":""}`:        {"400", "bad_timeout", "timeout"},
		"{\"keys\":[\"\xff\xfe\"]}":        {"400", "bad_body", "body"},
		strings.Repeat(" ", 100_001) + "{": {"413", "body_too_large", "body"},
	}
	for body, want := range bodies {
		answer, text := s.whole(body)
		var e struct{ Error refusal }
		if err := json.Unmarshal([]byte(text), &e); err != nil ||
			fmt.Sprint(answer.StatusCode) != want[0] || e.Error.Reason != want[1] ||
			e.Error.Field != want[2] || e.Error.Message == "" {
			t.Errorf("%.60s: %s %s, want %v", body, answer.Status, text, want)
		}
	}
	if taken.Load() != int64(len(bodies)-1) { // one is refused by its length
		t.Errorf("%d of %d requests were counted against the account's limit", taken.Load(),
			len(bodies))
	}
	// Without a length the bytes are counted.
	r, err := http.NewRequest(http.MethodPost, s.base+"/v1/lookup/shop/items",
		io.MultiReader(strings.NewReader(`{"keys":["`),
			strings.NewReader(strings.Repeat("x", 200_000))))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+acmeKey)
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	if answer.StatusCode != http.StatusRequestEntityTooLarge {
		t.Error("a large body in pieces:", answer.Status)
	}
	answer, err = http.Get(s.base + "/v1/lookup/shop/items")
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	if answer.StatusCode != http.StatusMethodNotAllowed ||
		answer.Header.Get("Allow") != "POST, OPTIONS" {
		t.Error("GET:", answer.Status, answer.Header.Get("Allow"))
	}
}
