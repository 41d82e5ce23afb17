package query_test

import (
	"log/slog"
	"testing"
	"time"

	"github.com/prometheus/prometheus/promql/promqltest"
	"github.com/prometheus/prometheus/storage"

	"github.com/ringwatch/ringwatch/query"
	"github.com/ringwatch/ringwatch/query/querytest"
	"github.com/ringwatch/ringwatch/query/read"
	"github.com/ringwatch/ringwatch/query/selector"
)

const memoryCluster = "promqltest"

// shift is when Prometheus's tests begin here.
const shift = 1_767_225_600_000

// TestPrometheusTestsInMemory runs Prometheus's own tests of PromQL on windows that were made of
// frames. The store's whole way is in cmd/ringwatch.
func TestPrometheusTestsInMemory(t *testing.T) {
	aside := map[string]int{}
	engine := promqltest.NewTestEngine(t, false, 0, promqltest.DefaultMaxSamplesPerQuery)
	promqltest.RunBuiltinTestsWithStorage(t, engine, func(t testing.TB) storage.Storage {
		return querytest.New(t, shift, memoryCluster,
			func(frames querytest.Frames) (storage.Queryable, error) {
				return queryableOf(t, querytest.NewMemory(t, frames))
			}, func(series, reason string) { aside[reason]++ })
	})
	for reason, n := range aside {
		t.Logf("%d series kept aside: %s", n, reason)
	}
}

func queryableOf(t testing.TB, s read.Store) (storage.Queryable, error) {
	q, _, end, err := engineOf(t, s).Queryable(t.Context(), querytest.Principal(t, "test"), 0)
	if err == nil {
		t.Cleanup(end)
	}
	return q, err
}

// engineOf returns an engine that asks a store for samples of all times.
func engineOf(t testing.TB, s read.Store) *query.Engine {
	t.Helper()
	r, err := read.New(read.Config{RecentSpan: time.Minute, NodesTTL: time.Minute,
		Timeout: time.Minute}, read.Sources{Store: s})
	if err != nil {
		t.Fatal(err)
	}
	c := query.DefaultConfig()
	c.Clock = func() time.Time { return time.UnixMilli(shift).Add(10 * 365 * 24 * time.Hour) }
	c.RawRetention = 100 * 365 * 24 * time.Hour
	p, err := selector.New(selector.DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	e, err := query.NewEngine(c, r, nil, p, nil, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return e
}
