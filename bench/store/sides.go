package main

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"os"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/ringwatch/ringwatch/bench"
	"github.com/ringwatch/ringwatch/bench/node"
	"github.com/ringwatch/ringwatch/dev/engines"
	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/memory"
	"github.com/ringwatch/ringwatch/store"
	"github.com/ringwatch/ringwatch/window"
	"github.com/ringwatch/ringwatch/window/building"
	"github.com/ringwatch/ringwatch/window/rollup"
	"github.com/ringwatch/ringwatch/window/selecting"
)

// side is what is compared: a generation of the store, or a peer. Reads return how many series and
// points they got, so that sides can be held against each other.
type side interface {
	name() string
	pid() int // of the engine
	// rows is how many rows it has read so far; 0: it has none, or does not say.
	rows() float64
	// write stores all nodes' windows of one start; settle flushes and compacts all.
	write(ctx context.Context, d *dataset, start int64, windows []*window.Window) error
	settle(ctx context.Context, d *dataset) error
	latest(ctx context.Context, d *dataset, node int) (series, points int, err error)
	read(ctx context.Context, d *dataset, nodes []int, what selection) (series,
		points int, err error)
	coarse(ctx context.Context, d *dataset, node int, from int64) (series, points int, err error)
}

// selection is which series are read, and from when to when, ms.
type selection struct {
	from, to int64
	labels   map[string]string // of the series; nil: all of the node
	// of histograms only how many were counted, which is all that most questions need
	counts bool
}

// generation is v1, v2 or v3 as the roles use it: frames one by one, then the close of the window,
// with its rollup, and an hour's at its end; reads by node.
type generation struct {
	label     string
	db        *store.Store
	writer    *store.Writer
	cassandra *engines.Cassandra
	keyspace  string
	now       int64 // the store's clock, milliseconds
	metrics   *prometheus.Registry
}

func openGeneration(ctx context.Context, label string, c *engines.Cassandra) (*generation, error) {
	g := &generation{label: label, cassandra: c, keyspace: "bench_" + label,
		metrics: prometheus.NewRegistry()}
	config := store.DefaultConfig()
	config.Hosts = []string{c.Addr()}
	config.Keyspace = g.keyspace
	config.Generation = label
	// half the grace: with more, frames count as late before their window ends
	config.Timeout = 10 * time.Second
	config.Now = func() time.Time { return time.UnixMilli(g.now) }
	config.Log = slog.New(slog.NewTextHandler(os.Stderr,
		&slog.HandlerOptions{Level: slog.LevelError}))
	db, err := node.OpenStore(ctx, config, store.NewMetrics(g.metrics))
	if err != nil {
		return nil, err
	}
	g.db, g.writer = db, store.NewWriter(db)
	return g, nil
}

// reader reads as the API does, without a bound.
func (g *generation) reader() store.Reader {
	return g.db.Reader(store.Dashboard(account), memory.Unbounded())
}

func (g *generation) name() string { return g.label }

func (g *generation) pid() int { return g.cassandra.Pid() }

// rows is what the store counts at the driver, pages and all.
func (g *generation) rows() float64 {
	return node.Sum(g.metrics, "ringwatch_store_rows_read_total")
}

// How many frames, and windows, are written at once. An answer takes 10 ms, which is how long
// Cassandra gathers writes.
const (
	framesAtOnce  = 32
	windowsAtOnce = 8
)

func (g *generation) write(ctx context.Context, d *dataset, start int64, _ []*window.Window) error {
	end := start + frame.WindowMillis
	g.now = end - 1 // in time: windows with late frames are read in two places
	var frames [][]byte
	for i := range d.nodes {
		list, err := d.of(i, start)
		if err != nil {
			return err
		}
		frames = append(frames, list...)
	}
	err := bench.AtOnce(ctx, len(frames), framesAtOnce, func(ctx context.Context, i int) error {
		return g.writer.WriteFrame(ctx, account, frames[i])
	})
	if err != nil {
		return err
	}
	g.now = end + 20_000
	err = g.all(ctx, d, func(ctx context.Context, node uuid.UUID) error {
		return g.writer.CloseWindow(ctx, memory.Unbounded(), account, node, start)
	})
	if err != nil || end%rollup.Hour.Millis != 0 && end != d.end {
		return err
	}
	return g.makeHours(ctx, d, start)
}

