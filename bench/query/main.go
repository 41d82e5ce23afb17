// Command query measures dashboards' queries: of Ringwatch, of a Prometheus and of a VictoriaMetrics that hold the same fleet.
//
//	bench/fleet ─┬─ store: frames, windows, rollups ─ Cassandra ─┐
//	             ├─ recent: the last 15 minutes ───── Redis ─────┴─ bin/ringwatch api ─┐
//	             ├─ remote write ─ Prometheus ─────────────────────────────────────────┼─ HTTP ─ clients
//	             └─ remote write ─ VictoriaMetrics ────────────────────────────────────┘
//
// A fleet is made from the recordings and written into all sides at the same time: whole windows up to the present, and from then on each frame when it is due, so that
// all sides answer as they do in life: "now" is now. Each question is asked of all sides at one instant, while no frames come, and the answers are compared; then the sides are timed by turns.
// Long trends have a smaller data set of their own, with few metrics and a frame a minute. Last, Ringwatch alone is asked about a fleet whose newest frames are in Redis.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

type options struct {
	nodes, tables, trendNodes, fleet, rounds int
	hours, trendDays, seconds                float64
	seed                                     uint64
	peers, binary, recordings, results       string
	markdown                                 bool
}

func main() {
	var o options
	flag.IntVar(&o.nodes, "nodes", 20, "nodes, in four clusters, every second one idle")
	flag.Float64Var(&o.hours, "hours", 24, "hours of their data, a frame every 20 s")
	flag.IntVar(&o.tables, "tables", 10, "tables of a node, of the recordings' 71 and 148; each has 100 series, the rest of a node 1,100")
	flag.IntVar(&o.trendNodes, "trend-nodes", 4, "nodes of the long trends, in four clusters")
	flag.Float64Var(&o.trendDays, "trend-days", 30, "days of their data, a frame a minute; 0: no trends")
	flag.IntVar(&o.fleet, "fleet", 10_000, "nodes whose newest frames Ringwatch alone is asked for; 0: none")
	flag.IntVar(&o.rounds, "rounds", 3, "rounds, in each of which all sides are asked each question in turn")
	flag.Float64Var(&o.seconds, "seconds", 1, "how long clients begin requests, of each side in each round; each makes at least one")
	flag.Uint64Var(&o.seed, "seed", 1, "of the fleet's noise")
	flag.StringVar(&o.peers, "peers", "prometheus,victoriametrics", "what Ringwatch is compared with")
	flag.StringVar(&o.binary, "binary", "bin/ringwatch", "the program whose API is measured")
	flag.StringVar(&o.recordings, "recordings", "bench/recordings", "folder with idle.rwf and busy.rwf")
	flag.StringVar(&o.results, "results", "bench/results", "folder for the result; empty: none is kept")
	flag.BoolVar(&o.markdown, "markdown", false, "measure nothing, print the table of the result that is kept, for docs/QUERY.md")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	run := measure
	if o.markdown {
		run = printKept
	}
	if err := run(ctx, o); err != nil {
		log.Fatalln("query:", err)
	}
}

var began = time.Now()

func progress(format string, args ...any) {
	fmt.Printf("%7.1fs  %s\n", time.Since(began).Seconds(), fmt.Sprintf(format, args...))
}

// measure runs the three parts one after another; only the engines of Ringwatch go on through all.
func measure(ctx context.Context, o options) error {
	dir, err := os.MkdirTemp("", "ringwatch-query-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	r, err := startOurs(ctx, o.binary, dir)
	if err != nil {
		return err
	}
	defer r.stop()
	found := &report{options: o}
	if err := found.short(ctx, r, dir); err != nil {
		return fmt.Errorf("recent hours: %w", err)
	}
	if o.trendDays > 0 {
		if err := found.trend(ctx, r, dir); err != nil {
			return fmt.Errorf("trends: %w", err)
		}
	}
	if o.fleet > 0 {
		if err := found.fleetNow(ctx, r); err != nil {
			return fmt.Errorf("the fleet: %w", err)
		}
	}
	result := found.result()
	result.Command = "make bench-query ARGS='" + strings.Join(os.Args[1:], " ") + "'"
	table(os.Stdout, found.Answers, found.Parts)
	return result.Keep(os.Stdout, o.results)
}
