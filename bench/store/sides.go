package main

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"os"
	"strings"
	"time"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/ringwatch/ringwatch/bench/node"
	"github.com/ringwatch/ringwatch/engines"
	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/rollup"
	"github.com/ringwatch/ringwatch/store"
	"github.com/ringwatch/ringwatch/window"
)

// side is what is compared: a generation of the store, or a peer. Reads return how many series and points they got, so that sides can be held against each other.
type side interface {
	name() string
	pid() int // of the engine
	// write stores a node's window; settle flushes and compacts all.
	write(ctx context.Context, d *dataset, node int, w *window.Window) error
	settle(ctx context.Context, d *dataset) error
	latest(ctx context.Context, d *dataset, node int) (series, points int, err error)
	metric(ctx context.Context, d *dataset, nodes []int, name string) (series, points int, err error)
	coarse(ctx context.Context, d *dataset, node int) (series, points int, err error)
}

// generation is v1, v2 or v3 as the roles use it: frames one by one, then the close of the window, with its rollup, and an hour's at its end; reads by node.
type generation struct {
	label     string
	db        *store.Store
	cassandra *engines.Cassandra
	keyspace  string
	now       int64 // the store's clock, milliseconds
}

func openGeneration(ctx context.Context, label string, c *engines.Cassandra) (*generation, error) {
	g := &generation{label: label, cassandra: c, keyspace: "bench_" + label}
	config := store.DefaultConfig()
	config.Hosts = []string{c.Addr()}
	config.Keyspace = g.keyspace
	config.Generation = label
	config.Timeout = 10 * time.Second // half the grace: with more, frames count as late before their window ends
	config.Now = func() time.Time { return time.UnixMilli(g.now) }
	config.Log = slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError}))
	db, err := store.New(config, nil)
	if err != nil {
		return nil, err
	}
	if err := db.Connect(ctx); err != nil {
		return nil, err
	}
	g.db = db
	return g, db.Apply(ctx)
}

func (g *generation) name() string { return g.label }

func (g *generation) pid() int { return g.cassandra.Pid() }

func (g *generation) write(ctx context.Context, d *dataset, node int, w *window.Window) error {
	g.now = w.Start + frame.WindowMillis - 1 // in time: windows with late frames are read in two places
	for _, b := range d.frames[node][w.Start] {
		if err := g.db.WriteFrame(ctx, account, b); err != nil {
			return err
		}
	}
	g.now = w.Start + frame.WindowMillis + 20_000
	if err := g.db.CloseWindow(ctx, account, d.nodes[node], w.Start); err != nil {
		return err
	}
	if end := w.Start + frame.WindowMillis; end%rollup.Hour.Millis == 0 {
		return g.db.RollUp(ctx, account, d.nodes[node], rollup.Hour, end-rollup.Hour.Millis)
	}
	return nil
}

func (g *generation) settle(ctx context.Context, d *dataset) error {
	g.now = d.end + 1000
	if err := node.Tool(ctx, g.cassandra, "flush", g.keyspace); err != nil {
		return err
	}
	return node.Tool(ctx, g.cassandra, "compact", g.keyspace)
}

// disk finds what the raw layer takes, with its dictionaries and lists of nodes and buckets. What lives for an hour and what rollups take are apart.
func (g *generation) disk(ctx context.Context, r *row) error {
	if err := node.Settled(ctx, g.cassandra, g.keyspace); err != nil {
		return err
	}
	fresh := func(table string) bool { return table == "fresh" }
	rollups := func(table string) bool { return strings.HasPrefix(table, "rollup_") }
	of := func(want func(string) bool) (data, index int64, err error) {
		return tableBytes(g.cassandra, g.keyspace, want)
	}
	data, index, err := of(func(table string) bool { return !fresh(table) && !rollups(table) })
	if err != nil {
		return err
	}
	r.data, r.index = data, index
	if data, index, err = of(fresh); err != nil {
		return err
	}
	r.fresh = data + index
	data, index, err = of(rollups)
	r.rollups = data + index
	return err
}

func (g *generation) latest(ctx context.Context, d *dataset, node int) (series, points int, err error) {
	frames, _, err := g.db.LatestFrames(ctx, account, d.nodes[node])
	if err != nil || len(frames) == 0 {
		return 0, 0, fmt.Errorf("no latest frames: %w", err)
	}
	w, _, err := window.Build(window.Node{Account: account, ID: d.nodes[node]}, frames)
	if err != nil {
		return 0, 0, err
	}
	n := len(w.Latest())
	return n, n, nil
}

func (g *generation) metric(ctx context.Context, d *dataset, nodes []int, name string) (series, points int, err error) {
	match := labels.MustNewMatcher(labels.MatchEqual, "__name__", name)
	return each(nodes, func(node int) (int, int, error) {
		list, report, err := g.db.Read(ctx, account, d.nodes[node], d.start, d.end-1, match)
		if err == nil && report.Partial() {
			err = fmt.Errorf("partial: %v", report.Damage)
		}
		return len(list), countPoints(list), err
	})
}

// coarse reads a node at 5 minutes: v3 its rollups. Users of v1 and v2 had none: everything raw is read, and each series' last point of each five minutes kept.
func (g *generation) coarse(ctx context.Context, d *dataset, node int) (series, points int, err error) {
	if g.label == "v3" {
		list, report, err := g.db.ReadRollup(ctx, account, d.nodes[node], rollup.FiveMinutes, d.start, d.end-1)
		if err == nil && report.Partial() {
			err = fmt.Errorf("partial: %v", report.Damage)
		}
		for i := range list {
			points += len(list[i].Points)
		}
		return len(list), points, err
	}
	list, report, err := g.db.Read(ctx, account, d.nodes[node], d.start, d.end-1)
	if err == nil && report.Partial() {
		err = fmt.Errorf("partial: %v", report.Damage)
	}
	for i := range list {
		before := int64(math.MinInt64)
		for _, at := range list[i].At {
			if w := frame.WindowOf(at); w != before {
				before = w
				points++
			}
		}
	}
	return len(list), points, err
}

func countPoints(list []window.Series) (n int) {
	for i := range list {
		n += len(list[i].At)
	}
	return n
}

// readersInFlight is how many nodes a reader asks for at once, as the API does for a cluster.
const readersInFlight = 8

// each calls read for each node and sums up.
func each(nodes []int, read func(node int) (int, int, error)) (series, points int, err error) {
	type found struct {
		series, points int
		err            error
	}
	answers := make(chan found)
	slots := make(chan struct{}, readersInFlight)
	for _, n := range nodes {
		go func() {
			slots <- struct{}{}
			s, p, err := read(n)
			<-slots
			answers <- found{s, p, err}
		}()
	}
	for range nodes {
		f := <-answers
		series, points = series+f.series, points+f.points
		if f.err != nil {
			err = f.err
		}
	}
	return series, points, err
}
