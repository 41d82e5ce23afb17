// Command query measures dashboards' queries as people ask them: of Ringwatch, of a Prometheus
// and of a VictoriaMetrics that hold the same fleet.
//
//	bench/fleet ─┬─ store: frames, windows, hours ── Cassandra ─┐
//	             ├─ recent: the last 15 minutes ──── Redis ─────┴─ bin/ringwatch api ─┐
//	             ├─ blocks ─────── Prometheus ────────────────────────────────────────┼─ HTTP ─ clients
//	             └─ remote write ─ VictoriaMetrics ───────────────────────────────────┘
//
// A fleet is made from the recordings and written into all sides: whole hours that are over. With
// -keep they are written once, and later runs only ask. Frames of the last minutes, and those
// that come while questions are asked, go into all sides in each run, so that "now" is now;
// ranges end where the whole hours do.
//
// Each question is asked of all sides at one instant and the answers are compared. Then it is
// timed in three columns, sides by turns: cold, of processes that have just started; warm, in
// words that nobody used before, of data that was asked for; refresh, moved by a step, eight
// panels side by side. Long trends are a set of their own. Last, Ringwatch alone is asked about a
// fleet whose newest frames are in Redis.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"time"

	"github.com/ringwatch/ringwatch/bench"
	"github.com/ringwatch/ringwatch/bench/peers"
	"github.com/ringwatch/ringwatch/bench/profiled"
)

type options struct {
	nodes, tables, trendNodes, fleet, rounds, coldRounds int
	hours, trendDays                                     float64
	interval                                             time.Duration
	few, live, markdown                                  bool
	seed                                                 uint64
	sides                                                []string
	only                                                 *regexp.Regexp
	keep, cpuprofile                                     string
	binary, recordings, dashboards                       string
}

func main() {
	o := options{only: new(regexp.Regexp)}
	flag.IntVar(&o.nodes, "nodes", 30, "nodes, in four clusters, every second one idle")
	flag.Float64Var(&o.hours, "hours", 6, "whole hours of their data")
	flag.DurationVar(&o.interval, "interval", 20*time.Second,
		"between a node's frames, in steps of 5s; 1m for 1,000 nodes")
	flag.BoolVar(&o.few, "few", false,
		"only the metrics that the questions ask for; no pages then. For 200 nodes and more")
	bench.Tables(&o.tables, 10)
	flag.BoolVar(&o.live, "live", true,
		fmt.Sprintf("frames come while questions are asked, of up to %d nodes; without, now is "+
			"when the data ends", liveNodes))
	flag.IntVar(&o.trendNodes, "trend-nodes", 2, "nodes of the long trends")
	flag.Float64Var(&o.trendDays, "trend-days", 7,
		"days of their data, a frame a minute; 0: no trends")
	flag.IntVar(&o.fleet, "fleet", 10_000,
		"nodes whose newest frames Ringwatch alone is asked for; 0: none")
	flag.IntVar(&o.rounds, "rounds", 5, "how often each question is asked warm and refreshed")
	flag.IntVar(&o.coldRounds, "cold-rounds", 2,
		"how often it is asked cold; each time the processes start anew")
	bench.Seed(&o.seed)
	bench.List(&o.sides, "sides", "ringwatch,prometheus,victoriametrics",
		"who is asked; ringwatch is the first")
	flag.TextVar(o.only, "only", regexp.MustCompile(""),
		"a regular expression: the questions whose titles it matches; empty: all")
	flag.StringVar(&o.keep, "keep", "",
		"folder for the data, to ask again without writing it anew; empty: it is not kept")
	flag.StringVar(&o.cpuprofile, "cpuprofile", "",
		"folder for a profile of our API for each question asked warm again and again, and for "+
			"each dashboard that is refreshed, of a program built from this tree; empty: none")
	bench.Binary(&o.binary)
	bench.Recordings(&o.recordings)
	flag.StringVar(&o.dashboards, "dashboards", "api/dashboards",
		"folder of dashboards whose pages are asked; empty: none")
	flag.BoolVar(&o.markdown, "markdown", false,
		"measure nothing, print the table of the result that is kept, for docs/QUERY-ENGINE.md")
	bench.Main("bench-query", func(ctx context.Context, r *bench.Result) error {
		if o.markdown {
			return printKept(r)
		}
		return measure(ctx, o, r)
	}, o.check)
}

