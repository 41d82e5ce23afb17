package main

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ringwatch/ringwatch/bench/fleet"
	"github.com/ringwatch/ringwatch/bench/peers"
	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/rollup"
)

const (
	tickMillis  = 20_000
	trendMillis = 60_000
	hourMillis  = 3600_000
)

func shapes(o options, interval int64) (idle, busy *fleet.Shape, err error) {
	if idle, err = fleet.Read(o.recordings+"/idle.rwf", "idle", o.tables, interval); err != nil {
		return nil, nil, err
	}
	busy, err = fleet.Read(o.recordings+"/busy.rwf", "busy", o.tables, interval)
	return idle, busy, err
}

// startPeers starts the peers with data of their own.
func (f *report) startPeers(ctx context.Context, dir string) (list []*peers.Peer, stop func(), err error) {
	stop = func() {
		for _, p := range list {
			p.Stop()
		}
	}
	for _, name := range strings.Split(f.peers, ",") {
		if name == "" {
			continue
		}
		p, err := peers.Start(ctx, name, dir, progress)
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
		list = append(list, &side{Name: p.Name, url: p.URL, peer: true, pids: func() []process { return []process{{"", p.Pid()}} }})
	}
	return list
}

// samplesOf says how much each side was given.
func samplesOf(r *ours, others []*peers.Peer) map[string]int64 {
	m := map[string]int64{"ringwatch": r.samples}
	for _, p := range others {
		m[p.Name] = p.Samples
	}
	return m
}

// short is the part of the last hours: everything of some nodes.
func (f *report) short(ctx context.Context, r *ours, dir string) error {
	idle, busy, err := shapes(f.options, tickMillis)
	if err != nil {
		return err
	}
	others, stop, err := f.startPeers(ctx, dir)
	if err != nil {
		return err
	}
	defer stop()
	start := frame.WindowOf(time.Now().UnixMilli()) - int64(f.hours*hourMillis)/frame.WindowMillis*frame.WindowMillis
	p := newPlayer(shortAccount, idle, busy, f.nodes, start, f.seed)
	progress("%d nodes of %d and %d series from %s", f.nodes, idle.Series, busy.Series, time.UnixMilli(start).UTC().Format(time.DateTime))
	part := &part{Name: "recent hours"}
	loading := time.Now()
	present := func() int64 { return time.Now().UnixMilli() }
	if err := p.load(ctx, r, others, present); err != nil {
		return err
	}
	progress("loaded in %.0f s: %v samples; flushing", time.Since(loading).Seconds(), samplesOf(r, others))
	if err := r.settle(ctx); err != nil {
		return err
	}
	if err := p.load(ctx, r, others, present); err != nil {
		return err
	}
	part.LoadS = time.Since(loading).Seconds()
	l := newLive(p, r, others)
	if err := l.tick(ctx); err != nil {
		return err
	}
	if f.nodes >= 4 {
		l.silent = f.nodes - 1
	}
	ctx, cancel := context.WithCancel(ctx)
	fed := make(chan error, 1)
	go func() { fed <- l.run(ctx) }()
	defer func() { cancel(); <-fed }()
	if err := r.startAPI(ctx); err != nil {
		return err
	}
	if l.silent >= 0 {
		progress("waiting until the silent node counts as down")
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(150 * time.Second):
		}
	}
	sides := sidesOf(r, shortAccount, others)
	hold := func() (func(), error) {
		l.Lock()
		for _, p := range others {
			if p.Name == "victoriametrics" {
				if _, err := p.Get(ctx, "/internal/force_flush", nil); err != nil {
					l.Unlock()
					return nil, err
				}
			}
		}
		return l.Unlock, nil
	}
	if err := f.ask(ctx, part.Name, sides, shortQuestions, p.variables(), time.Now, hold); err != nil {
		select {
		case failed := <-fed:
			fed <- nil
			err = fmt.Errorf("%w; the fleet's frames: %v", err, failed)
		default:
		}
		return err
	}
	part.Samples = samplesOf(r, others)
	if err := f.note(part, sides); err != nil {
		return err
	}
	cancel()
	err = <-fed
	fed <- nil
	return err
}

// variables are the fleet's: clusters, nodes but for a silent one, and its busiest table of users.
func (p *player) variables() *variables {
	v := &variables{}
	for _, n := range p.nodes[:max(2, len(p.nodes)-1)] {
		if v.nodes = append(v.nodes, n.ID.String()); !slices.Contains(v.clusters, n.Cluster) {
			v.clusters = append(v.clusters, n.Cluster)
		}
	}
	v.keyspace, v.table = p.busiest[0], p.busiest[1]
	return v
}

