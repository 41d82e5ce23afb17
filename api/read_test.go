package api_test

import (
	"fmt"
	"net/url"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ringwatch/ringwatch/api"
	"github.com/ringwatch/ringwatch/api/apitest"
	"github.com/ringwatch/ringwatch/engines"
	"github.com/ringwatch/ringwatch/frame"
)

// TestJustTheSpan: a request for the span that Redis keeps is read a moment after it came, and is Redis's all the same.
func TestJustTheSpan(t *testing.T) {
	f := &fixture{T: t, store: &apitest.Store{}, metrics: prometheus.NewRegistry()}
	now := frame.WindowOf(time.Now().UnixMilli()) + frame.WindowMillis/2
	f.now.Store(now)
	f.start(engines.SharedRedis(t).Addr(), api.Deps{Store: f.store, LastSeen: f.store.LastSeen, StoreReady: f.store.Ready})
	f.fill(1, 1, 17*time.Minute, func(b []byte) { f.store.Put(f.account("acme"), b) })
	span := api.DefaultConfig().RecentSpan.Milliseconds()
	for before, source := range map[int64]string{0: "recent", 5_000: "recent", 60_000: "both"} {
		from := now - span - before
		reads := f.count("ringwatch_api_reads_total", "range", source)
		query := url.Values{"metrics": {`{__name__=~".+"}`}, "from": {fmt.Sprint(from)}, "to": {fmt.Sprint(now)}}
		compare(t, source, f.metricsOf(0, query).flat(t), want(f.nodes[0], f.history[0], everything, func(at int64) bool { return at >= from && at <= now }))
		if f.count("ringwatch_api_reads_total", "range", source) != reads+1 {
			t.Errorf("a range of %d ms more than the span is not from %s", before, source)
		}
	}
}