func (o *options) check() error {
	switch {
	case o.nodes < 2 || o.tables < 1 || o.hours < 1:
		return errors.New("-nodes must be at least 2, -tables and -hours at least 1")
	case o.trendDays > 0 && (o.trendDays < 1 || o.trendNodes < 2):
		return errors.New("-trend-days must be 0 or at least 1, -trend-nodes at least 2")
	case o.rounds < 1 || o.coldRounds < 1:
		return errors.New("-rounds and -cold-rounds must be at least 1")
	case o.interval < 5*time.Second || o.interval > time.Minute || o.interval%(5*time.Second) != 0:
		return errors.New("-interval must be 5s to 1m, in steps of 5s: those of the recordings")
	case o.sides[0] != "ringwatch":
		return errors.New("-sides must begin with ringwatch: the others are held against it")
	}
	for _, name := range o.sides[1:] {
		if peers.Modules[name] == "" || name == "prometheus-native" {
			return fmt.Errorf("-sides: %q is neither prometheus nor victoriametrics", name)
		}
	}
	return nil
}

// measure writes what is to be asked for, if it is not kept, and asks; only the engines of
// Ringwatch go on through all.
func measure(ctx context.Context, o options, result *bench.Result) (err error) {
	dir := o.keep
	var data *kept
	if dir == "" {
		dir = result.Dir
	} else {
		if dir, err = filepath.Abs(dir); err == nil {
			err = os.MkdirAll(dir, 0o755)
		}
		if err == nil {
			data, err = readKept(dir, &o)
		}
		if err != nil {
			return err
		}
	}
	r := newOurs(o.binary, dir)
	if o.cpuprofile != "" {
		if err := os.MkdirAll(o.cpuprofile, 0o755); err != nil {
			return err
		}
		bench.Progress("building a ringwatch that can be profiled")
		if r.binary, err = profiled.Build(ctx, result.Dir); err != nil {
			return err
		}
	}
	defer r.stop()
	if err := r.start(ctx); err != nil {
		return err
	}
	if data == nil {
		data = &kept{Sides: o.sides, Sets: o.wanted()}
		for _, s := range data.Sets {
			if err := s.prepare(ctx, &o, r, peersDir(dir, s)); err != nil {
				return fmt.Errorf("writing %s: %w", s, err)
			}
		}
		bench.Progress("flushing")
		if err := r.settle(ctx); err != nil {
			return err
		}
		if err := data.write(dir); err != nil {
			return err
		}
	}
	found := &report{options: o}
	for _, s := range data.Sets {
		if s.Account == trendAccount && !o.means(within(trendQuestions, s.span(), o.rounds)) {
			continue
		}
		found.Sets = append(found.Sets, s)
		if err := found.ask(ctx, s, r, peersDir(dir, s)); err != nil {
			return fmt.Errorf("%s: %w", s, err)
		}
	}
	if o.fleet > 0 && o.means(fleetQuestions) {
		if err := found.fleetNow(ctx, r); err != nil {
			return fmt.Errorf("the fleet: %w", err)
		}
	}
	if err := r.end(ctx); err != nil {
		return err
	}
	found.addTo(result)
	table(os.Stdout, found.Answers, found.Parts)
	return nil
}

// means reports whether -only takes any of some questions.
func (o *options) means(list []question) bool {
	return slices.ContainsFunc(list, func(q question) bool { return o.only.MatchString(q.title) })
}

// peersDir is where the peers have a set.
func peersDir(dir string, s *set) string { return filepath.Join(dir, "peers-"+s.Account) }
