package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/ringwatch/ringwatch/bench"
	"github.com/ringwatch/ringwatch/bench/crowd"
	"github.com/ringwatch/ringwatch/bench/fleet"
	"github.com/ringwatch/ringwatch/bench/line"
	"github.com/ringwatch/ringwatch/frame"
)

// beyond is how many windows of frames are made beyond those whose closing is measured: the fleet
// lives on until the last of them is closed.
const beyond = 2

// fleetOf are the nodes: who sends, and what was taken.
type fleetOf struct {
	*options
	*system
	key    string       // of their account
	shape  *fleet.Shape // of a busy node
	series [2]int       // of an idle node and of a busy one
	copies []*fleet.Copies
	begin  time.Time // of a window, from which on frames are made
	taken  chan crowd.Sent
	frames int64 // made for each node

	acknowledged []atomic.Int64 // by node: frames taken
	newest       []atomic.Int64 // by node: the time of the newest frame that was taken, ms
	refused      atomic.Int64   // answers that said to send again
	waiting      atomic.Int64   // frames that are due and not taken

	mu    sync.Mutex
	times []float64 // of acknowledgements since the last look, ms
}

// makingTakes is how long frames are made at most before the first of them is due.
const makingTakes = 10 * time.Second

// newFleet makes the frames of a fleet that begins with the next window and lives for some of them.
// seed tells fleets apart.
func newFleet(o *options, l *system, key string, seed uint64, windows int) (*fleetOf, error) {
	f := &fleetOf{options: o, system: l, key: key, taken: make(chan crowd.Sent),
		acknowledged: make([]atomic.Int64, o.nodes), newest: make([]atomic.Int64, o.nodes)}
	every := o.interval.Milliseconds()
	start := frame.WindowOf(time.Now().Add(makingTakes).UnixMilli()) + frame.WindowMillis
	f.begin = time.UnixMilli(start)
	f.frames = int64(windows) * frame.WindowMillis / every
	idle, busy, err := fleet.ReadBoth(o.recordings, o.tables, every)
	if err != nil {
		return nil, err
	}
	for i, shape := range []*fleet.Shape{idle, busy} {
		c, err := fleet.NewCopies(shape, seed+uint64(i), max(1, o.originals/2), start, windows)
		if err != nil {
			return nil, err
		}
		c.Clusters = true
		f.shape, f.series[i], f.copies = shape, shape.Series, append(f.copies, c)
	}
	if time.Now().After(f.begin) {
		return nil, fmt.Errorf("making frames took until after %s: fewer -originals take less time",
			f.begin.Format(time.TimeOnly))
	}
	return f, nil
}

// warm is a small fleet of another account that sends for nearly a window, so that the engines have
// compiled what they need. It is small, since its windows are closed while the fleet begins.
func warm(ctx context.Context, o *options, l *system) error {
	few := *o
	few.interval = min(o.interval, warmInterval)
	few.nodes = max(2, o.nodes/10)
	f, err := newFleet(&few, l, l.warmKey, 100, 1)
	if err != nil {
		return err
	}
	bench.Progress("%d nodes of another account warm the engines up from %s on, for %s", few.nodes,
		f.begin.Format(time.TimeOnly), warmFor)
	ctx, stop := context.WithDeadline(ctx, f.begin.Add(warmFor))
	defer stop()
	return f.send(ctx)
}

// warmInterval is that of the recordings.
const warmInterval = 5 * time.Second

// warmFor is shorter than a window: the time that is left is for making the fleet's frames.
const warmFor = frame.WindowMillis*time.Millisecond - 2*makingTakes

// id is a node's.
func (f *fleetOf) id(node int) string {
	return fleet.IDOf(f.copies[node%2].Seed, node).String()
}

// later is how long after the begin of an interval a node's frames are made, in ms: the nodes are
// spread evenly.
func (f *fleetOf) later(node int) int64 {
	return f.interval.Milliseconds() * int64(node) / int64(f.nodes)
}

// at is when a node's frame number tick is made, in ms.
func (f *fleetOf) at(node, tick int) int64 {
	return f.begin.UnixMilli() + int64(tick)*f.interval.Milliseconds() + f.later(node)
}

// tick is the number of the interval that it is now.
func (f *fleetOf) tick() int64 { return int64(time.Since(f.begin) / f.interval) }

// since is how many seconds ago a window ended.
func (f *fleetOf) since(window int) float64 {
	end := f.begin.Add(time.Duration(window+1) * frame.WindowMillis * time.Millisecond)
	return time.Since(end).Seconds()
}

// send lets all nodes send until ctx ends, or they have no more frames.
func (f *fleetOf) send(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	for node := range f.nodes {
		g.Go(func() error {
			if err := f.run(ctx, node); ctx.Err() == nil {
				return err
			}
			return nil
		})
	}
	return g.Wait()
}

// run sends a node's frames in their order. An agent would send its newest frame first.
func (f *fleetOf) run(ctx context.Context, node int) error {
	of := http.Client{Timeout: time.Minute, Transport: &http.Transport{MaxIdleConnsPerHost: 1}}
	for tick := range int(f.frames) {
		at := f.at(node, tick)
		if err := bench.Pass(ctx, time.Until(time.UnixMilli(at))); err != nil {
			return err
		}
		b, err := f.copies[node%2].Frame(node, tick, f.later(node))
		if err != nil {
			return err
		}
		when := time.Now()
		f.waiting.Add(1)
		if err := f.post(ctx, &of, b); err != nil {
			return err
		}
		f.waiting.Add(-1)
		f.acknowledged[node].Add(1)
		f.newest[node].Store(at)
		f.mu.Lock()
		f.times = append(f.times, float64(time.Since(time.UnixMilli(at)))/float64(time.Millisecond))
		f.mu.Unlock()
		select {
		case f.taken <- crowd.Sent{Node: f.id(node), At: at, When: when}:
		default:
		}
	}
	return nil
}

// The bounds of an agent's pause after a failure: half a second that doubles, anything up to that.
const (
	firstPause = 500 * time.Millisecond
	mostPause  = time.Minute
)

// post sends a frame until ingest has it, and waits as an agent does.
func (f *fleetOf) post(ctx context.Context, of *http.Client, b []byte) error {
	bound := firstPause / 2
	return line.Send(ctx, of, f.url("ingest"), f.key, b, func(after time.Duration) time.Duration {
		f.refused.Add(1)
		bound = min(2*bound, mostPause)
		return after + rand.N(bound)
	})
}

// look returns the times of acknowledgements since the last look, in ms.
func (f *fleetOf) look() []float64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	list := f.times
	f.times = nil
	return list
}
