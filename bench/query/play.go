package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/prometheus/prometheus/prompb"
	"golang.org/x/sync/errgroup"

	"github.com/ringwatch/ringwatch/bench/fleet"
	"github.com/ringwatch/ringwatch/bench/peers"
	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/window"
)

// player makes the frames of a fleet, each node's an interval apart and at its own time.
type player struct {
	account string
	nodes   []*fleet.Node
	next    []int64 // when each node's next frame is due, ms
	every   int64
	start   int64 // of the first window
	at      int64 // of the next window
	busiest [2]string
	newest  []*window.Window // of each node, for which series it had last
}

// clustersOf is in how many clusters a fleet that is compared is: in each is an idle node and a busy one.
func clustersOf(nodes int) int { return max(1, min(4, nodes/2)) }

// newPlayer makes every second node idle, the others busy.
func newPlayer(account string, idle, busy *fleet.Shape, nodes int, start int64, seed uint64) *player {
	p := &player{account: account, every: busy.Interval, start: start, at: start, newest: make([]*window.Window, nodes)}
	for i := range nodes {
		shape := idle
		if i%2 == 1 {
			shape = busy
		}
		n := fleet.NewNode(shape, seed, i)
		n.Cluster = fmt.Sprintf("%s%d", account, i*clustersOf(nodes)/nodes)
		p.nodes = append(p.nodes, n)
		p.next = append(p.next, start+int64(n.Random.IntN(int(p.every)-1000)))
	}
	return p
}

// batch is a window of all nodes.
type batch struct {
	start int64
	nodes []nodeWindow
}

type nodeWindow struct {
	node   *fleet.Node
	frames [][]byte
	window *window.Window
	series []window.Series
	gone   gone
}

// gone are the series that a node had in the last instant of a window and has not in the next one, the first of another window.
type gone struct {
	series []window.Series
	at     []int64 // both instants
}

// goes finds out what is gone with a node's newest window, whose series at its first instant are among list.
func (p *player) goes(i int, w *window.Window, list []window.Series) (g gone) {
	if before := p.newest[i]; before != nil {
		there := map[uint64]bool{}
		for j := range list {
			if list[j].At[0] == w.Times[0] {
				there[list[j].Labels.Hash()] = true
			}
		}
		g.at = []int64{before.Times[len(before.Times)-1], w.Times[0]}
		g.series = slices.DeleteFunc(before.Latest(), func(s window.Series) bool { return there[s.Labels.Hash()] })
	}
	p.newest[i] = w
	return g
}

// window plays the next window.
func (p *player) window() (*batch, error) {
	b := &batch{start: p.at, nodes: make([]nodeWindow, len(p.nodes))}
	p.at += frame.WindowMillis
	var g errgroup.Group
	g.SetLimit(2)
	for i, n := range p.nodes {
		g.Go(func() error {
			w := nodeWindow{node: n}
			for p.next[i] < p.at {
				f, err := p.frame(i)
				if err != nil {
					return err
				}
				w.frames = append(w.frames, f)
			}
			built, report, err := window.Build(window.Node{Account: p.account, ID: n.ID}, w.frames)
			if err != nil || report.Corrupt+report.MissingKey+report.Duplicates+report.Excess > 0 {
				return fmt.Errorf("the generator's frames do not read back: %+v, %w", report, err)
			}
			w.window, w.series = built, built.Select(0, 1<<60)
			w.gone = p.goes(i, built, w.series)
			b.nodes[i] = w
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	if p.busiest[1] == "" {
		p.busiest = busiest(b)
	}
	return b, nil
}

// frame makes a node's next frame.
func (p *player) frame(i int) ([]byte, error) {
	n := p.nodes[i]
	f, err := n.Frame(p.next[i])
	n.Step()
	p.next[i] += p.every
	return f, err
}

// keptRecent is how old frames are written to Redis: longer than it holds them.
const keptRecent = 20 * 60_000

// load writes windows into all sides until the next one is not over at until(). Each side takes them in order, at its own pace.
func (p *player) load(ctx context.Context, r *ours, others []*peers.Peer, until func() int64) error {
	for p.at+frame.WindowMillis <= until() { // again while others took long
		if err := p.some(ctx, r, others, until); err != nil {
			return err
		}
	}
	return nil
}

func (p *player) some(ctx context.Context, r *ours, others []*peers.Peer, until func() int64) error {
	g, ctx := errgroup.WithContext(ctx)
	var sinks []chan *batch
	add := func(write func(*batch) error) {
		c := make(chan *batch, 2)
		sinks = append(sinks, c)
		g.Go(func() error {
			for b := range c {
				if err := write(b); err != nil {
					return err
				}
			}
			return nil
		})
	}
	add(func(b *batch) error {
		return r.write(ctx, p.account, b, p.account == shortAccount && b.start > time.Now().UnixMilli()-keptRecent-frame.WindowMillis)
	})
	for _, other := range others {
		add(func(b *batch) error {
			for i := range b.nodes {
				n := &b.nodes[i]
				if err := other.Write(ctx, n.gone.series, n.gone.at); err != nil {
					return err
				}
				if err := other.Write(ctx, n.series, n.window.Times); err != nil {
					return err
				}
				if err := other.Send(ctx, heard(n.window, n.window.Times, 1)...); err != nil {
					return err
				}
			}
			return nil
		})
	}
	g.Go(func() error {
		defer func() {
			for _, c := range sinks {
				close(c)
			}
		}()
		told := time.Now()
		for p.at+frame.WindowMillis <= until() {
			b, err := p.window()
			if err != nil {
				return err
			}
			for _, c := range sinks {
				select {
				case c <- b:
				case <-ctx.Done():
					return ctx.Err()
				}
			}
			if time.Since(told) > 10*time.Second {
				told = time.Now()
				progress("%s: at %s, %.1f %% of the time to %s", p.account, time.UnixMilli(p.at).UTC().Format(time.DateTime), 100*float64(p.at-p.start)/float64(until()-p.start),
					time.UnixMilli(until()).UTC().Format(time.DateTime))
			}
		}
		return nil
	})
	return g.Wait()
}

// heard is what a Prometheus that scrapes Ringwatch knows of a node itself.
func heard(w *window.Window, times []int64, up float64) []prompb.TimeSeries {
	of := func(name string, value func(at int64) float64) prompb.TimeSeries {
		t := prompb.TimeSeries{Labels: []prompb.Label{{Name: "__name__", Value: name}, {Name: "cluster", Value: w.Node.Cluster}, {Name: "datacenter", Value: w.Node.Datacenter},
			{Name: "node", Value: w.Node.ID.String()}, {Name: "rack", Value: w.Node.Rack}}}
		for _, at := range times {
			t.Samples = append(t.Samples, prompb.Sample{Timestamp: at, Value: value(at)})
		}
		return t
	}
	last := w.Times[len(w.Times)-1]
	return []prompb.TimeSeries{
		of("up", func(int64) float64 { return up }),
		of("ringwatch_node_last_seen_timestamp_seconds", func(at int64) float64 { return float64(min(at, last)) / 1000 }),
	}
}
