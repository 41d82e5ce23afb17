package api_test

import (
	"context"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ringwatch/ringwatch/access/listener"
	"github.com/ringwatch/ringwatch/api"
	"github.com/ringwatch/ringwatch/api/apitest"
	"github.com/ringwatch/ringwatch/api/promapi"
	"github.com/ringwatch/ringwatch/query/index"
	"github.com/ringwatch/ringwatch/query/read"
	"github.com/ringwatch/ringwatch/rules"
)

// TestMethods asks at every path of the server with every method that it has no route for: OPTIONS,
// and each refusal, name exactly those that it has.
func TestMethods(t *testing.T) {
	board, err := rules.NewStatus(rules.DefaultConfig(), rules.Deps{})
	if err != nil {
		t.Fatal(err)
	}
	f := &fixture{T: t, store: &apitest.Store{}, metrics: prometheus.NewRegistry()}
	f.added = func(*read.Reader) []listener.Route {
		keep := func(context.Context, string, string, []byte) error { return nil }
		return append(promapi.New(promapi.Deps{}).Routes(), board.Routes(keep)...)
	}
	f.start(inMemory, f.store.Sources(), api.Deps{Lookup: lookupTables(f.account("acme")),
		Report: emptyReport, Series: index.New(0), SeriesState: func() string {
			return "ok"
		}})

	methods := map[string][]string{}
	for _, pattern := range f.server.Patterns() {
		method, path, _ := strings.Cut(pattern, " ")
		methods[path] = append(methods[path], method)
		if method == http.MethodGet {
			methods[path] = append(methods[path], http.MethodHead)
		}
	}
	for _, path := range []string{"/api/v1/query", "/api/v1/read", "/v1/rules/{file}", "/v1/keys",
		"/{$}", "/federate"} {
		if methods[path] == nil {
			t.Errorf("there is no route for %s: this test is blind", path)
		}
	}
	all := []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut,
		http.MethodPatch, http.MethodDelete}
	for path, of := range methods {
		slices.Sort(of)
		at := strings.NewReplacer("{$}", "", "{", "", "}", "").Replace(path)
		for _, method := range append([]string{http.MethodOptions, "NOSUCH"}, all...) {
			if slices.Contains(of, method) {
				continue
			}
			answer, body := f.bare(method, at)
			allow := slices.DeleteFunc(strings.Split(answer.Header.Get("Allow"), ", "),
				func(m string) bool { return m == http.MethodOptions })
			slices.Sort(allow)
			want := http.StatusMethodNotAllowed
			if method == http.MethodOptions {
				want = http.StatusNoContent
			}
			if answer.StatusCode != want || !slices.Equal(allow, of) ||
				!strings.HasSuffix(answer.Header.Get("Allow"), "OPTIONS") {
				t.Errorf("%s %s: %s, Allow %q, want %d and %q", method, at, answer.Status,
					answer.Header.Get("Allow"), want, of)
			}
			if want == http.StatusMethodNotAllowed && method != http.MethodHead &&
				!strings.Contains(body, `"reason":"method"`) {
				t.Errorf("%s %s says %q", method, at, body)
			}
		}
	}
	for _, method := range []string{http.MethodOptions, http.MethodGet, http.MethodDelete} {
		if answer, _ := f.bare(method, "/nosuch"); answer.StatusCode != http.StatusNotFound ||
			answer.Header.Get("Allow") != "" {
			t.Errorf("%s of no path: %s, Allow %q", method, answer.Status,
				answer.Header.Get("Allow"))
		}
	}
	if _, body := f.bare(http.MethodPatch, "/v1/rules/team.yaml"); !strings.Contains(body,
		"use GET or PUT or DELETE") {
		t.Errorf("PATCH of a rule file says %q", body)
	}
}

// bare asks without a key.
func (f *fixture) bare(method, path string) (*http.Response, string) {
	f.Helper()
	r, err := http.NewRequestWithContext(f.Context(), method, "http://"+f.server.Addr()+path, nil)
	if err != nil {
		f.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		f.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		f.Fatal(err)
	}
	return answer, string(body)
}
