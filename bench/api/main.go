// Command api measures what readers of everything newest get: a cluster's latest-all from Redis
// and from Cassandra, by 1 to 64 clients. Which share of a crowd's reads reaches Cassandra
// bench/wholefleet says.
//
// A real Cassandra and a real Redis get the frames of a fleet as its nodes make them
// (bench/fleet, an interval apart, each node at its own time) while two API processes answer: one
// with that Redis, one whose Redis is away. Each number of clients asks both in turn. The clients
// are a process of their own with connections that stay open; they read each body to its end and
// look at none. Engines, both API processes, clients and the fleet share the machine's cores.
package main

import (
	"context"
	"flag"
	"fmt"
	"time"

	"github.com/ringwatch/ringwatch/bench"
	"github.com/ringwatch/ringwatch/bench/fleet"
)

type options struct {
	nodes, tables, rounds int
	seconds               float64
	interval              time.Duration
	clients               []int
	binary, recordings    string
}

func main() {
	var o options
	flag.IntVar(&o.nodes, "nodes", 50, "nodes of the cluster")
	flag.IntVar(&o.tables, "tables", 9,
		"tables of a node, of the recording's 148: 9 make 2,000 series")
	flag.DurationVar(&o.interval, "interval", 20*time.Second,
		"of the nodes' frames, a multiple of 5s")
	bench.Numbers(&o.clients, "clients", []int{1, 2, 4, 8, 16, 32, 64}, "numbers of clients")
	flag.IntVar(&o.rounds, "rounds", 3, "rounds, each number of clients at both sides in turn")
	flag.Float64Var(&o.seconds, "seconds", 4,
		"how long clients begin requests, at each side in each round")
	bench.Binary(&o.binary)
	bench.Recordings(&o.recordings)
	var child string
	bench.ChildTask(&child)
	bench.Main("bench-api", func(ctx context.Context, r *bench.Result) error {
		if child != "" {
			return clientProcess(ctx, child)
		}
		return measure(ctx, o, r)
	})
}

// question is what a request asks.
type question struct {
	name, path string
	few        bool // only 1 and 32 clients: it is not what is meant for many readers
}

var questions = []question{{"json", "/v1/clusters/fleet0/metrics", false},
	{"text", "/v1/clusters/fleet0/prometheus", true}}

func measure(ctx context.Context, o options, r *bench.Result) error {
	shape, err := fleet.Read(o.recordings+"/busy.rwf", "busy", o.tables, o.interval.Milliseconds())
	if err != nil {
		return err
	}
	s, err := start(ctx, o, r.Dir)
	if err != nil {
		return err
	}
	defer s.stop()
	feed, err := s.newFeed(shape, o)
	if err != nil {
		return err
	}
	bench.Progress("%d nodes of %d series every %s: writing their last 20 minutes", o.nodes,
		shape.Series, o.interval)
	if err := feed.past(ctx); err != nil {
		return err
	}
	feeding, end := context.WithCancel(ctx)
	fed := make(chan error, 1)
	go func() { fed <- feed.run(feeding) }()
	defer func() { end(); <-fed }()
	cells, err := s.cells(ctx, o, o.clients)
	if err != nil {
		return err
	}
	end()
	if err := <-fed; err != nil && ctx.Err() == nil {
		return fmt.Errorf("the fleet's frames: %w", err)
	}
	fed <- nil // for the deferred
	addTo(r, o, shape.Series, cells)
	return nil
}

// addTo picks the headline and keeps every cell.
func addTo(r *bench.Result, o options, series int, cells []*cell) {
	at := func(question, side string, clients int) *cell {
		for _, c := range cells {
			if c.question == question && c.side == side && c.clients == clients {
				return c
			}
		}
		return &cell{}
	}
	best := func(question, side string) (most float64) {
		for _, c := range cells {
			if c.question == question && c.side == side {
				most = max(most, c.rate())
			}
		}
		return most
	}
	ratio := func(a, b float64) float64 {
		if b == 0 {
			return 0
		}
		return a / b
	}
	r.Add("p99_ms_32", at("json", redisSide, 32).quantile(0.99))
	r.Add("redis_over_cassandra_rps", ratio(best("json", redisSide), best("json", cassandraSide)))
	r.Add("text_p99_ms_32", at("text", redisSide, 32).quantile(0.99))
	r.Add("text_redis_over_cassandra_rps",
		ratio(best("text", redisSide), best("text", cassandraSide)))
	r.Add("nodes", o.nodes)
	r.Add("series_per_node", series)
	r.Add("interval_s", o.interval.Seconds())
	for _, c := range cells {
		c.keep(r)
	}
	r.Notes = fmt.Sprintf(
		"Everything newest of a cluster of %d nodes with %d series each, gzip as clients ask for "+
			"it, bodies read whole; json is /v1/clusters/…/metrics, text "+
			"/v1/clusters/…/prometheus. Two API processes of the same program: one with Redis, "+
			"one whose Redis is away. Frames come every %s from each node meanwhile. Medians of "+
			"%d rounds of %g s, both sides in turn; redis_over_cassandra_rps compares each side's "+
			"best number of clients; the next request follows at once on an answer. API, Redis, "+
			"Cassandra, clients and the fleet share the cores.",
		o.nodes, series, o.interval, o.rounds, o.seconds)
}
