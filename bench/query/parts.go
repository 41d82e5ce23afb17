package main

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/ringwatch/ringwatch/bench"
	"github.com/ringwatch/ringwatch/bench/fleet"
	"github.com/ringwatch/ringwatch/bench/node"
	"github.com/ringwatch/ringwatch/bench/peers"
	"github.com/ringwatch/ringwatch/frame"
)

// startPeers starts the peers with the data that a set has.
func (f *report) startPeers(ctx context.Context,
	dir string) (list []*peers.Peer, stop func(), err error) {
	stop = func() {
		for _, p := range list {
			p.Stop()
		}
	}
	for _, name := range f.sides[1:] {
		p, err := peers.Start(ctx, name, dir, bench.Progress)
		if err != nil {
			stop()
			return nil, nil, err
		}
		p.Form = peers.Classic
		list = append(list, p)
		if v := name + " " + p.Version; !slices.Contains(f.versions, v) {
			f.versions = append(f.versions, v)
		}
	}
	return list, stop, nil
}

// sidesOf returns Ringwatch and then the peers.
func sidesOf(r *ours, account string, others []*peers.Peer) []*side {
	list := []*side{r.side(account)}
	for _, p := range others {
		list = append(list, &side{Name: p.Name, url: func() string { return p.URL },
			restart: p.Restart, peer: true,
			pids: func() []process { return []process{{"", p.Pid()}} }})
	}
	return list
}

// ask asks about a set that is written; dir has the peers' data.
func (f *report) ask(ctx context.Context, s *set, r *ours, dir string) error {
	others, stop, err := f.startPeers(ctx, dir)
	if err != nil {
		return err
	}
	defer stop()
	idle, busy, err := s.shapes(f.recordings)
	if err != nil {
		return err
	}
	names := s.variables(idle, busy)
	b := &bed{set: s, sides: sidesOf(r, s.Account, others), variables: names,
		native: busy.IsHistogram, end: time.UnixMilli(s.End)}
	list := trendQuestions
	if s.Account == shortAccount {
		list = shortQuestions
	}
	if err := r.startAPI(ctx); err != nil {
		return err
	}
	return f.measure(ctx, b, list)
}

// variables are the set's clusters, nodes and a table of users.
func (s *set) variables(idle, busy *fleet.Shape) *variables {
	v := &variables{}
	v.keyspace, v.table = fleet.UserTable(idle, busy)
	for _, n := range s.player(idle, busy).Nodes {
		if v.nodes = append(v.nodes, n.ID.String()); !slices.Contains(v.clusters, n.Cluster) {
			v.clusters = append(v.clusters, n.Cluster)
		}
	}
	return v
}

// nodesAtOnce is how many nodes' frames are written at once.
const nodesAtOnce = 8

// fleetInterval is how often the fleet's nodes say that they send, ms: long enough for all
// questions to see frames that were made once as new.
const fleetInterval = 600_000

// fleetNow is the part of the fleet: Ringwatch alone, newest frames in Redis, and the index of
// series.
func (f *report) fleetNow(ctx context.Context, r *ours) error {
	_, shape, err := (&set{Tables: f.tables, Interval: tickMillis}).shapes(f.recordings)
	if err != nil {
		return err
	}
	shape.Interval = fleetInterval
	bench.Progress("a fleet of %d nodes of %d series", f.fleet, shape.Series)
	frames, names := make([][]byte, f.fleet), make([]string, f.fleet)
	v := &variables{}
	tell := ticker("the store has %d of %d nodes", f.fleet)
	// The store learns of nodes and series from key frames.
	err = bench.AtOnce(ctx, f.fleet, nodesAtOnce, func(ctx context.Context, i int) error {
		n := fleet.NewNode(shape, f.seed, i)
		b, err := n.Frame(time.Now().UnixMilli())
		if err != nil {
			return err
		}
		frames[i], names[i] = b, n.Cluster
		tell()
		return node.Patient(ctx, func() error {
			return r.store.Writer.WriteFrame(ctx, fleetAccount, b)
		})
	})
	if err != nil {
		return err
	}
	for _, name := range names {
		if !slices.Contains(v.clusters, name) {
			v.clusters = append(v.clusters, name)
		}
	}
	v.nodes = v.clusters // no question is about one
	if err := r.startAPI(ctx); err != nil {
		return err
	}
	bench.Progress("the index of series is loaded; writing %d frames of now into Redis", f.fleet)
	tell = ticker("Redis has %d of %d nodes", f.fleet)
	err = bench.AtOnce(ctx, f.fleet, nodesAtOnce, func(ctx context.Context, i int) error {
		k, err := frame.Decode(frames[i], nil)
		if err != nil {
			return err
		}
		k.At = time.Now().UnixMilli()
		b, err := k.Append(nil, nil)
		if err != nil {
			return err
		}
		tell()
		return r.handle(ctx, fleetAccount, names[i], b)
	})
	if err != nil {
		return err
	}
	b := &bed{set: &set{Account: fleetAccount, Nodes: f.fleet},
		sides: sidesOf(r, fleetAccount, nil), variables: v}
	written := time.Now()
	if err := f.measure(ctx, b, fleetQuestions); err != nil {
		return err
	}
	bench.Progress("the newest frames were %.0f s old in the end", time.Since(written).Seconds())
	return nil
}

// ticker returns what is called for each that is done, and now and then says how many are.
func ticker(format string, of int) func() {
	var mu sync.Mutex
	told, done := time.Now(), 0
	return func() {
		mu.Lock()
		defer mu.Unlock()
		if done++; time.Since(told) > 5*time.Second {
			told = time.Now()
			bench.Progress(format, done, of)
		}
	}
}
