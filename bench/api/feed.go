package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ringwatch/ringwatch/bench"
	"github.com/ringwatch/ringwatch/bench/fleet"
	"github.com/ringwatch/ringwatch/recent"
	"github.com/ringwatch/ringwatch/store"
	"github.com/ringwatch/ringwatch/stream"
)

// feed writes the fleet's frames as they come.
type feed struct {
	nodes  []*fleet.Node
	due    []int64 // when each node's next frame is, ms
	every  int64
	store  *store.Writer
	recent *recent.Writer
	offset int64
	clock  time.Time // of the frame that is written, while that is not now
}

// accountName is whose fleet it is.
const accountName = "bench"

func (s *sides) newFeed(shape *fleet.Shape, o options) (*feed, error) {
	c := recent.DefaultConfig()
	f := &feed{every: o.interval.Milliseconds(), store: store.NewWriter(s.store)}
	c.Addresses, c.ActiveFor, c.WriteTimeout = []string{s.Redis.Addr()}, 0, time.Minute
	// each frame comes when it was made, so that no window begins without its key frame
	c.Clock = func() time.Time {
		if f.clock.IsZero() {
			return time.Now()
		}
		return f.clock
	}
	var err error
	if f.recent, err = recent.NewWriter(c, nil, prometheus.NewRegistry()); err != nil {
		return nil, err
	}
	first := time.Now().Add(-20 * time.Minute).UnixMilli()
	for i := range o.nodes {
		n := fleet.NewNode(shape, 1, i)
		f.nodes = append(f.nodes, n)
		f.due = append(f.due, first+f.every*int64(i)/int64(o.nodes))
	}
	return f, nil
}

// next writes the next frame.
func (f *feed) next(ctx context.Context) error {
	i := slices.Index(f.due, slices.Min(f.due))
	b, err := f.nodes[i].Frame(f.due[i])
	if err != nil {
		return err
	}
	f.nodes[i].Step()
	f.due[i] += f.every
	f.offset++
	if err := f.store.Handle(ctx,
		[]stream.Record{{Account: accountName, Offset: f.offset, Value: b}}); err != nil {
		return err
	}
	return f.recent.Handle(ctx,
		[]stream.Record{{Account: accountName, Cluster: "fleet0", Value: b}})
}

// past writes what lies before now.
func (f *feed) past(ctx context.Context) error {
	for slices.Min(f.due) < time.Now().UnixMilli() {
		f.clock = time.UnixMilli(slices.Min(f.due))
		if err := f.next(ctx); err != nil {
			return fmt.Errorf("frame %d: %w", f.offset, err)
		}
	}
	f.clock = time.Time{}
	return f.store.Tick(ctx, time.Now())
}

// run writes frames when they are due, and lets windows close, until ctx ends.
func (f *feed) run(ctx context.Context) error {
	ended := make(chan error, 1)
	go func() { ended <- f.store.Run(ctx) }()
	for ctx.Err() == nil {
		if bench.Pass(ctx, time.Until(time.UnixMilli(slices.Min(f.due)))) != nil {
			break
		}
		if err := f.next(ctx); err != nil && ctx.Err() == nil {
			return err
		}
	}
	f.recent.Close()
	if err := <-ended; ctx.Err() == nil {
		return err
	}
	return nil
}
