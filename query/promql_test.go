package query_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/promqltest"
	"github.com/prometheus/prometheus/storage"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/query"
	"github.com/ringwatch/ringwatch/query/querytest"
	"github.com/ringwatch/ringwatch/selector"
	"github.com/ringwatch/ringwatch/window"
)

// windows is a store of windows in memory.
type windows struct {
	nodes []query.Node
	of    map[uuid.UUID][]*window.Window
}

func newWindows(t testing.TB, frames querytest.Frames) *windows {
	t.Helper()
	s := &windows{of: map[uuid.UUID][]*window.Window{}}
	for id, list := range frames {
		node := query.Node{Account: "test", Cluster: memoryCluster, ID: id, Interval: 3_600_000}
		s.nodes = append(s.nodes, node)
		byWindow := map[int64][][]byte{}
		for _, b := range list {
			h, _, err := frame.Parse(b)
			if err != nil {
				t.Fatal(err)
			}
			byWindow[h.Window()] = append(byWindow[h.Window()], b)
		}
		for _, of := range byWindow {
			w, _, err := window.Build(node, of)
			if err != nil {
				t.Fatal(err)
			}
			s.of[id] = append(s.of[id], w)
		}
	}
	return s
}

func (s *windows) Nodes(context.Context, string) ([]query.Node, error) { return s.nodes, nil }
func (s *windows) LatestFrames(context.Context, string, uuid.UUID) ([][]byte, int64, error) {
	return nil, 0, nil
}
func (s *windows) Read(
	_ context.Context, _ string, node uuid.UUID, from, to int64, matchers ...*labels.Matcher,
) (query.Values, error) {
	var v query.Values
	var parts [][]window.Series
	for _, w := range s.of[node] {
		parts = append(parts, w.Select(from, to, matchers...))
		for _, at := range w.Times {
			if at >= from && at <= to {
				v.Instants = append(v.Instants, at)
			}
		}
	}
	v.Series = window.Join(parts...)
	return v, nil
}

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
				return queryableOf(t, newWindows(t, frames))
			}, func(series, reason string) { aside[reason]++ })
	})
	for reason, n := range aside {
		t.Logf("%d series kept aside: %s", n, reason)
	}
}

func queryableOf(t testing.TB, s query.Store) (storage.Queryable, error) {
	q, _, end, err := engineOf(t, s).Queryable(t.Context(), querytest.Principal(t, "test"), 0)
	if err == nil {
		t.Cleanup(end)
	}
	return q, err
}

// engineOf returns an engine that asks a store for samples of all times.
func engineOf(t testing.TB, s query.Store) *query.Engine {
	t.Helper()
	r, err := query.NewReader(query.ReaderConfig{RecentSpan: time.Minute, NodesTTL: time.Minute,
		Timeout: time.Minute}, query.Sources{Store: s})
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
