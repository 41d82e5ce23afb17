package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/ringwatch/ringwatch/bench"
	"github.com/ringwatch/ringwatch/bench/node"
)

// cell is one number of clients at one side with one question.
type cell struct {
	question, side string
	clients        int
	rounds         []round
}

// round is one measurement of a cell.
type round struct {
	taken
	cores map[string]float64 // by process
}

// cells measures all, both sides in turn.
func (s *sides) cells(ctx context.Context, o options, counts []int) ([]*cell, error) {
	var cells []*cell
	for _, q := range questions {
		for _, n := range counts {
			if q.few && n != 1 && n != 32 {
				continue
			}
			for _, side := range []string{redisSide, cassandraSide} {
				cells = append(cells, &cell{question: q.name, side: side, clients: n})
			}
		}
	}
	for i := range o.rounds {
		for _, c := range cells {
			r, err := s.round(ctx, o, c)
			if err != nil {
				return nil, fmt.Errorf("%s from %s, %d clients: %w", c.question, c.side, c.clients,
					err)
			}
			c.rounds = append(c.rounds, r)
			bench.Progress("round %d, %s from %s, %2d clients: %7.1f requests/s, p50 %.1f ms, "+
				"p99 %.1f ms", i+1, c.question, c.side, c.clients, r.rate(),
				bench.Median(r.Milliseconds), bench.Quantile(r.Milliseconds, 0.99))
		}
	}
	return cells, nil
}

func (s *sides) round(ctx context.Context, o options, c *cell) (round, error) {
	before, err := usages(s.pids(c.side))
	if err != nil {
		return round{}, err
	}
	t := task{Address: strings.TrimPrefix(s.api[c.side].URLs["api"], "http://"), Key: s.key,
		Clients: c.clients, Seconds: o.seconds}
	for _, q := range questions {
		if q.name == c.question {
			t.Path = q.path
		}
	}
	var r round
	if err := bench.Child(ctx, t, &r.taken); err != nil {
		return round{}, err
	}
	after, err := usages(s.pids(c.side))
	if err != nil {
		return round{}, err
	}
	r.cores = map[string]float64{"clients": r.CPU / r.Took}
	for name := range before {
		r.cores[name] = (after[name] - before[name]).Seconds() / r.Took
	}
	return r, nil
}

func usages(pids map[string]int) (map[string]time.Duration, error) {
	all := map[string]time.Duration{}
	for name, pid := range pids {
		var err error
		if all[name], err = node.CPU(pid); err != nil {
			return nil, err
		}
	}
	return all, nil
}

func (r *round) rate() float64 { return float64(len(r.Milliseconds)) / r.Took }

// median returns the median over the rounds.
func (c *cell) median(f func(*round) float64) float64 {
	return bench.MedianOf(c.rounds, func(r round) float64 { return f(&r) })
}

func (c *cell) rate() float64 { return c.median((*round).rate) }

func (c *cell) quantile(q float64) float64 {
	return c.median(func(r *round) float64 { return bench.Quantile(r.Milliseconds, q) })
}

func (c *cell) cores(process string) float64 {
	return c.median(func(r *round) float64 { return r.cores[process] })
}

// cpu is what a request costs the API, Redis and its client together, in ms: the cores divided by
// it are the most requests a second that there can be.
func (c *cell) cpu() float64 {
	return c.median(func(r *round) float64 {
		return (r.cores["api"] + r.cores["redis"] + r.cores["clients"]) / r.rate() * 1000
	})
}

// bodyBytes is the size of an answer.
func (c *cell) bodyBytes() float64 {
	return c.median(func(r *round) float64 {
		return float64(r.Bytes) / float64(len(r.Milliseconds))
	})
}

func (c *cell) keep(r *bench.Result) {
	name := fmt.Sprintf("%s_%s_%d_", c.question, c.side, c.clients)
	r.Add(name+"rps", c.rate())
	r.Add(name+"p50_ms", c.quantile(0.5))
	r.Add(name+"p99_ms", c.quantile(0.99))
	r.Add(name+"body_bytes", c.bodyBytes())
	for _, process := range []string{"api", "redis", "cassandra", "clients"} {
		r.Add(name+process+"_cores", c.cores(process))
	}
	r.Add(name+"cpu_ms_per_request", c.cpu())
}
