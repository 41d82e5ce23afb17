package values

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/api/request"
	"github.com/ringwatch/ringwatch/memory/memorytest"
	"github.com/ringwatch/ringwatch/query/catalog"
	"github.com/ringwatch/ringwatch/query/read"
	"github.com/ringwatch/ringwatch/query/selector"
)

// requestBound is what reading a request may take: a selector's matchers and their programs are
// bounded by the configuration.
var requestBound = memorytest.Bound{Base: 16 << 20, Factor: 512, Time: time.Minute}

// maxQueryBytes and maxSelectors are what the API lets through unless it is configured.
const (
	maxQueryBytes = 16 << 10
	maxSelectors  = 32
)

func fuzzed(f *testing.F) *Handler {
	f.Helper()
	reader, err := read.New(read.Config{NodesTTL: 5 * time.Second,
		RecentSpan: 15 * time.Minute, Timeout: 30 * time.Second, Clock: time.Now},
		read.Sources{Store: struct{ read.Store }{}})
	if err != nil {
		f.Fatal(err)
	}
	shipped, err := catalog.Shipped()
	if err != nil {
		f.Fatal(err)
	}
	parser, err := selector.New(selector.DefaultConfig())
	if err != nil {
		f.Fatal(err)
	}
	return New(Config{Reader: reader, Rollups: reader,
		Selectors: request.NewSelectors(parser, maxSelectors),
		Catalog:   func(string) *catalog.Catalog { return shipped },
		MaxRange:  31 * 24 * time.Hour, Clock: time.Now})
}

// FuzzQuery reads hostile parameters of a request for metrics.
func FuzzQuery(f *testing.F) {
	h := fuzzed(f)
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
		if len(query) > maxQueryBytes {
			return // refused before it is read
		}
		requestBound.Within(t, len(query), func() {
			r := &http.Request{Method: http.MethodGet, URL: &url.URL{Path: "/v1/nodes/x/metrics",
				RawQuery: query}, Header: http.Header{}}
			q, err := h.config.question(r.WithContext(t.Context()), account.Principal{})
			if err == nil && q == nil {
				t.Error("neither a query nor an error")
			}
		})
	})
}
