package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"

	"github.com/ringwatch/ringwatch/bench"
	"github.com/ringwatch/ringwatch/bench/fleet"
	"github.com/ringwatch/ringwatch/bench/node"
	"github.com/ringwatch/ringwatch/dev/engines"
	"github.com/ringwatch/ringwatch/recent"
	"github.com/ringwatch/ringwatch/stream"
)

const (
	maxMemory  = 24 << 20 // less than the frames need
	writeNodes = 200      // whose frames are written again and again
	consumers  = 4
	batch      = 256 // records a Handle
)

type written struct {
	nodes, gain, shared, each float64 // frames a second
	cores, redisCores         float64
	peak, evicted             int64
}

// writes measures how many frames a second get into Redis, by one client for all consumers and by
// one each.
func writes(ctx context.Context, o options, dir string) (written, error) {
	shape, err := fleet.Read(o.recordings+"/busy.rwf", "busy", sizes[0].tables, 20_000)
	if err != nil {
		return written{}, err
	}
	var records []stream.Record
	var first *span
	for i := range writeNodes {
		f, err := fifteenMinutes(shape, i)
		if err != nil {
			return written{}, err
		}
		for _, b := range f.frames {
			records = append(records, stream.Record{Account: "bench", Cluster: "fleet0", Value: b})
		}
		first = f
	}
	server, err := engines.StartRedis(ctx, engines.RedisConfig{Dir: filepath.Join(dir, "writes"),
		MaxMemory: fmt.Sprint(maxMemory)})
	if err != nil {
		return written{}, err
	}
	defer server.Kill()
	var shared, each, cores, redisCores []float64
	for round := range o.rounds {
		for _, own := range []bool{false, true} {
			before, redisBefore, err := usage(server.Pid())
			if err != nil {
				return written{}, err
			}
			began := time.Now()
			n, err := writeFor(ctx, first.config(server.Addr()), records, own,
				time.Duration(o.seconds*float64(time.Second)))
			if err != nil {
				return written{}, err
			}
			took := time.Since(began).Seconds()
			after, redisAfter, err := usage(server.Pid())
			if err != nil {
				return written{}, err
			}
			rate := float64(n) / took
			fmt.Printf("writes: round %d, client per consumer %v: %.0f frames/s\n", round+1,
				own, rate)
			if own {
				each = append(each, rate)
			} else {
				shared = append(shared, rate)
			}
			cores = append(cores, (after-before).Seconds()/took)
			redisCores = append(redisCores, (redisAfter-redisBefore).Seconds()/took)
		}
	}
	client, err := plain(server.Addr())
	if err != nil {
		return written{}, err
	}
	defer client.Close()
	w := written{shared: bench.Median(shared), each: bench.Median(each), cores: bench.Median(cores),
		redisCores: bench.Median(redisCores)}
	w.nodes, w.gain = max(w.shared, w.each)*20, w.each/w.shared
	if w.peak, err = info(ctx, client, "used_memory_peak"); err != nil {
		return w, err
	}
	w.evicted, err = info(ctx, client, "evicted_keys")
	return w, err
}

func usage(pid int) (own, redis time.Duration, err error) {
	mine, err := node.UsageOf(os.Getpid(), "")
	if err != nil {
		return 0, 0, err
	}
	theirs, err := node.UsageOf(pid, "")
	return mine.CPU, theirs.CPU, err
}

// writeFor lets consumers write records for a while, and returns how many got in.
func writeFor(ctx context.Context, c recent.Config, records []stream.Record, own bool,
	span time.Duration) (int, error) {
	var one *recent.Writer
	var mu sync.Mutex
	total := 0
	end := time.Now().Add(span)
	g, ctx := errgroup.WithContext(ctx)
	for i := range consumers {
		reg := prometheus.NewRegistry()
		w := one
		if w == nil || own {
			var err error
			if w, err = recent.NewWriter(c, nil, reg); err != nil {
				return 0, err
			}
			defer w.Close()
			one = w
		}
		part := records[len(records)*i/consumers : len(records)*(i+1)/consumers]
		g.Go(func() error {
			n := 0
			for time.Now().Before(end) {
				for begin := 0; begin < len(part) && time.Now().Before(end); begin += batch {
					some := part[begin:min(begin+batch, len(part))]
					if err := w.Handle(ctx, some); err != nil {
						return err
					}
					n += len(some)
				}
			}
			mu.Lock()
			defer mu.Unlock()
			total += n
			return nil
		})
	}
	err := g.Wait()
	return total, err
}

// allWritten returns an error if a writer has dropped something: then the figures would be of less.
func allWritten(reg *prometheus.Registry, want int) error {
	families, err := reg.Gather()
	if err != nil {
		return err
	}
	for _, f := range families {
		if f.GetName() == "ringwatch_recent_written_total" {
			if n := f.Metric[0].GetCounter().GetValue(); n != float64(want) {
				return fmt.Errorf("%v of %d frames were written", n, want)
			}
		}
	}
	return nil
}
