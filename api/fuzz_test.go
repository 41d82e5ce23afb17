package api

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/memory/memorytest"
	"github.com/ringwatch/ringwatch/query"
	"github.com/ringwatch/ringwatch/query/catalog"
)

// requestBound is what reading a request may take: a selector's matchers and their programs are
// bounded by the configuration, and what a key of a lookup takes by its bytes.
var requestBound = memorytest.Bound{Base: 16 << 20, Factor: 512, Time: time.Minute}

func fuzzed(f *testing.F) *Server {
	f.Helper()
	c := DefaultConfig()
	c.Listen = "127.0.0.1:0"
	reader, err := query.NewReader(c.Reader(), query.Sources{Store: struct{ query.Store }{}})
	if err != nil {
		f.Fatal(err)
	}
	shipped, err := catalog.Shipped()
	if err != nil {
		f.Fatal(err)
	}
	s, err := New(c, Deps{Reader: reader, Metrics: prometheus.NewRegistry(), Series: nil,
		Catalog: func(string) *catalog.Catalog { return shipped }})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { s.listener.Close() })
	return s
}

// FuzzQuery reads hostile parameters of a request for metrics.
func FuzzQuery(f *testing.F) {
	s := fuzzed(f)
	for _, query := range []string{
		"metrics=up",
		"metrics=up{job=~\"a.*|b\"}&from=2026-11-20T08:00:00Z&to=2026-11-20T09:00:00Z&step=30s",
		"metrics=a,b{c!=\"d\"}&period=1h&reportNaN=true",
		"metrics=m&rollup=5m&from=1700000000", "format=prometheus",
		"metrics={__name__=~\"(a{1,9}b){1,9}\"}", "metrics=%ff",
		"metrics=" + strings.Repeat("a,", 200),
		"metrics=n::reads,cf::a::*::readLatency::max,n::no&period=1h", "metrics=ks::{\"a,b\"},n::",
	} {
		f.Add(query)
	}
	f.Fuzz(func(t *testing.T, query string) {
		if len(query) > s.config.MaxQueryBytes {
			return // refused before it is read
		}
		requestBound.Within(t, len(query), func() {
			r := &http.Request{Method: http.MethodGet, URL: &url.URL{Path: "/v1/nodes/x/metrics",
				RawQuery: query}, Header: http.Header{}}
			if q, err := s.metricsQuery(r.WithContext(t.Context()),
				account.Principal{}); err == nil && q == nil {
				t.Error("neither a query nor an error")
			}
		})
	})
}

// FuzzLookup reads hostile bodies of lookups.
func FuzzLookup(f *testing.F) {
	s := fuzzed(f)
	for _, body := range []string{
		`{"keys":[1,"a",[2,"b"]],"columns":["name"],"rows":3,"timeout":"250ms"}`, `{"keys":[{}]}`,
		`{"keys":` + strings.Repeat("[", 500), `{"rows":1e99}`, `{"class":"dashboard"} `,
	} {
		f.Add(body)
	}
	f.Fuzz(func(t *testing.T, body string) {
		if int64(len(body)) > s.config.MaxRequestBytes {
			return
		}
		requestBound.Within(t, len(body), func() {
			r := httptest.NewRequest(http.MethodPost, "/v1/lookup/shop/orders",
				strings.NewReader(body))
			if q, timeout, err := s.lookupQuery(r); err == nil && (q == nil || timeout <= 0) {
				t.Error("neither a query nor an error")
			}
		})
	})
}
