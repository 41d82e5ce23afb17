package main

import (
	"context"
	"time"

	"github.com/prometheus/prometheus/prompb"
	"golang.org/x/sync/errgroup"

	"github.com/ringwatch/ringwatch/bench"
	"github.com/ringwatch/ringwatch/bench/fleet"
	"github.com/ringwatch/ringwatch/bench/peers"
	"github.com/ringwatch/ringwatch/query/series"
	"github.com/ringwatch/ringwatch/window"
)

// give writes a batch into a peer.
func give(ctx context.Context, to *peers.Peer, b *fleet.Batch) error {
	for i := range b.Nodes {
		n := &b.Nodes[i]
		if err := to.Write(ctx, n.Gone, n.GoneAt); err != nil {
			return err
		}
		if err := to.Write(ctx, n.Series, n.Times); err != nil {
			return err
		}
		if err := to.Send(ctx, heard(n.Windows[0], n.Times)...); err != nil {
			return err
		}
	}
	return nil
}

// load writes a set into all sides, a batch after the other. Each side takes them in order, at its
// own pace.
func (s *set) load(ctx context.Context, p *fleet.Player, r *ours,
	others []*peers.Peer) error {
	g, ctx := errgroup.WithContext(ctx)
	var queues []chan *fleet.Batch
	add := func(write func(context.Context, *fleet.Batch) error) {
		c := make(chan *fleet.Batch)
		queues = append(queues, c)
		g.Go(func() error {
			for b := range c {
				if err := write(ctx, b); err != nil {
					return err
				}
			}
			return nil
		})
	}
	add(func(ctx context.Context, b *fleet.Batch) error {
		s.Samples["ringwatch"] += b.Samples()
		return r.store.Write(ctx, s.Account, b, false)
	})
	for _, other := range others {
		add(func(ctx context.Context, b *fleet.Batch) error { return give(ctx, other, b) })
	}
	g.Go(func() error {
		defer func() {
			for _, c := range queues {
				close(c)
			}
		}()
		began, told, first := time.Now(), time.Now(), p.At
		for p.At+batchMillis <= s.End {
			b, err := p.Batch(p.At + batchMillis)
			if err != nil {
				return err
			}
			for _, c := range queues {
				select {
				case c <- b:
				case <-ctx.Done():
					return ctx.Err()
				}
			}
			if time.Since(told) > 10*time.Second {
				told = time.Now()
				share := float64(p.At-first) / float64(s.End-first)
				bench.Progress("%s: %.0f %% is made, %.0f s are left", s.Account, 100*share,
					time.Since(began).Seconds()*(1/share-1))
			}
		}
		return nil
	})
	return g.Wait()
}

// heard is what a Prometheus that scrapes Ringwatch knows of a node itself.
func heard(w *window.Window, times []int64) []prompb.TimeSeries {
	of := func(name string, value func(at int64) float64) prompb.TimeSeries {
		t := prompb.TimeSeries{Labels: []prompb.Label{{Name: "__name__", Value: name},
			{Name: "cluster", Value: w.Node.Cluster},
			{Name: "datacenter", Value: w.Node.Datacenter},
			{Name: "node", Value: w.Node.ID.String()}, {Name: "rack", Value: w.Node.Rack}}}
		for _, at := range times {
			t.Samples = append(t.Samples, prompb.Sample{Timestamp: at, Value: value(at)})
		}
		return t
	}
	one := func(int64) float64 { return 1 }
	return []prompb.TimeSeries{
		of(series.MetricUp, one),
		of(series.MetricSeen, func(at int64) float64 { return float64(at) / 1000 }),
		of(series.MetricInfo, one),
	}
}

// prepare writes a set into all sides. The peers' folders are below dir; they do not run
// afterwards.
func (s *set) prepare(ctx context.Context, o *options, r *ours, dir string) error {
	idle, busy, err := s.shapes(o.recordings)
	if err != nil {
		return err
	}
	s.place(time.Now())
	bench.Progress("%s: writing %s, of %d and %d series, from %s", s.Account, s, idle.Series,
		busy.Series, time.UnixMilli(s.Start).UTC().Format(time.DateTime))
	began := time.Now()
	p := s.player(idle, busy)
	var others []*peers.Peer
	for _, name := range o.sides[1:] {
		peer, err := peers.Start(ctx, name, dir, bench.Progress)
		if err != nil {
			return err
		}
		defer peer.Stop()
		peer.Form = peers.Classic
		others = append(others, peer)
	}
	if err := s.load(ctx, p, r, others); err != nil {
		return err
	}
	for _, peer := range others {
		s.Samples[peer.Name] = peer.Samples
		if err := peer.EndWhole(ctx); err != nil {
			return err
		}
	}
	s.LoadS = time.Since(began).Seconds()
	bench.Progress("%s: written in %.0f s: %v samples", s.Account, s.LoadS, s.Samples)
	return nil
}
