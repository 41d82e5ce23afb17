package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"github.com/ringwatch/ringwatch/bench"
	"github.com/ringwatch/ringwatch/bench/line"
)

// crowd is what an ordinary crowd of readers got.
type crowd struct {
	requests     int
	storePercent float64
	p50, p99     float64 // ms
}

// readEvery is how often each reader asks, as published of such an API's users.
const readEvery = 20 * time.Second

// crowd lets readers ask the API with Redis: each has a node and asks it every 20 s, beginning
// somewhere of its own.
func (s *sides) crowd(ctx context.Context, o options, nodes []uuid.UUID) (crowd, error) {
	bench.Progress("a crowd of %d readers for %s", o.readers, o.pattern)
	before, err := s.metrics(ctx, redisSide)
	if err != nil {
		return crowd{}, err
	}
	var mu sync.Mutex
	var took []float64
	end := time.Now().Add(o.pattern)
	g, ctx := errgroup.WithContext(ctx)
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: o.readers}}
	for i := range o.readers {
		random := rand.New(rand.NewPCG(1, uint64(i)))
		path := "http://" + s.address[redisSide] + "/v1/nodes/" + nodes[i%len(nodes)].String() +
			"/metrics" + query(i, random)
		g.Go(func() error {
			for at := time.Now().Add(time.Duration(random.Int64N(int64(readEvery)))); at.Before(
				end); at = at.Add(readEvery) {
				if err := bench.Pass(ctx, time.Until(at)); err != nil {
					return err
				}
				began := time.Now()
				if err := s.read(ctx, client, path); err != nil {
					return err
				}
				mu.Lock()
				took = append(took, float64(time.Since(began).Microseconds())/1000)
				mu.Unlock()
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return crowd{}, err
	}
	after, err := s.metrics(context.WithoutCancel(ctx), redisSide)
	if err != nil {
		return crowd{}, err
	}
	all, stored := 0.0, 0.0
	for name, n := range after {
		labels, ok := strings.CutPrefix(name, "ringwatch_api_reads_total{")
		if !ok {
			continue
		}
		n -= before[name]
		bench.Progress("  reads %s: %.0f", strings.TrimSuffix(labels, "}"), n)
		if all += n; !strings.Contains(labels, "recent") {
			stored += n
		}
	}
	if all == 0 {
		return crowd{}, fmt.Errorf("the API has counted no read")
	}
	c := crowd{requests: len(took), storePercent: 100 * stored / all, p50: bench.Median(took),
		p99: bench.Quantile(took, 0.99)}
	bench.Progress("  %d requests, p50 %.1f ms, p99 %.1f ms, %.2f %% of the reads reached "+
		"Cassandra", c.requests, c.p50, c.p99, c.storePercent)
	return c, nil
}

// query is what reader i asks.
func query(i int, random *rand.Rand) string {
	v := url.Values{}
	switch {
	case i%10 == 0: // a short range
		v.Set("metrics", "cassandra_client_request_latency_seconds")
		v.Set("period", []string{"5m", "10m", "15m"}[random.IntN(3)])
		return "?" + v.Encode()
	case i%2 == 0:
		v["metrics"] = []string{"cassandra_compaction_pending_tasks", "os_load1",
			"cassandra_client_request_latency_seconds"}
		return "?" + v.Encode()
	}
	return ""
}

func (s *sides) read(ctx context.Context, client *http.Client, path string) error {
	b, err := line.Get(ctx, client, path, s.key)
	if err == nil && len(b) < 200 {
		err = fmt.Errorf("%s answered with %d bytes", path, len(b))
	}
	return err
}
