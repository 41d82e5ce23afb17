package promapi_test

import (
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/ringwatch/ringwatch/access/listener"
	"github.com/ringwatch/ringwatch/api/apitest"
	"github.com/ringwatch/ringwatch/api/promapi"
	"github.com/ringwatch/ringwatch/frame/frametest"
	"github.com/ringwatch/ringwatch/query"
	"github.com/ringwatch/ringwatch/query/index"
	"github.com/ringwatch/ringwatch/query/plan"
	"github.com/ringwatch/ringwatch/query/querytest"
	"github.com/ringwatch/ringwatch/query/read"
	"github.com/ringwatch/ringwatch/query/selector"
)

// begin is when the nodes' first frames are of: a window's begin, in ms.
const begin = 1_767_225_600_000

// fixture serves the endpoints over a store in memory, for one account. Its nodes have sent a frame
// every 5 s for two minutes, the last one at the clock's time.
type fixture struct {
	*testing.T
	*httptest.Server
	store *apitest.Store
	nodes []*frametest.Node
	now   time.Time
}

func newFixture(t *testing.T, change ...func(*query.Config)) *fixture {
	t.Helper()
	return newFixtureOf(t, false, change...)
}

// newFixtureOf is newFixture with or without an index of series.
func newFixtureOf(t *testing.T, indexed bool, change ...func(*query.Config)) *fixture {
	t.Helper()
	frames := querytest.Frames{}
	f := &fixture{T: t, store: &apitest.Store{}, now: time.UnixMilli(begin + 120_000).UTC()}
	for i := range 3 {
		n := frametest.New("fleet", uint64(i+1), 2)
		f.nodes = append(f.nodes, n)
		for at := int64(begin); at <= f.now.UnixMilli(); at += 5000 {
			n.Step()
			b := n.Frame(at)
			f.store.Put("acme", b)
			frames[n.ID] = append(frames[n.ID], b)
		}
	}
	var x plan.Index
	if indexed {
		x = acmeIndex{querytest.NewMemory(t, frames).Index()}
	}
	clock := func() time.Time { return f.now }
	rc := read.Config{
		RecentSpan: time.Minute, NodesTTL: time.Nanosecond, Timeout: time.Minute, Clock: clock,
	}
	reader, err := read.New(rc, f.store.Sources())
	if err != nil {
		t.Fatal(err)
	}
	selectors, err := selector.New(selector.DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	c := query.DefaultConfig()
	c.Clock, c.NodesTTL = clock, time.Nanosecond
	for _, ch := range change {
		ch(&c)
	}
	e, err := query.NewEngine(c, reader, x, selectors, nil, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	who := querytest.Principal(t, "acme")
	mux := http.NewServeMux()
	for _, r := range promapi.New(promapi.Deps{
		Engine: e, Reader: reader, Version: "test", MaxRequestBytes: 1 << 20, Clock: clock,
	}).Routes() {
		mux.HandleFunc(r.Pattern, func(w http.ResponseWriter, req *http.Request) {
			req.Body = http.MaxBytesReader(w, req.Body, 1<<20)
			if err := r.Handle(w, req, who); err != nil {
				of, is := errors.AsType[*listener.Error](err)
				if !is { // as package api does
					of = &listener.Error{Status: http.StatusServiceUnavailable,
						Reason: "unavailable", Message: "the store is away"}
				}
				r.Fail(w, req, of)
			}
		})
	}
	f.Server = httptest.NewServer(mux)
	t.Cleanup(f.Server.Close)
	return f
}

// acmeIndex is an index of the account acme that has everything.
type acmeIndex struct{ *index.Index }

func (x acmeIndex) Select(_ string, q index.Query) (*index.Selection, error) {
	s, err := x.Index.Select(querytest.Account, q)
	if s != nil {
		s.Missing = 0
	}
	return s, err
}

// reply is an answer in Prometheus's form.
type reply struct {
	code              int
	Status, ErrorType string
	Error             string
	Data              json.RawMessage
	Warnings, Infos   []string
}

// get asks with parameters in the URL, post with a form.
func (f *fixture) get(path string, pairs ...string) reply {
	return f.ask(http.MethodGet, path,
		pairs)
}
func (f *fixture) post(path string, pairs ...string) reply {
	return f.ask(http.MethodPost, path, pairs)
}

func (f *fixture) ask(method, path string, pairs []string) (r reply) {
	f.Helper()
	values := url.Values{}
	for i := 0; i < len(pairs); i += 2 {
		values.Add(pairs[i], pairs[i+1])
	}
	address, body := f.URL+path, ""
	if method == http.MethodGet {
		address += "?" + values.Encode()
	} else {
		body = values.Encode()
	}
	req, err := http.NewRequestWithContext(f.Context(), method, address, strings.NewReader(body))
	if err != nil {
		f.Fatal(err)
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	answer, err := http.DefaultClient.Do(req)
	if err != nil {
		f.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		f.Fatal(err)
	}
	if err := json.Unmarshal(text, &r); err != nil {
		f.Fatalf("%s: %d %.300s: %v", path, answer.StatusCode, text, err)
	}
	r.code = answer.StatusCode
	return r
}

// text is a whole answer.
func (f *fixture) text(path string) string {
	f.Helper()
	answer, err := http.Get(f.URL + path)
	if err != nil {
		f.Fatal(err)
	}
	defer answer.Body.Close()
	b, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		f.Fatalf("%s: %s %v", b, answer.Status, err)
	}
	return string(b)
}

// want holds an answer's data against JSON.
func (f *fixture) want(r reply, want string) {
	f.Helper()
	var a, b any
	if err := json.Unmarshal([]byte(want), &b); err != nil {
		f.Fatal(want, err)
	}
	_ = json.Unmarshal(r.Data, &a) // what is no JSON differs
	x, _ := json.Marshal(a)
	y, _ := json.Marshal(b)
	if r.Status != "success" || string(x) != string(y) {
		f.Errorf("%d %s %s\ngot  %s\nwant %s", r.code, r.Status, r.Error, x, y)
	}
}