// makeHours makes the hour of a window that is its last, and the day if it ends with it.
func (g *generation) makeHours(ctx context.Context, d *dataset, last int64) error {
	end := last + frame.WindowMillis
	return g.all(ctx, d, func(ctx context.Context, node uuid.UUID) error {
		err := g.writer.MakeHour(ctx, memory.Unbounded(), account, node, rollup.Hour.Start(last))
		if err == nil && (end%rollup.Day.Millis == 0 || end == d.end) {
			err = g.writer.MakeDay(ctx, memory.Unbounded(), account, node, rollup.Day.Start(last))
		}
		return err
	})
}

// all calls do for each node.
func (g *generation) all(ctx context.Context, d *dataset,
	do func(ctx context.Context, node uuid.UUID) error) error {
	return bench.AtOnce(ctx, len(d.nodes), windowsAtOnce, func(ctx context.Context, i int) error {
		return do(ctx, d.nodes[i])
	})
}

func (g *generation) settle(ctx context.Context, d *dataset) error {
	g.now = d.end + 1000
	if err := node.Tool(ctx, g.cassandra, "flush", g.keyspace); err != nil {
		return err
	}
	return node.Tool(ctx, g.cassandra, "compact", g.keyspace)
}

// disk finds what each table takes. The raw layer is what is left without frames, which live for an
// hour, short rows, which live until their hour is made, and rollups.
func (g *generation) disk(ctx context.Context, r *row) error {
	if err := node.Settled(ctx, g.cassandra, g.keyspace); err != nil {
		return err
	}
	var err error
	if r.tables, err = tableBytes(g.cassandra, g.keyspace); err != nil {
		return err
	}
	r.data, r.index, r.fresh, r.short, r.rollups = 0, 0, 0, 0, 0
	for table, size := range r.tables {
		switch all := size.data + size.index; {
		case table == "fresh":
			r.fresh += all
		case table == "v3_windows":
			// ISSUE 27's; v1_windows and v2_windows are part of their raw layers
			r.short += all
		case strings.HasPrefix(table, "rollup_"):
			r.rollups += all
		default:
			r.data, r.index = r.data+size.data, r.index+size.index
		}
	}
	return nil
}

func (g *generation) latest(ctx context.Context, d *dataset, node int) (series,
	points int, err error) {
	frames, _, _, err := g.reader().LatestFrames(ctx, account, d.nodes[node])
	if err != nil || len(frames) == 0 {
		return 0, 0, fmt.Errorf("no latest frames: %w", err)
	}
	w, _, err := building.Window(window.Node{Account: account, ID: d.nodes[node]}, frames)
	if err != nil {
		return 0, 0, err
	}
	n := len(selecting.Latest(w))
	return n, n, nil
}

// read asks each node, as the API does.
//
// ISSUE 27: what.counts is for the new store's call that reads counts and sums without buckets.
// Today's reads them all.
func (g *generation) read(ctx context.Context, d *dataset, nodes []int, what selection) (series,
	points int, err error) {
	var matchers []*labels.Matcher
	for name, value := range what.labels {
		matchers = append(matchers, labels.MustNewMatcher(labels.MatchEqual, name, value))
	}
	return each(nodes, func(node int) (int, int, error) {
		list, report, err := g.reader().Read(ctx, account, d.nodes[node], what.from, what.to,
			matchers...)
		if err == nil && report.Partial() {
			err = fmt.Errorf("partial: %v", report.Damage)
		}
		return len(list), countPoints(list), err
	})
}

// coarse reads a node at 5 minutes: v3 its rollups. Users of v1 and v2 had none: everything raw is
// read, and each series' last point of each five minutes kept.
func (g *generation) coarse(ctx context.Context, d *dataset, node int, from int64) (series,
	points int, err error) {
	if g.label == "v3" {
		list, report, err := g.reader().ReadRollup(ctx, account, d.nodes[node], rollup.FiveMinutes,
			from, d.end-1, nil)
		if err == nil && report.Partial() {
			err = fmt.Errorf("partial: %v", report.Damage)
		}
		for i := range list {
			points += list[i].Len()
		}
		return len(list), points, err
	}
	list, report, err := g.reader().Read(ctx, account, d.nodes[node], from, d.end-1)
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
