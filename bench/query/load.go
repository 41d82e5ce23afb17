package main

import (
	"context"
	"time"

	"github.com/prometheus/prometheus/prompb"
	"golang.org/x/sync/errgroup"

	"github.com/ringwatch/ringwatch/bench"
	"github.com/ringwatch/ringwatch/bench/peers"
	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/query/series"
	"github.com/ringwatch/ringwatch/window"
)

// sink takes series for a peer: one that runs, or blocks for one that will.
type sink interface {
	Write(ctx context.Context, list []window.Series, instants []int64) error
	Send(ctx context.Context, list ...prompb.TimeSeries) error
}

// give writes a batch into a peer.
func give(ctx context.Context, to sink, b *batch) error {
	for i := range b.nodes {
		n := &b.nodes[i]
		if err := to.Write(ctx, n.gone.series, n.gone.at); err != nil {
			return err
		}
		if err := to.Write(ctx, n.series, n.times); err != nil {
			return err
		}
		if err := to.Send(ctx, heard(n.windows[0], n.times)...); err != nil {
			return err
		}
	}
	return nil
}

// load writes batches of that length (ms) into all sides until the next one would end after
// until(). Each side takes them in order, at its own pace.
func (p *player) load(ctx context.Context, length int64, until func() int64,
	ours func(context.Context, *batch) error, others []sink) error {
	g, ctx := errgroup.WithContext(ctx)
	var queues []chan *batch
	add := func(write func(context.Context, *batch) error) {
		c := make(chan *batch)
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
	add(ours)
	for _, other := range others {
		add(func(ctx context.Context, b *batch) error { return give(ctx, other, b) })
	}
	g.Go(func() error {
		defer func() {
			for _, c := range queues {
				close(c)
			}
		}()
		began, told, first := time.Now(), time.Now(), p.at
		for p.at+length <= until() {
			b, err := p.batch(p.at + length)
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
				share := float64(p.at-first) / float64(until()-first)
				bench.Progress("%s: %.0f %% is made, %.0f s are left", p.account, 100*share,
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
	p := newPlayer(s, idle, busy, s.Start)
	var others []sink
	var ends []func() error
	defer func() {
		for _, end := range ends {
			end() // a second time if all went well, which does nothing
		}
	}()
	for _, name := range o.sides[1:] {
		if name == "prometheus" {
			b := peers.NewBlocks(dir, peers.Classic)
			others = append(others, b)
			ends = append(ends, func() error { s.Samples[name] = b.Samples; return b.Close(ctx) })
			continue
		}
		peer, err := peers.Start(ctx, name, dir, bench.Progress)
		if err != nil {
			return err
		}
		peer.Form = peers.Classic
		others = append(others, peer)
		ends = append(ends, func() error {
			s.Samples[name] = peer.Samples
			return peer.End(context.WithoutCancel(ctx))
		})
	}
	ours := func(ctx context.Context, b *batch) error { return r.write(ctx, s.Account, b) }
	r.samples = 0
	if err := p.load(ctx, s.batchMillis(), func() int64 { return s.End }, ours,
		others); err != nil {
		return err
	}
	s.Keyspace, s.Table = p.busiest[0], p.busiest[1]
	s.Samples["ringwatch"] = r.samples
	for _, end := range ends {
		if err := end(); err != nil {
			return err
		}
	}
	s.LoadS = time.Since(began).Seconds()
	bench.Progress("%s: written in %.0f s: %v samples", s.Account, s.LoadS, s.Samples)
	return nil
}

// write stores a batch as the role store does: frame by frame, then each window closed, and at
// the end of an hour and of a day these made.
func (r *ours) write(ctx context.Context, account string, b *batch) error {
	defer r.now.Store(0)
	for w := range int((b.end - b.start) / frame.WindowMillis) {
		start := b.start + int64(w)*frame.WindowMillis
		r.now.Store(start + frame.WindowMillis - 1) // in time: late frames are read in two places
		var frames [][]byte
		for i := range b.nodes {
			frames = append(frames, b.nodes[i].frames[w]...)
		}
		err := bench.AtOnce(ctx, len(frames), framesAtOnce, func(ctx context.Context, i int) error {
			return patient(ctx, func() error {
				return r.writer.WriteFrame(ctx, account, frames[i])
			})
		})
		if err != nil {
			return err
		}
		r.now.Store(start + frame.WindowMillis + grace)
		err = bench.AtOnce(ctx, len(b.nodes), nodesAtOnce, func(ctx context.Context, i int) error {
			return r.close(ctx, account, b.nodes[i].node.ID, start)
		})
		if err != nil {
			return err
		}
	}
	for i := range b.nodes {
		for _, s := range b.nodes[i].series {
			r.samples += int64(len(s.At))
		}
	}
	return nil
}
