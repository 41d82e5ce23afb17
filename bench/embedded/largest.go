package main

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/ringwatch/ringwatch/bench"
	"github.com/ringwatch/ringwatch/bench/crowd"
	"github.com/ringwatch/ringwatch/bench/line"
)

// step is what the process took of so many nodes, and which bound it left.
type step struct {
	Nodes, Frames    int
	Cores, Senders   float64
	Resident         float64 // MB, the most
	FreshP99         float64 // ms
	Refused          int64   // frames that were told to come again
	Lag, Age, Missed float64
	Broken           []string `json:",omitempty"`
}

// Bounds of a step. A fleet is held if they are kept from the first to the last second.
const (
	mostFreshMs = 1000.0
	mostLag     = 1.0  // intervals of frames that a consumer is behind
	mostAgeS    = 60.0 // of the window that is due longest
)

// largest adds nodes until a bound is left.
func (r *report) largest(ctx context.Context, dir string) error {
	us, err := newOurs(&r.options, dir)
	if err != nil {
		return err
	}
	n, err := newNodes(ctx, &r.options, us)
	if err != nil {
		return err
	}
	defer n.stop()
	if err := us.Start(ctx); err != nil {
		return err
	}
	defer us.End()
	n.make(r.first)
	list, err := questions(&r.options, n)
	if err != nil {
		return err
	}
	found, fresh := &crowd.Reader{}, &crowd.Reader{}
	var readers sync.WaitGroup
	defer readers.Wait()
	reading, stop := context.WithCancel(ctx)
	defer stop()
	readers.Go(func() { found.Read(reading, readEvery, list, us.side().Ask) })
	readers.Go(func() { fresh.Probe(reading, n.taken, us.newest) })
	for from := 0; len(n.list) <= r.most; {
		bench.Progress("%d nodes send", len(n.list))
		n.send(from)
		from = len(n.list)
		if err := bench.Pass(n.ctx, 2*interval); err != nil { // their first frames are key frames
			return err
		}
		at, err := r.oneStep(n, us, fresh)
		if err != nil {
			return err
		}
		r.Steps = append(r.Steps, at)
		bench.Progress("%d nodes: %.2f cores, %.0f MB, senders %.2f cores; p99 of "+
			"freshness %.0f ms %s",
			at.Nodes, at.Cores, at.Resident, at.Senders, at.FreshP99, strings.Join(at.Broken, "; "))
		if len(at.Broken) > 0 {
			break
		}
		r.Largest = at.Nodes
		n.make(r.step)
	}
	stop()
	return n.end()
}

// oneStep measures the fleet as it is.
func (r *report) oneStep(n *nodes, us *ours, fresh *crowd.Reader) (at step, err error) {
	fresh.Begin()
	refused, frames := n.refused.Load(), n.frames.Load()
	missed := 0.0
	end := time.Now().Add(minutes(r.stepMinutes))
	at.Nodes = len(n.list)
	var used, senders []float64
	for time.Now().Before(end) {
		m, err := watch(n.ctx, min(interval, max(time.Second, time.Until(end))), us.side())
		if err != nil {
			return at, err
		}
		now, err := figures(n.ctx, us)
		if err != nil {
			return at, err
		}
		if len(used) == 0 {
			missed = now["ringwatch_rules_missed_total"]
		}
		used, senders = append(used, m[0].Cores), append(senders, m[1].Cores)
		at.Resident = max(at.Resident, m[0].Most)
		at.Lag = max(at.Lag, now["ringwatch_stream_lag_records"])
		at.Age = max(at.Age, now["ringwatch_store_closing_age_seconds"])
		at.Missed = now["ringwatch_rules_missed_total"] - missed
	}
	fresh.End()
	at.Cores, at.Senders = bench.Mean(used), bench.Mean(senders)
	at.FreshP99 = bench.Quantile(fresh.Times(), 0.99)
	at.Refused, at.Frames = n.refused.Load()-refused, int(n.frames.Load()-frames)
	broken := func(is bool, format string, args ...any) {
		if is {
			at.Broken = append(at.Broken, fmt.Sprintf(format, args...))
		}
	}
	due := int(time.Duration(at.Nodes) * minutes(r.stepMinutes) / interval)
	broken(at.FreshP99 > mostFreshMs, "freshness p99 is %.0f ms", at.FreshP99)
	late, _ := fresh.Failed()
	broken(late > 0, "%d values did not come", late)
	broken(at.Refused > 0, "%d frames were told to come again", at.Refused)
	broken(at.Frames < due*98/100, "%d frames of %d were taken", at.Frames, due)
	broken(at.Lag > mostLag*float64(at.Nodes), "a consumer is %.0f records behind", at.Lag)
	broken(at.Age > mostAgeS, "closing windows is %.0f s behind", at.Age)
	broken(at.Missed > 0, "%.0f evaluations of rules were missed", at.Missed)
	return at, nil
}

// figures are the process's metrics: of each name the sum.
func figures(ctx context.Context, us *ours) (map[string]float64, error) {
	b, err := line.Get(ctx, line.Plain, us.URLs["api"]+"/metrics", "")
	if err != nil {
		return nil, err
	}
	return line.Figures(b), nil
}
