package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"

	gocql "github.com/apache/cassandra-gocql-driver/v2"
	"golang.org/x/sync/errgroup"

	"github.com/ringwatch/ringwatch/bench"
	"github.com/ringwatch/ringwatch/bench/node"
)

// round is what one node did in one round.
type round struct {
	ops      int
	took     time.Duration
	cpu      time.Duration // of Cassandra's process, exporter and collections included
	threads  time.Duration // of the exporter's own threads
	p50Value float64       // ms
	p99Value float64
}

func (r round) rate() float64     { return float64(r.ops) / r.took.Seconds() }
func (r round) cpuPerOp() float64 { return float64(r.cpu.Microseconds()) / float64(r.ops) }
func (r round) share() float64    { return r.threads.Seconds() / r.cpu.Seconds() }
func (r round) p50() float64      { return r.p50Value }
func (r round) p99() float64      { return r.p99Value }

// round runs so many operations with a bounded number in flight. A latency is from before the
// call to the answer, errors end the round.
func (c contestant) round(ctx context.Context, o options, tables int, work string,
	ops int) (round, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	scrapes := make(chan error, 1)
	if c.Side.Scrape != "" {
		go func() { scrapes <- c.scrape(ctx, o.interval) }()
	}
	keys := max(1, o.ops/tables/4) // so that most reads find something
	latencies := make([][]float64, o.clients)
	var next atomic.Int64
	before, err := node.UsageOf(c.Pid(), c.Side.Thread)
	if err != nil {
		return round{}, err
	}
	g, loadCtx := errgroup.WithContext(ctx)
	for i := range o.clients {
		random := rand.New(rand.NewPCG(rand.Uint64(), uint64(i)))
		g.Go(func() error {
			mine := make([]float64, 0, ops/o.clients*2)
			for next.Add(1) <= int64(ops) {
				began := time.Now()
				if err := c.operation(loadCtx, work, node.Table(random.IntN(tables)),
					random.IntN(keys), random); err != nil {
					return err
				}
				mine = append(mine, float64(time.Since(began).Microseconds())/1000)
			}
			latencies[i] = mine
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return round{}, err
	}
	after, err := node.UsageOf(c.Pid(), c.Side.Thread)
	if err != nil {
		return round{}, err
	}
	select {
	case err := <-scrapes:
		return round{}, fmt.Errorf("scrape: %w", err)
	default:
	}
	var all []float64
	for _, mine := range latencies {
		all = append(all, mine...)
	}
	return round{ops: ops, took: after.At.Sub(before.At), cpu: after.CPU - before.CPU,
		threads: after.Threads - before.Threads, p50Value: bench.Median(all),
		p99Value: bench.Quantile(all, 0.99)}, nil
}

var text = "0123456789abcdefghijklmnopqrstuvwxyz0123456789abcdefghijklmnopqrstuvwxyz0123456789abcdefghijklmnopqrstuvwxyz"

func (c contestant) operation(ctx context.Context, work, table string, key int,
	random *rand.Rand) error {
	if work == "write" || work == "mixed" && random.IntN(2) == 0 {
		return c.session.Query("INSERT INTO "+table+" (k, c, v) VALUES (?, ?, ?)", key, 1,
			text[:random.IntN(len(text))]).ExecContext(ctx)
	}
	var v string
	err := c.session.Query("SELECT v FROM "+table+" WHERE k = ? AND c = ?", key, 1).ScanContext(ctx,
		&v)
	if err == gocql.ErrNotFound {
		return nil
	}
	return err
}

// scrape asks the exporter every interval, beginning anywhere within one, until ctx ends.
func (c contestant) scrape(ctx context.Context, interval time.Duration) error {
	wait := time.Duration(rand.Int64N(int64(interval)))
	for {
		if bench.Pass(ctx, wait) != nil {
			return nil
		}
		began := time.Now()
		if _, err := node.Scrape(ctx, c.Side.Scrape); err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return err
		}
		wait = max(0, interval-time.Since(began))
	}
}