// busiest returns the keyspace and table of a window of nodes that are written most, of those that all nodes have.
func busiest(b *batch) [2]string {
	counts, having := map[[2]string]int64{}, map[[2]string]int{}
	for i := range b.nodes {
		for _, s := range b.nodes[i].series {
			if s.Metric.Name == writes && len(s.Histograms) > 0 {
				k := [2]string{s.Labels.Get("keyspace"), s.Labels.Get("table")}
				counts[k] += s.Histograms[len(s.Histograms)-1].Count()
				having[k]++
			}
		}
	}
	best := [2]string{}
	for k := range counts {
		if c := cmp.Or(cmp.Compare(having[k], having[best]), cmp.Compare(counts[k], counts[best]), strings.Compare(best[0]+"."+best[1], k[0]+"."+k[1])); c > 0 {
			best = k
		}
	}
	return best
}

// trend is the part of the long trends: a few metrics of some nodes.
func (f *report) trend(ctx context.Context, r *ours, dir string) error {
	idle, busy, err := shapes(f.options, trendMillis)
	if err != nil {
		return err
	}
	for _, s := range []*fleet.Shape{idle, busy} {
		s.Only(func(metric string) bool { return slices.Contains([]string{requests, writes, heap, pending}, metric) })
	}
	others, stop, err := f.startPeers(ctx, filepath.Join(dir, "trend"))
	if err != nil {
		return err
	}
	defer stop()
	end := rollup.Hour.Start(time.Now().UnixMilli())
	span := time.Duration(f.trendDays*24) * time.Hour
	start := end - span.Milliseconds()
	r.samples = 0
	p := newPlayer(trendAccount, idle, busy, f.trendNodes, start, f.seed)
	progress("a trend of %d nodes of %d and %d series from %s", f.trendNodes, idle.Series, busy.Series, time.UnixMilli(start).UTC().Format(time.DateTime))
	part := &part{Name: "trend"}
	loading := time.Now()
	if err := p.load(ctx, r, others, func() int64 { return end }); err != nil {
		return err
	}
	part.LoadS = time.Since(loading).Seconds()
	progress("loaded in %.0f s: %v samples; flushing", part.LoadS, samplesOf(r, others))
	if err := r.settle(ctx); err != nil {
		return err
	}
	for _, p := range others {
		if p.Name == "victoriametrics" {
			if _, err := p.Get(ctx, "/internal/force_flush", nil); err != nil {
				return err
			}
		}
	}
	if err := r.startAPI(ctx); err != nil {
		return err
	}
	list := slices.Clone(trendQuestions)
	for i := range list {
		list[i].title = strings.ReplaceAll(list[i].title, "$days", fmt.Sprintf("%g", f.trendDays))
		list[i].span = span - time.Hour // the first hour has nothing before it
	}
	sides := sidesOf(r, trendAccount, others)
	last := time.UnixMilli(end)
	if err := f.ask(ctx, part.Name, sides, list, p.variables(), func() time.Time { return last }, func() (func(), error) { return func() {}, nil }); err != nil {
		return err
	}
	part.Samples = samplesOf(r, others)
	return f.note(part, sides)
}

// fleetInterval is how often the fleet's nodes say that they send, ms: long enough for all questions to see frames that were made once as new.
const fleetInterval = 600_000

// fleetNow is the part of the fleet: Ringwatch alone, newest frames in Redis, and the index of series.
func (f *report) fleetNow(ctx context.Context, r *ours) error {
	_, shape, err := shapes(f.options, tickMillis)
	if err != nil {
		return err
	}
	shape.Interval = fleetInterval
	progress("a fleet of %d nodes of %d series", f.fleet, shape.Series)
	frames, names := make([][]byte, f.fleet), make([]string, f.fleet)
	v := &variables{}
	tell := ticker("the store has %d of %d nodes", f.fleet)
	// The store learns of nodes and series from key frames.
	err = inParallel(ctx, f.fleet, func(ctx context.Context, i int) error {
		n := fleet.NewNode(shape, f.seed, i)
		b, err := n.Frame(time.Now().UnixMilli())
		if err != nil {
			return err
		}
		frames[i], names[i] = b, n.Cluster
		tell()
		return patient(ctx, func() error { return r.writer.WriteFrame(ctx, fleetAccount, b) })
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
	progress("the index of series is loaded; writing %d frames of now into Redis", f.fleet)
	tell = ticker("Redis has %d of %d nodes", f.fleet)
	err = inParallel(ctx, f.fleet, func(ctx context.Context, i int) error {
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
	sides := sidesOf(r, fleetAccount, nil)
	part := &part{Name: "fleet"}
	written := time.Now()
	if err := f.ask(ctx, part.Name, sides, fleetQuestions, v, time.Now, func() (func(), error) { return func() {}, nil }); err != nil {
		return err
	}
	progress("the newest frames were %.0f s old in the end", time.Since(written).Seconds())
	return f.note(part, sides)
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
			progress(format, done, of)
		}
	}
}
